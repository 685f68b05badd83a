/* SPDX-License-Identifier: GPL-2.0 */
/* A table that numbers pairs of numbers, such as a caller and a callee */
#ifndef FHOOK_PRINT_PAIRS_H
#define FHOOK_PRINT_PAIRS_H

#include "lib/base.h"

#define PAIRS_NONE	0xffffffffu

struct pair {
	u32 first, second;
};

/**
 * struct pairs - a table of pairs
 * @pairs: the pairs, by their number
 * @nr: number of pairs
 * @room: number of elements that @pairs has room for
 * @table: hash table with the number of a pair plus 1, or 0
 * @slots: number of elements of @table, a power of two
 */
struct pairs {
	struct pair *pairs;
	size_t nr, room;
	u32 *table;
	size_t slots;
};

/* The number of a pair, which is added if it is new; PAIRS_NONE without memory. */
u32 pairs_get(struct pairs *pairs, u32 first, u32 second);
void pairs_free(struct pairs *pairs);

#endif /* FHOOK_PRINT_PAIRS_H */
