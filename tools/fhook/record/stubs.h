/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's calls go by way of stubs while something else records these
 *
 * Functions are chosen, calls sent through the blocks, and both put back: whatever the
 * recorder is, this is the kernel's side. Programs that have been attached have blocks
 * of their own, which are recorded with the kernel's, by the maps of the command line.
 */
#ifndef FHOOK_RECORD_STUBS_H
#define FHOOK_RECORD_STUBS_H

#include <stdio.h>
#include "record.h"

struct record_block {
	u64 address, size;
};

/**
 * struct record_stubs - what was chosen
 * @record: what the command line says
 * @functions: those that were chosen before; NULL: they are left as they are
 * @enabled: what "enable" said before; NULL: it has not been written
 * @blocks: what is to be recorded, the kernel's first
 * @nr_blocks: how many
 * @room_blocks: allocated
 * @map_file: a map of all of them, in a file without a name
 * @map: a path to it
 */
struct record_stubs {
	const struct record *record;
	char *functions, *enabled;
	struct record_block *blocks;
	size_t nr_blocks, room_blocks;
	FILE *map_file;
	char *map;
};

/*
 * Choose the functions, and find their blocks. Whatever is returned, the end is
 * record_stubs_end().
 */
int record_stubs_choose(struct record_stubs *stubs, struct fault *fault);

/* Write the map to a file. */
int record_stubs_map(struct record_stubs *stubs, struct fault *fault);

/**
 * struct stubs_recorder - what records the blocks
 * @begin: record from now on
 * @end: stop, whether it has begun or not
 */
struct stubs_recorder {
	int (*begin)(void *data, struct fault *fault);
	int (*end)(void *data, struct fault *fault);
};

/*
 * Run the command while calls go through the blocks. The kernel patches its text before
 * RECORDER begins and after it has ended: the functions that do it may be among those that
 * are recorded.
 */
int record_stubs_run(struct record_stubs *stubs, const struct stubs_recorder *recorder,
		     void *data, struct fault *fault);

/* Put back what was chosen, and let go of everything. */
void record_stubs_end(struct record_stubs *stubs);

#endif /* FHOOK_RECORD_STUBS_H */
