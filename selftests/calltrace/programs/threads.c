// SPDX-License-Identifier: GPL-2.0
/* Threads that all call the same functions, each in an order of its own. */
#include <pthread.h>
#include <stdio.h>
#include "traced.h"

#define THREADS	4

static long results[THREADS];

TARGET long t_leaf(long n)
{
	__asm__ volatile("" : "+r" (n));
	return n * 3 + 1;
}

TARGET long t_branch(long n)
{
	if (n <= 0)
		return t_leaf(n);
	return t_leaf(n) + t_branch(n - 1);
}

TARGET void *t_thread(void *data)
{
	long *result = data;
	long me = result - results, i;

	for (i = 0; i <= me * 7; i++)
		*result += t_branch(i % 5 + me);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	long sum = 0;
	int i;

	for (i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, t_thread, &results[i]))
			return 1;
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += results[i];
	}
	printf("%ld\n", sum);
	return 0;
}
