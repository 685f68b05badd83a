/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write the trace of a processor with an Embedded Trace Macrocell (ETMv4)
 *
 * The instruction trace of a range, without cycle counts, time stamps, context
 * ids and return stack, raw: a single source, without formatter frames.
 * Addresses that were among the last three are written in full, though an exact
 * match packet would need only one byte: this is the largest of the possible
 * streams.
 */
#ifndef FHOOK_ETM_EMIT_H
#define FHOOK_ETM_EMIT_H

#include "lib/recording.h"
#include "lib/trace_file.h"

/**
 * struct etm_emitter - the trace hardware of one processor
 * @file: output for the packets
 * @period: distance between A-sync packets, in bytes
 * @next_sync: size of @file at which the next A-sync is due
 * @last: address against which addresses are compressed
 * @kernel: the traced code runs at EL1, not EL0
 * @synced: no address has been written since the last A-sync
 */
struct etm_emitter {
	struct trace_file *file;
	u64 period, next_sync;
	u64 last;
	bool kernel, synced;
};

extern const struct recording_etm etm_emit_registers;

void etm_emit_start(struct etm_emitter *etm, struct trace_file *file, u64 period, bool kernel);

/* Execution enters the range here. */
void etm_emit_enable(struct etm_emitter *etm, u64 address);

/* A branch instruction was executed or, if conditional, not taken. */
void etm_emit_atom(struct etm_emitter *etm, bool executed);

/* The target of an indirect branch, within the range. */
void etm_emit_address(struct etm_emitter *etm, u64 address);

#endif /* FHOOK_ETM_EMIT_H */
