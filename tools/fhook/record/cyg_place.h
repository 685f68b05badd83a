/* SPDX-License-Identifier: GPL-2.0 */
/* The object that is loaded at an address in which a thread runs. */
#ifndef FHOOK_RECORD_PLACE_H
#define FHOOK_RECORD_PLACE_H

#include "cyg.h"

/**
 * struct places - the objects in which a thread has run
 * @all: array of objects
 * @nr: number of objects
 * @room: number of objects that the array has room for
 */
struct places {
	struct place *all;
	size_t nr, room;
};

enum place_is {
	PLACE_KNOWN,	/* the recording has its address */
	PLACE_NONE,	/* the recording does not have it */
	PLACE_NEW,	/* it is unknown, and has to be added to the recording */
};

/* The address that ADDRESS has in the recording, or the object that is loaded there. */
enum place_is places_find(struct places *places, u64 address, u64 *at,
			  struct record_loaded *loaded);
void places_add(struct places *places, const struct record_loaded *loaded, u64 shift,
		bool recorded);
void places_free(struct places *places);

#endif /* FHOOK_RECORD_PLACE_H */
