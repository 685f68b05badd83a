/* SPDX-License-Identifier: GPL-2.0 */
/* The software recorder for programs compiled with -finstrument-functions. */
#ifndef FHOOK_RECORD_CYG_H
#define FHOOK_RECORD_CYG_H

#include "lib/recording.h"

/**
 * struct record_loaded - a loaded object
 * @start: first address in memory
 * @size: number of bytes up to the end of the last segment
 * @bias: difference between addresses in memory and in the file
 * @name: name of the file as known to the loader; empty for the program
 * @id: build id, in memory; NULL if unknown
 * @id_size: size of the build id in bytes
 */
struct record_loaded {
	u64 start, size, bias;
	const char *name;
	const u8 *id;
	size_t id_size;
};

/*
 * Begin the map with the objects of this process that call the recorder, and record their
 * locations. A function's first byte represents its entry, its second byte its exit, so that
 * the map has the same form as with stubs.
 */
int record_write_map(struct recording *recording, struct fault *fault);

/*
 * Find the distance from an object's location to its location in the recording. If it has
 * none there, it is added. Returns false, with a message and a note in the recording, if it
 * cannot be added.
 */
bool record_place(struct recording *recording, const struct record_loaded *loaded, u64 *shift);

#endif /* FHOOK_RECORD_CYG_H */
