/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Synthetic recordings: a map, streams packet by packet, and the decoded events as a
 * short text
 *
 * Functions are called 0 to 9. The text of the events is "E0 X0" for an entry and an
 * exit, T for a tail, L for a landing, "!" for a gap. The text of the calls is "0("
 * for a call and, for its end, ")" a return, ">" a tail, "}" no exit seen, "]" exit
 * lost, "~" not over; "?0" for an exit without an entry, "!" for a gap, and
 * "label:" where another thread begins.
 */
#ifndef SELFTESTS_CALLTRACE_SYNTH_H
#define SELFTESTS_CALLTRACE_SYNTH_H

#include <stdio.h>
#include "decode/sink.h"
#include "lib/map.h"
#include "lib/recording.h"

#define SYNTH_BLOCK	0xffffffff82000000ULL
#define SYNTH_STUB_SIZE	8
#define SYNTH_TEXT	0xffffffff81000000ULL

/* Stubs of function I. Tails go to I + 1, to an unknown target, or out of the map. */
enum synth_stub {
	SYNTH_ENTRY,
	SYNTH_EXIT,
	SYNTH_TAIL,
	SYNTH_TAIL_UNKNOWN,
	SYNTH_TAIL_OUTSIDE,
	SYNTH_LAND,
	SYNTH_LEAF,
	SYNTH_STUBS = 8
};

#define SYNTH_FUNCTIONS	10

static inline u64 synth_stub(unsigned int function, enum synth_stub stub)
{
	return SYNTH_BLOCK + (function * SYNTH_STUBS + stub) * SYNTH_STUB_SIZE;
}

/* The stub of a context kind, with its number. */
static inline u64 synth_context(enum stub_kind kind, u8 number)
{
	return SYNTH_BLOCK + 0x1000 +
	       ((kind - STUB_TASK2) * 256 + number) * SYNTH_STUB_SIZE;
}

/**
 * struct synth - a stream that is being made
 * @file: its bytes
 * @last_ip: address against which addresses are compressed
 * @mode: MODE.Exec is due
 */
struct synth {
	FILE *file;
	u64 last_ip;
	bool mode;
};

void synth_bytes(struct synth *synth, const void *data, size_t size);
/* PSB+, with a FUP when INSIDE is an address. */
void synth_psb(struct synth *synth, u64 inside);
void synth_pge(struct synth *synth, u64 ip);
void synth_pgd(struct synth *synth, u64 ip);
void synth_pgd_bare(struct synth *synth);
void synth_fup(struct synth *synth, u64 ip);
void synth_tip(struct synth *synth, u64 ip);
void synth_ovf(struct synth *synth);
/* One event: into the stub, and out. */
void synth_event(struct synth *synth, unsigned int function, enum synth_stub stub);
/* A context: turn, and a task's number in as few bytes as there are. */
void synth_task(struct synth *synth, unsigned int turn, u32 task);

/* Make an empty recording in a directory, and streams in it. */
void synth_begin(const char *directory, const struct recording *like);
void synth_open(struct synth *synth, const char *directory, unsigned int stream);
void synth_close(struct synth *synth);

/* Decode into a sink; ONLY is a thread or task, or -1. */
int synth_run(const char *directory, struct sink *sink, s64 only);

/* Decode, and write events and calls into the two texts, of SIZE bytes each. */
int synth_decode(const char *directory, s64 only, char *events, char *calls, size_t size);

#endif /* SELFTESTS_CALLTRACE_SYNTH_H */
