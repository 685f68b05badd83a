// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program whose calls are traced, of many kinds.
 *
 * The functions whose names begin with calls_ are to be traced.  Each thread does the
 * same each time.
 */
#include <pthread.h>
#include <stdlib.h>

#include "uhook_test.h"

#define NR_THREADS	3
#define noinline	__attribute__((noinline, noclone, noipa))

static volatile int sink;

noinline int calls_fib(int n)
{
	return n < 2 ? n : calls_fib(n - 1) + calls_fib(n - 2);
}

noinline int calls_odd(int n);

noinline int calls_even(int n)
{
	return n ? calls_odd(n - 1) : 1;
}

noinline int calls_odd(int n)
{
	return n ? calls_even(n - 1) : 0;
}

noinline int calls_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

noinline int calls_sort(int n)
{
	int numbers[16], i;

	for (i = 0; i < 16; i++)
		numbers[i] = i * n % 17;
	qsort(numbers, 16, sizeof(numbers[0]), calls_compare);
	return numbers[0];
}

/* Leaves by several ways. */
noinline int calls_choose(int n)
{
	if (n == 1)
		return 7;
	sink++;
	if (n == 2)
		return calls_fib(3) + 1;
	return n > 4 ? calls_sort(n) + n : -1;
}

noinline void *calls_thread(void *arg)
{
	int n = (long)arg, i;

	for (i = 0; i < 8; i++)
		sink += calls_choose(i) + calls_even(n + i);
	return NULL;
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	long i;

	check(calls_fib(10) == 55, "fib");
	check(calls_even(20) && !calls_odd(20), "even");
	check(!calls_sort(3), "sort");
	for (i = 0; i < NR_THREADS; i++)
		check(!pthread_create(&threads[i], NULL, calls_thread, (void *)i), "no thread");
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
