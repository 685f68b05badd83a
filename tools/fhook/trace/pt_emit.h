/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write what a processor with Intel Processor Trace would
 *
 * The packets, their sizes and when each is generated are those of the processor's
 * manual (volume 3, chapter "Intel Processor Trace"). What the manual leaves open
 * is done as the larger of the possible streams: TNT packets of six branches at
 * most, and never one that waits for a TIP behind it.
 */
#ifndef FHOOK_PT_EMIT_H
#define FHOOK_PT_EMIT_H

#include "lib/recording.h"
#include "lib/trace_file.h"

/* The time stamps count nanoseconds, and a bus cycle has ten of them. */
#define PT_CLOCK_KHZ	1000000
#define PT_NOMINAL	10

/**
 * struct pt_emitter - the trace hardware of one processor
 * @file: where the packets go
 * @profile: which packets there are
 * @psb_period: a PSB+ after so many bytes
 * @next_psb: @file has this many bytes when the next one is due
 * @last_ip: what addresses are compressed against
 * @last_cycle: when the last CYC packet was written
 * @bits: branches that wait for a TNT packet
 * @nr_bits: how many
 * @mode_due: MODE.Exec has to come before the next TIP.PGE
 */
struct pt_emitter {
	struct trace_file *file;
	enum recording_profile profile;
	u64 psb_period, next_psb;
	u64 last_ip;
	u64 last_cycle;
	u8 bits, nr_bits;
	bool mode_due;
};

void pt_emit_start(struct pt_emitter *pt, struct trace_file *file,
		   enum recording_profile profile, u64 psb_period);

/* Execution comes into the filter's range, here. */
void pt_emit_enable(struct pt_emitter *pt, u64 ip);

/*
 * Execution leaves the range by the branch at IP. HAS_TARGET: the branch is of a
 * kind whose target the packet has; the profile may still leave it out.
 */
void pt_emit_disable(struct pt_emitter *pt, u64 ip, bool has_target, u64 target);

/* A conditional branch, or a return that went where its call came from. */
void pt_emit_taken(struct pt_emitter *pt, bool taken);

/* An indirect branch. */
void pt_emit_target(struct pt_emitter *pt, u64 target);

/* An interrupt, instead of the instruction at IP, takes execution out of the range. */
void pt_emit_interrupt(struct pt_emitter *pt, u64 ip);

/* The same, where all is in the range. */
void pt_emit_async(struct pt_emitter *pt, u64 from, u64 to);

/* Write the branches that wait: before the stream ends. */
void pt_emit_flush(struct pt_emitter *pt);

#endif /* FHOOK_PT_EMIT_H */
