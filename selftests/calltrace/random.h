/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers that are the same each time: a test that fails can be run again. */
#ifndef SELFTESTS_CALLTRACE_RANDOM_H
#define SELFTESTS_CALLTRACE_RANDOM_H

#include "lib/base.h"

/* Not 0, which it would stay. */
static u64 random_state = 1;

static inline u64 random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

#endif /* SELFTESTS_CALLTRACE_RANDOM_H */
