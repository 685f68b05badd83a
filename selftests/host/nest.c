// SPDX-License-Identifier: GPL-2.0
/*
 * Calls in each other, and the time that they take
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nest.h"

/* Each of them returns, and none of them by a jump to the next. */
unsigned long __attribute__((noinline)) nest(unsigned int depth, nest_last_t *last)
{
	unsigned long result = depth > 1 ? nest(depth - 1, last) : last();

	asm volatile("" : "+r" (result) : : "memory");
	return result + 1;
}

/* Nanoseconds of one of the calls, with all that are in it */
double nest_time(const struct nest_calls *calls)
{
	unsigned int i, state = calls->state;
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (i = 0; i < calls->count; i++) {
		if (calls->before)
			state = calls->before(state);
		nest(calls->depth, calls->last);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / calls->count;
}

static int by_time(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

/* Print "MEDIAN<tab>LOW<tab>HIGH" of the times of some runs: the middle eight tenths. */
void nest_print(double *times, unsigned int nr)
{
	qsort(times, nr, sizeof(*times), by_time);
	printf("%.2f\t%.2f\t%.2f\n", times[nr / 2], times[nr / 10], times[nr - 1 - nr / 10]);
}
