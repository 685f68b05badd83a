/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that are the same in each run with the same seed. */
#ifndef SELFTESTS_HOST_RANDOM_H
#define SELFTESTS_HOST_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* To be kept, when the same are wanted again. */
extern uint64_t random_state;

static inline void random_seed(uint64_t seed)
{
	random_state = seed;
}

uint64_t random_next(void);

/**
 * struct word_kind - instructions of one kind, each a word
 * @fixed: bits that all of them have
 * @varies: bits that differ
 * @name: name of the kind
 */
struct word_kind {
	uint32_t fixed;
	uint32_t varies;
	const char *name;
};

/*
 * A random word: with a chance of @count in @of it is of one of the kinds, which pure
 * chance would hit too rarely.
 */
uint32_t random_word(const struct word_kind *kinds, size_t count, size_t of);

#endif /* SELFTESTS_HOST_RANDOM_H */
