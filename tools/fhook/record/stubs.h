/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sending the kernel's calls through stubs while a recorder runs
 *
 * Functions are chosen, calls are sent through the blocks, and both are restored: this is
 * the kernel's part of recording, independent of the recorder. Attached programs have
 * blocks of their own, which are recorded with the kernel's, by the maps of the command
 * line.
 */
#ifndef FHOOK_RECORD_STUBS_H
#define FHOOK_RECORD_STUBS_H

#include <dirent.h>
#include <stdio.h>
#include "record.h"

struct record_block {
	u64 address, size;
};

/**
 * struct record_stubs - the chosen functions and their blocks
 * @record: options of the command line
 * @lock: locked directory of tracefs; NULL: it has not been opened
 * @functions: previous choice; NULL: it has not been changed
 * @enabled: previous contents of "enable"; NULL: it has not been written
 * @blocks: blocks to record, the kernel's first
 * @nr_blocks: number of @blocks
 * @room_blocks: allocated size of @blocks
 * @map_file: unnamed file with a map of all blocks
 * @map: path of @map_file
 */
struct record_stubs {
	const struct record *record;
	DIR *lock;
	char *functions, *enabled;
	struct record_block *blocks;
	size_t nr_blocks, room_blocks;
	FILE *map_file;
	char *map;
};

/* Choose the functions, and find their blocks. Call record_stubs_end() in any case. */
int record_stubs_choose(struct record_stubs *stubs, struct fault *fault);

/* Write the map to a file. */
int record_stubs_map(struct record_stubs *stubs, struct fault *fault);

/**
 * struct stubs_recorder - a recorder of the blocks
 * @begin: start recording
 * @end: stop recording, even if it has not begun
 */
struct stubs_recorder {
	int (*begin)(void *data, struct fault *fault);
	int (*end)(void *data, struct fault *fault);
};

/*
 * Run the command while calls go through the blocks. The kernel patches its text before
 * RECORDER begins and after it has ended, because the functions that patch may be recorded
 * themselves.
 */
int record_stubs_run(struct record_stubs *stubs, const struct stubs_recorder *recorder,
		     void *data, struct fault *fault);

/* Restore the previous choice, and release all resources. */
void record_stubs_end(struct record_stubs *stubs);

#endif /* FHOOK_RECORD_STUBS_H */
