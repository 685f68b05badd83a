/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write the trace of a processor with Intel Processor Trace
 *
 * The packets, their sizes and the conditions for them are those of the processor's
 * manual (volume 3, chapter "Intel Processor Trace"). If the manual permits several
 * streams, the largest is written: TNT packets have at most six branches, and never
 * wait for a TIP after them.
 */
#ifndef FHOOK_PT_EMIT_H
#define FHOOK_PT_EMIT_H

#include "lib/recording.h"
#include "lib/trace_file.h"

/* The time stamps count nanoseconds, and a bus cycle takes ten of them. */
#define PT_CLOCK_KHZ	1000000
#define PT_NOMINAL	10

/**
 * struct pt_emitter - the trace hardware of one processor
 * @file: output for the packets
 * @profile: selects the packets
 * @psb_period: distance between PSB+ packets, in bytes
 * @next_psb: size of @file at which the next PSB+ is due
 * @last_ip: address against which addresses are compressed
 * @last_cycle: time of the last CYC packet
 * @bits: branches that wait for a TNT packet
 * @nr_bits: number of these branches
 * @mode_due: MODE.Exec must precede the next TIP.PGE
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

/* Execution enters the filter's range here. */
void pt_emit_enable(struct pt_emitter *pt, u64 ip);

/*
 * Execution leaves the range by the branch at IP. HAS_TARGET: the packet of this kind
 * of branch includes its target; the profile may still omit it.
 */
void pt_emit_disable(struct pt_emitter *pt, u64 ip, bool has_target, u64 target);

/* A conditional branch, or a return to the instruction after its call. */
void pt_emit_taken(struct pt_emitter *pt, bool taken);

/* An indirect branch. */
void pt_emit_target(struct pt_emitter *pt, u64 target);

/* An interrupt, instead of the instruction at IP, leaves the range. */
void pt_emit_interrupt(struct pt_emitter *pt, u64 ip);

/* The same if everything is in the range. */
void pt_emit_async(struct pt_emitter *pt, u64 from, u64 to);

/* Write waiting branches, before the stream ends. */
void pt_emit_flush(struct pt_emitter *pt);

#endif /* FHOOK_PT_EMIT_H */
