// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: functions that call each other and themselves, probed at their entries,
 * their returns, and the instructions that return.
 *
 *	uhook_returns offsets		the probed instructions; those of entries are
 *					called as the function is
 *	uhook_returns calls DEPTH ROUNDS
 *					call them, and say in which order probes find
 *					which values: "NAME VALUE" at entries,
 *					"NAME_return VALUE" at returns
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>

#include "uhook_returns.h"
#include "uhook_test.h"

static void say_sum(unsigned long n)
{
	printf("sum %lu\n", n);
	if (n)
		say_sum(n - 1);
	printf("sum_ret %lu\n", n);
	printf("sum_return %lu\n", n * (n + 1) / 2);
}

static void say_outer(unsigned long n)
{
	printf("outer %lu\ninner %lu\ninner_ret %lu\ninner_return %lu\nouter_return %lu\n",
	       n, n, 2 * n, 2 * n, 2 * n + 1);
}

static void call_all(unsigned long depth, unsigned long rounds)
{
	unsigned long i, value;

	for (i = 0; i < rounds; i++) {
		value = return_sum(depth);
		check(value == depth * (depth + 1) / 2, "the sum to %lu is %lu", depth, value);
		value = return_outer(i);
		check(value == 2 * i + 1, "2 * %lu + 1 is %lu", i, value);
	}
}

int main(int argc, char **argv)
{
	unsigned long depth, rounds, i;
	cpu_set_t first;

	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("sum", return_sum);
		say_offset("sum_ret", return_sum_ret);
		say_offset("outer", return_outer);
		say_offset("inner", return_inner);
		say_offset("inner_ret", return_inner_ret);
		return 0;
	}
	check(argc == 4 && !strcmp(argv[1], "calls"), "it wants a depth and a number");

	/* The records of one CPU are in order. */
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);

	depth = strtoul(argv[2], NULL, 0);
	rounds = strtoul(argv[3], NULL, 0);
	call_all(depth, rounds);
	for (i = 0; i < rounds; i++) {
		say_sum(depth);
		say_outer(i);
	}

	return 0;
}
