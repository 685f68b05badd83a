// SPDX-License-Identifier: GPL-2.0
/*
 * The worst case: a function that does next to nothing but call itself
 *
 * Usage: bench_fib N
 *
 * Prints the result, and the nanoseconds of the processor's time that it took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOT_HOOKED	__attribute__((no_instrument_function))
#ifdef __clang__
#define NO_XRAY		__attribute__((xray_never_instrument))
#else
#define NO_XRAY
#endif

__attribute__((noinline)) unsigned long fib(unsigned long n)
{
	unsigned long before;

	if (n < 2)
		return n;
	before = fib(n - 1);
	/* Nothing is made into a loop. */
	__asm__ volatile("" : "+r" (before));
	before += fib(n - 2);
	__asm__ volatile("" : "+r" (before));
	return before;
}

NOT_HOOKED NO_XRAY static unsigned long nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000UL + now.tv_nsec;
}

NOT_HOOKED NO_XRAY int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 40;
	unsigned long start = nanoseconds(), result = fib(n);

	printf("%lu %lu\n", result, nanoseconds() - start);
	return 0;
}
