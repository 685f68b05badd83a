// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: what a call of a function costs whose first instruction may be probed.
 *
 *	uhook_bench offsets	the functions: NAME OFFSET, to put probes there
 *	uhook_bench NAME	nanoseconds a call, the least of five rounds
 *
 * Where guest time is instructions (-icount shift=0) these are instructions.
 */
#include <string.h>
#include <time.h>

#include "uhook_test.h"

#define ROUNDS	5
#define CALLS	1000

UHOOK_FUNCTION(bench_stepped);
UHOOK_FUNCTION(bench_emulated);

#if defined(__x86_64__)
asm(".text\n"
	".globl bench_stepped, bench_emulated\n"
	"bench_stepped:\n"
	"	sub $8, %rsp\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"bench_emulated:\n"
	"	push %rbp\n"
	"	pop %rbp\n"
	"	ret\n");
#elif defined(__aarch64__)
asm(".text\n"
	".globl bench_stepped, bench_emulated\n"
	"bench_stepped:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	ldp x29, x30, [sp], #16\n"
	"	ret\n"
	"bench_emulated:\n"
	"	b 1f\n"
	"1:	ret\n");
#endif

static const struct {
	const char *name;
	long (*call)(long arg);
} functions[] = {
	{ "stepped", bench_stepped },
	{ "emulated", bench_emulated },
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);

	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static double cost(long (*call)(long arg))
{
	double least = 0;
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		double begin = now(), took;

		for (i = 0; i < CALLS; i++)
			call(i);
		took = (now() - begin) / CALLS;
		if (!round || took < least)
			least = took;
	}

	return least;
}

int main(int argc, char **argv)
{
	unsigned int i;

	for (i = 0; argc == 2 && i < ARRAY_SIZE(functions); i++) {
		if (!strcmp(argv[1], "offsets"))
			say_offset(functions[i].name, functions[i].call);
		else if (!strcmp(argv[1], functions[i].name))
			printf("%.0f\n", cost(functions[i].call));
	}

	return 0;
}
