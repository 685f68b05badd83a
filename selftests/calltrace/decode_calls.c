// SPDX-License-Identifier: GPL-2.0
/*
 * A program that calls in every way, with stubs and with -finstrument-functions
 *
 * Both record the same calls, and owe nothing to each other. Recursion, mutual
 * recursion, function pointers, several returns, threads; and longjmp(), by which
 * functions are left without an exit.
 *
 * Usage: decode-calls [DEPTH [THREADS]]
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include "fhook_calltrace_stub.h"

typedef unsigned long (*operation)(unsigned long value);

FHOOK_FUNCTION(0, "fib")
FHOOK_FUNCTION(1, "is_even")
FHOOK_FUNCTION(2, "is_odd")
FHOOK_FUNCTION(3, "twice")
FHOOK_FUNCTION(4, "half")
FHOOK_FUNCTION(5, "apply")
FHOOK_FUNCTION(6, "work")
FHOOK_FUNCTION(7, "main")
FHOOK_FUNCTION(8, "jump")
FHOOK_FUNCTION(9, "jump_back")

unsigned long fib(unsigned long n)
{
	FHOOK_TRACE(0);
	if (n < 2)
		return n;
	return fib(n - 1) + fib(n - 2);
}

unsigned long is_odd(unsigned long n);

unsigned long is_even(unsigned long n)
{
	FHOOK_TRACE(1);
	return n ? is_odd(n - 1) : 1;
}

unsigned long is_odd(unsigned long n)
{
	FHOOK_TRACE(2);
	if (!n)
		return 0;
	return is_even(n - 1);
}

unsigned long twice(unsigned long n)
{
	FHOOK_TRACE(3);
	return n * 2;
}

unsigned long half(unsigned long n)
{
	FHOOK_TRACE(4);
	return n / 2;
}

unsigned long apply(operation function, unsigned long times)
{
	FHOOK_TRACE(5);
	unsigned long value = 3;

	while (times--)
		value = function(value) + 1;
	return value;
}

static jmp_buf back;

/* It ends by a jump only. */
#pragma GCC diagnostic ignored "-Winfinite-recursion"

__attribute__((noinline)) void jump_back(unsigned long n)
{
	FHOOK_TRACE(9);
	if (!n)
		longjmp(back, 1);
	jump_back(n - 1);
}

__attribute__((noinline)) void jump(unsigned long n)
{
	FHOOK_TRACE(8);
	if (!setjmp(back))
		jump_back(n);
}

void *work(void *data)
{
	FHOOK_TRACE(6);
	static const operation operations[] = { twice, half };
	const unsigned long n = (unsigned long)data;

	return (void *)(apply(operations[n % 2], n % 7) + fib(n) + is_even(n));
}

int main(int argc, char **argv)
{
	FHOOK_TRACE(7);
	const unsigned long depth = argc > 1 ? atol(argv[1]) : 10;
	const unsigned long nr_threads = argc > 2 ? atol(argv[2]) : 0;
	pthread_t threads[64];
	unsigned long i, sum;

	for (i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, work, (void *)(depth - i % 3));
	sum = (unsigned long)work((void *)depth);
	jump(3);
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	printf("%lu\n", sum);
	return 0;
}
