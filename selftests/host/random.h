/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that are the same in each run of the same seed. */
#ifndef SELFTESTS_HOST_RANDOM_H
#define SELFTESTS_HOST_RANDOM_H

#include <linux/types.h>

/* To be kept, when the same are wanted again. */
extern u64 random_state;

static inline void random_seed(u64 seed)
{
	random_state = seed;
}

u64 random_next(void);

#endif /* SELFTESTS_HOST_RANDOM_H */
