/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that are the same in each run with the same seed. */
#ifndef SELFTESTS_HOST_RANDOM_H
#define SELFTESTS_HOST_RANDOM_H

#include <stdint.h>

/* To be kept, when the same are wanted again. */
extern uint64_t random_state;

static inline void random_seed(uint64_t seed)
{
	random_state = seed;
}

uint64_t random_next(void);

#endif /* SELFTESTS_HOST_RANDOM_H */
