// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of all shapes: recursion, mutual recursion, function pointers, several
 * returns, switches, tail calls, loops at the beginning, and functions of two bytes
 */
#include <stdio.h>
#include <stdlib.h>
#include "traced.h"

#define COUNT(array)	(sizeof(array) / sizeof(*(array)))

int t_odd(unsigned int n);
int t_tail_second(int n);

volatile int t_sink;

TARGET int t_fib(int n)
{
	return n < 2 ? n : t_fib(n - 1) + t_fib(n - 2);
}

TARGET int t_even(unsigned int n)
{
	if (!n)
		return 1;
	return t_odd(n - 1);
}

TARGET int t_odd(unsigned int n)
{
	if (!n)
		return 0;
	return t_even(n - 1);
}

TARGET unsigned int t_ackermann(unsigned int m, unsigned int n)
{
	if (!m)
		return n + 1;
	if (!n)
		return t_ackermann(m - 1, 1);
	return t_ackermann(m - 1, t_ackermann(m, n - 1));
}

TARGET void t_nothing(void)
{
	__asm__ volatile("");
}

TARGET int t_zero(void)
{
	__asm__ volatile("");
	return 0;
}

TARGET int t_add(int a, int b)
{
	__asm__ volatile("" : "+r" (a));
	return a + b;
}

TARGET int t_sub(int a, int b)
{
	__asm__ volatile("" : "+r" (a));
	return a - b;
}

static int (*const operations[])(int a, int b) = { t_add, t_sub };

TARGET int t_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

TARGET int t_many_returns(int n)
{
	if (n < 0)
		return -1;
	if (n == 3)
		return t_add(n, 1);
	while (n > 10) {
		if (n % 7 == 0)
			return n / 7;
		n -= 3;
	}
	t_sink = n;
	if (t_sink == 9)
		return 90;
	return n;
}

TARGET int t_switch(int n)
{
	switch (n) {
	case 0:
		return t_add(n, 7);
	case 1:
		return t_sub(n, 7);
	case 2:
		t_nothing();
		return 2;
	case 3:
		return t_zero();
	case 4:
		t_sink = 4;
		break;
	case 5:
		return t_many_returns(21);
	case 6:
		return 66;
	default:
		return -n;
	}
	return 5;
}

/* The first instruction may be the head of the loop. */
TARGET int t_length(const char *s)
{
	int n = 0;

	while (*s++)
		n++;
	return n;
}

TARGET int t_tail_first(int n)
{
	return t_tail_second(n + 1);
}

TARGET int t_tail_second(int n)
{
	return operations[n & 1](n, 3);
}

TARGET void t_void_tail(int n)
{
	if (n > 2)
		t_nothing();
}

TARGET double t_vectors(double a, float b)
{
	return a * b + t_sink;
}

TARGET int t_goto(int n)
{
	static const void *const labels[] = { &&first, &&second, &&third };

	goto *labels[n % 3];
first:
	n += 10;
	if (n > 100)
		return 1;
second:
	n = t_add(n, 5);
third:
	return n;
}

static int left_alone(int n)
{
	return t_add(n, 1) * 2;
}

int main(int argc, char **argv)
{
	int numbers[] = { 5, 3, 9, 1, 7, 2 };
	long sum = argc;
	unsigned int i;

	sum += t_fib(12);
	sum += t_even(11) * 100;
	sum += t_ackermann(2, 3);
	/* The compiler chooses the order in which operands are evaluated. */
	for (i = 0; i < 9; i++) {
		sum = sum * 3 + t_switch(i);
		sum += t_many_returns(i * 11);
		sum += t_tail_first(i);
		sum += t_goto(i);
	}
	for (i = 0; i < COUNT(operations); i++)
		sum += operations[i](sum, i);
	qsort(numbers, COUNT(numbers), sizeof(*numbers), t_compare);
	t_nothing();
	t_void_tail(1);
	t_void_tail(3);
	sum += t_zero();
	sum += t_length(argv[0]) > 0;
	sum += left_alone(4);
	printf("%ld %d %g\n", sum, numbers[2], t_vectors(2.5, 4));
	return 0;
}
