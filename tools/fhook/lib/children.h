/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The recordings of a program's children: DIRECTORY-PID, in the same directory, and
 * DIRECTORY-PID-PID for those of a child
 */
#ifndef FHOOK_CHILDREN_H
#define FHOOK_CHILDREN_H

#include <time.h>
#include "base.h"

/**
 * struct directories - directories of recordings
 * @names: their paths, to be freed
 * @nr: number of elements of @names
 * @room: number of elements that @names has room for
 * @ids: tree of their devices and inodes, so that none is there twice
 */
struct directories {
	char **names;
	size_t nr, room;
	void *ids;
};

/* Add a directory, unless it is there already. Returns 0, or -1 and a sentence. */
int directories_add(struct directories *directories, const char *name, struct fault *fault);
/* Add the recordings of the children of DIRECTORY, in the order of their numbers. */
int directories_add_children(struct directories *directories, const char *directory,
			     struct fault *fault);
/*
 * Print which of the recorded processes have executed other programs, without recordings that are
 * older than a time.
 */
void directories_say_executed(const struct directories *directories, time_t since);
void directories_free(struct directories *directories);

#endif /* FHOOK_CHILDREN_H */
