/* SPDX-License-Identifier: GPL-2.0 */
/* Joining several maps to one text. */
#ifndef FHOOK_MAP_JOIN_H
#define FHOOK_MAP_JOIN_H

#include <stdio.h>
#include "base.h"

/**
 * struct map_join - a map joined from others
 * @to: output for its text
 * @next_id: number for the first object of the next map
 */
struct map_join {
	FILE *to;
	u32 next_id;
};

/*
 * Add the text of a map. The numbers of its objects are replaced by new ones. Returns
 * 0, or -1 if the text could not be read or written.
 */
int map_join_add(struct map_join *join, FILE *from);

#endif /* FHOOK_MAP_JOIN_H */
