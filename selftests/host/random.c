// SPDX-License-Identifier: GPL-2.0
/*
 * Random numbers for tests: a counter, whose bits are mixed until no pattern is
 * left.
 */
#include "random.h"

uint64_t random_state;

uint64_t random_next(void)
{
	uint64_t x = random_state += 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
	return x ^ (x >> 32);
}

uint32_t random_word(const struct word_kind *kinds, size_t count, size_t of)
{
	const uint64_t random = random_next();
	const size_t kind = (random >> 32) % of;

	return kind < count ? kinds[kind].fixed | ((uint32_t)random & kinds[kind].varies) : random;
}
