/* SPDX-License-Identifier: GPL-2.0 */
/* The software recorder for programs compiled with -finstrument-functions. */
#ifndef FHOOK_RECORD_CYG_H
#define FHOOK_RECORD_CYG_H

#include "lib/recording.h"

/**
 * struct record_loaded - an object that is loaded
 * @start: its first address in memory
 * @size: number of bytes up to the end of its last segment
 * @bias: what its addresses in memory have more than those of its file
 * @name: the loader's name of its file; empty for the program
 * @id: its build id, in memory; NULL if it is not known
 * @id_size: number of bytes of the build id
 */
struct record_loaded {
	u64 start, size, bias;
	const char *name;
	const u8 *id;
	size_t id_size;
};

/*
 * Begin the map with the objects of this process that call the recorder, and note in
 * the recording where they are. A function's first byte stands for its entry, its
 * second one for its exit: so a map is the same as with stubs.
 */
int record_write_map(struct recording *recording, struct fault *fault);

/*
 * How far it is from where an object is to where the recording has it. If that does not
 * have it yet, it is added. Returns false if it cannot be: that is said, and noted.
 */
bool record_place(struct recording *recording, const struct record_loaded *loaded, u64 *shift);

#endif /* FHOOK_RECORD_CYG_H */
