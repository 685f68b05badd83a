/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of uhook's recorders share, on both architectures
 *
 * record_ARCH.c makes the code and knows registers; record.c is what does not
 * depend on them: a model of the ring, and threads that fill it as fast as they
 * can while another one empties it.
 */
#ifndef SELFTESTS_HOST_RECORD_H
#define SELFTESTS_HOST_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/uhook_code.h>
#include <linux/uhook_ring.h>
#include "common.h"

#define RING_SIZE	(UHOOK_LANE_SIZE + UHOOK_RING_ENTRIES * sizeof(struct uhook_ring_entry))

#define COUNTERS_SIZE	4096

/* More than the longest recorder has, in bytes. */
#define RECORD_MAX	512

/**
 * struct record_arch - what record.c asks of an architecture
 * @regs: the registers of the first six arguments of a function
 * @nr_registers: how many registers there are
 * @stack_first: whether a call leaves the address of what follows it at the stack
 *	pointer
 * @reach: the highest distance at which a ring can be, or more, in bytes
 * @ret: the instruction that returns
 * @ret_len: its length in bytes
 */
struct record_arch {
	u8 regs[UHOOK_RECORD_ARGS];
	u8 nr_registers;
	bool stack_first;
	unsigned long reach;
	u8 ret[4];
	u8 ret_len;
};

/* Each record_ARCH.c has them. */
extern const struct record_arch record_arch;
u64 record_stamp(void);
u64 record_thread(void);

/*
 * The generator that is tested: uhook_record_code(), or one of its forms. @form is
 * what record_ARCH.c gave to record.c.
 */
int record_make(u8 *code, size_t size, unsigned long at,
		const struct uhook_recorder *recorder, int form);

/**
 * struct record_model - a ring, and what should be in it
 * @ring: the real one
 * @counters: COUNTERS_SIZE bytes, of which recorders have one word each
 * @expected: what the ring should be, all of it
 * @expected_counters: likewise
 * @meddled: how often there was something in between
 * @decided: whether it is known what becomes of the hit
 * @recorded: whether it has an entry, then
 * @number: which
 */
struct record_model {
	struct uhook_ring *ring;
	u64 *counters;
	u8 expected[RING_SIZE];
	u64 expected_counters[COUNTERS_SIZE / sizeof(u64)];
	unsigned long meddled;
	bool decided;
	bool recorded;
	u64 number;
};

/* Fill a ring and the counters with nonsense. */
void record_fill(struct record_model *model);

/* The address of one of the counters. */
unsigned long record_counter(struct record_model *model);

/*
 * Set head, tail and the counter to something: to a full ring in one of four cases, and
 * to other extremes in some. Returns whether there is room.
 */
bool record_prepare(struct record_model *model, const struct uhook_recorder *recorder);

/*
 * What a hit must have done, and whether that is all. @stack are the words at the
 * stack pointer, wherever they lie; @before and @after are stamps.
 */
struct record_hit {
	u64 before;
	u64 after;
	u64 sp;
	u64 args[UHOOK_RECORD_ARGS];
	u64 stack[UHOOK_RECORD_STACK];
};

/*
 * While a recorder stands between two instructions, others record and the ring is
 * emptied. A full one stays so, and others lose as well: whether it still is could
 * be known to the recorder, or not.
 */
void record_meddle(struct record_model *model, const struct uhook_recorder *recorder);

/* The number of the page of a word's end must be that of the byte below the sp. */
bool record_has_word(u64 sp, unsigned int word);

void record_check(struct record_model *model, const struct uhook_recorder *recorder,
		  const struct record_hit *hit);

/* Threads record into a ring at @ring, by code at @code; both are mapped. */
void record_threads(unsigned long code, unsigned long ring, unsigned long calls, bool stack,
		    int form);

/* What is refused, and that nothing is written beyond the size. */
void record_errors(int form);

/* Nanoseconds of a hit, by a single thread. */
double record_cost(unsigned long code, unsigned long ring, unsigned long calls,
		   const struct uhook_recorder *recorder, int form);

#endif /* SELFTESTS_HOST_RECORD_H */
