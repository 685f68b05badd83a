/* SPDX-License-Identifier: GPL-2.0 */
/* Making recordings from files of perf. */
#ifndef FHOOK_PERF_DATA_H
#define FHOOK_PERF_DATA_H

#include "lib/base.h"

/**
 * struct perf_losses - data that perf has lost
 * @trace: number of times that the processor's trace had no room, or is incomplete for
 *	another reason
 * @records: number of lost records of perf's own
 */
struct perf_losses {
	u64 trace, records;
};

/**
 * perf_data_import - make a recording from a perf.data file with Intel PT
 * @path: path of the file, written by "perf record", not to a pipe and not compressed
 * @map: path of the map of the stubs
 * @directory: directory of the recording
 * @losses: receives the losses
 * @fault: receives a sentence
 *
 * A stream belongs to a thread if perf has recorded by threads, otherwise to a processor.
 * The file's mmap events have the locations of the map's objects.
 */
int perf_data_import(const char *path, const char *map, const char *directory,
		     struct perf_losses *losses, struct fault *fault);

/* Print the losses, if there are any. */
void perf_losses_print(const struct perf_losses *losses);

#endif /* FHOOK_PERF_DATA_H */
