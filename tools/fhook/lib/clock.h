/* SPDX-License-Identifier: GPL-2.0 */
/* Times of the clocks of the system */
#ifndef FHOOK_CLOCK_H
#define FHOOK_CLOCK_H

#include <time.h>
#include "base.h"

#define NS_PER_MS	1000000ull
#define NS_PER_S	1000000000ull

/* The time of a clock in nanoseconds. */
static inline u64 clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

#endif /* FHOOK_CLOCK_H */
