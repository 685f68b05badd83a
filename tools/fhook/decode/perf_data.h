/* SPDX-License-Identifier: GPL-2.0 */
/* A recording from what perf has recorded. */
#ifndef FHOOK_PERF_DATA_H
#define FHOOK_PERF_DATA_H

#include "lib/base.h"

/**
 * struct perf_losses - what perf says that it has lost
 * @trace: how often the processor's trace had no room, or is not whole for another reason
 * @records: records of perf's own that had none
 */
struct perf_losses {
	u64 trace, records;
};

/**
 * perf_data_import - make a recording of a perf.data file with Intel PT
 * @path: the file, as "perf record" writes it: not a pipe's, not compressed
 * @map: the map of the stubs
 * @directory: of the recording
 * @losses: receives what is missing
 * @fault: receives a sentence
 *
 * A stream is a thread if perf has recorded by threads, otherwise a processor. Where
 * the map's objects were loaded is taken from the file's mmap events.
 */
int perf_data_import(const char *path, const char *map, const char *directory,
		     struct perf_losses *losses, struct fault *fault);

/* Say what is missing, if anything is. */
void perf_losses_print(const struct perf_losses *losses);

#endif /* FHOOK_PERF_DATA_H */
