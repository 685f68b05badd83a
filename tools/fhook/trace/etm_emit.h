/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write what a processor with an Embedded Trace Macrocell (ETMv4) would
 *
 * The instruction trace of a range, without cycle counts, time stamps, context
 * ids and return stack, raw: one source, no formatter's frames. Addresses that
 * were among the last three are written in full, though an exact match packet
 * could say them in one byte: the larger of the possible streams.
 */
#ifndef FHOOK_ETM_EMIT_H
#define FHOOK_ETM_EMIT_H

#include "lib/recording.h"
#include "lib/trace_file.h"

/**
 * struct etm_emitter - the trace hardware of one processor
 * @file: where the packets go
 * @period: an A-sync after so many bytes
 * @next_sync: @file has this many bytes when the next one is due
 * @last: what addresses are compressed against
 * @kernel: what is traced runs at EL1, not EL0
 * @synced: no address has come since the last A-sync
 */
struct etm_emitter {
	struct trace_file *file;
	u64 period, next_sync;
	u64 last;
	bool kernel, synced;
};

extern const struct recording_etm etm_emit_registers;

void etm_emit_start(struct etm_emitter *etm, struct trace_file *file, u64 period, bool kernel);

/* Execution comes into the range, here, from outside. */
void etm_emit_enable(struct etm_emitter *etm, u64 address);

/* A branch instruction was executed, or, a conditional one, passed. */
void etm_emit_atom(struct etm_emitter *etm, bool executed);

/* Where an indirect branch went, within the range. */
void etm_emit_address(struct etm_emitter *etm, u64 address);

#endif /* FHOOK_ETM_EMIT_H */
