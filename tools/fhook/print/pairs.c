// SPDX-License-Identifier: GPL-2.0
/* A table that numbers pairs of numbers; the header describes it. */
#include <stdlib.h>
#include "pairs.h"

static size_t hash(const struct pairs *pairs, u32 first, u32 second)
{
	u64 number = ((u64)first << 32 | second) * 0x9e3779b97f4a7c15ULL;

	return (number ^ number >> 29) & (pairs->slots - 1);
}

static int bigger_table(struct pairs *pairs)
{
	const size_t slots = pairs->slots ? pairs->slots * 2 : 1024;
	u32 *table = calloc(slots, sizeof(*table));
	size_t i, slot;

	if (!table)
		return -1;
	free(pairs->table);
	pairs->table = table;
	pairs->slots = slots;
	for (i = 0; i < pairs->nr; i++) {
		slot = hash(pairs, pairs->pairs[i].first, pairs->pairs[i].second);
		while (table[slot])
			slot = (slot + 1) & (slots - 1);
		table[slot] = i + 1;
	}
	return 0;
}

u32 pairs_get(struct pairs *pairs, u32 first, u32 second)
{
	size_t slot;

	if (pairs->nr * 2 >= pairs->slots && bigger_table(pairs))
		return PAIRS_NONE;
	for (slot = hash(pairs, first, second); pairs->table[slot];
	     slot = (slot + 1) & (pairs->slots - 1)) {
		const struct pair *pair = &pairs->pairs[pairs->table[slot] - 1];

		if (pair->first == first && pair->second == second)
			return pairs->table[slot] - 1;
	}
	if (pairs->nr >= PAIRS_NONE - 1 ||
	    grow(&pairs->pairs, &pairs->room, pairs->nr, sizeof(*pairs->pairs)))
		return PAIRS_NONE;
	pairs->pairs[pairs->nr] = (struct pair){ .first = first, .second = second };
	pairs->table[slot] = ++pairs->nr;
	return pairs->nr - 1;
}

void pairs_free(struct pairs *pairs)
{
	free(pairs->pairs);
	free(pairs->table);
}
