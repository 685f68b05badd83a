/* SPDX-License-Identifier: GPL-2.0 */
/* Several maps as the text of one. */
#ifndef FHOOK_MAP_JOIN_H
#define FHOOK_MAP_JOIN_H

#include <stdio.h>
#include "base.h"

/**
 * struct map_join - a map that is made of others
 * @to: where its text goes
 * @next_id: what the first object of the next map becomes
 */
struct map_join {
	FILE *to;
	u32 next_id;
};

/*
 * Add the text of a map that can be read. The numbers of its objects are its own, and
 * become others. Returns 0, or -1 when it could not be written or read.
 */
int map_join_add(struct map_join *join, FILE *from);

#endif /* FHOOK_MAP_JOIN_H */
