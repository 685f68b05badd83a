// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the cost of a call of a function whose first instruction may be probed.
 *
 *	uhook_bench offsets		the functions: NAME OFFSET, to put probes there
 *	uhook_bench NAME		nanoseconds a call, the least of five rounds
 *	uhook_bench calls NAME		as many calls, to look at something else
 *	uhook_bench writable NAME	nanoseconds, after the program has made its text
 *					writable: breakpoints stay breakpoints then
 *	uhook_bench first NAME		nanoseconds of the first ten calls, in which a
 *					hook may get its jump
 *	uhook_bench after NAME COMMAND	nanoseconds of a call after others, and after a
 *					command, the least of five rounds
 *
 * Where guest time is instructions (-icount shift=0) these are instructions.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "uhook_test.h"

#define ROUNDS	5
#define CALLS	1000
#define FIRST	10

#if defined(__x86_64__)
UHOOK_FUNCTION(bench_push);
UHOOK_FUNCTION(bench_sub);
UHOOK_FUNCTION(bench_endbr64);
UHOOK_FUNCTION(bench_mov);
asm(".data\n"
	"bench_data:\n"
	"	.quad 1\n"
	".text\n"
	"bench_push:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	"bench_sub:\n"
	"	sub $8, %rsp\n"
	"	mov %rdi, %rax\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"bench_endbr64:\n"
	"	endbr64\n"
	"	mov %rdi, %rax\n"
	"	ret\n"
	"bench_mov:\n"
	"	mov bench_data(%rip), %rax\n"
	"	ret\n");
#elif defined(__aarch64__)
UHOOK_FUNCTION(bench_stp);
UHOOK_FUNCTION(bench_bti);
UHOOK_FUNCTION(bench_adrp);
asm(".text\n"
	"bench_stp:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	ldp x29, x30, [sp], #16\n"
	"	ret\n"
	"bench_bti:\n"
	"	hint #34\n"		/* bti c */
	"	ret\n"
	"bench_adrp:\n"
	"	adrp x0, bench_stp\n"
	"	ret\n");
#endif

static const struct {
	const char *name;
	long (*call)(long arg);
} functions[] = {
#if defined(__x86_64__)
	{ "push", bench_push },
	{ "sub", bench_sub },
	{ "endbr64", bench_endbr64 },
	{ "mov", bench_mov },
#elif defined(__aarch64__)
	{ "stp", bench_stp },
	{ "bti", bench_bti },
	{ "adrp", bench_adrp },
#endif
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);

	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void run(long (*call)(long arg))
{
	int i;

	for (i = 0; i < CALLS; i++)
		call(i);
}

static double cost(long (*call)(long arg))
{
	double least = 0;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		double begin, took;

		/* The kernel reads the records meanwhile. It is cheaper to lose one. */
		usleep(50000);
		begin = now();
		run(call);
		took = (now() - begin) / CALLS;
		if (!round || took < least)
			least = took;
	}

	return least;
}

static double cost_of_first(long (*call)(long arg))
{
	double begin = now();
	int i;

	for (i = 0; i < FIRST; i++)
		call(i);

	return now() - begin;
}

static double cost_after(long (*call)(long arg), const char *command)
{
	double least = 0;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		double begin, took;

		run(call);
		check(!system(command), "the command fails");
		begin = now();
		call(round);
		took = now() - begin;
		if (!round || took < least)
			least = took;
	}

	return least;
}

static void make_writable(const void *addr)
{
	long page = sysconf(_SC_PAGESIZE);
	char *start = (char *)((unsigned long)addr & -page);

	check(!mprotect(start, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC), "mprotect fails");
}

int main(int argc, char **argv)
{
	unsigned int i;

	for (i = 0; argc >= 2 && i < ARRAY_SIZE(functions); i++) {
		if (!strcmp(argv[1], "offsets")) {
			say_offset(functions[i].name, functions[i].call);
			continue;
		}
		if (argc == 4 && !strcmp(argv[1], "after") &&
		    !strcmp(argv[2], functions[i].name)) {
			printf("%.0f\n", cost_after(functions[i].call, argv[3]));
			return 0;
		}
		if (strcmp(argv[argc - 1], functions[i].name))
			continue;
		if (!strcmp(argv[1], "first")) {
			printf("%.0f\n", cost_of_first(functions[i].call));
			return 0;
		}
		if (!strcmp(argv[1], "calls")) {
			run(functions[i].call);
			return 0;
		}
		if (!strcmp(argv[1], "writable"))
			make_writable(functions[i].call);
		printf("%.0f\n", cost(functions[i].call));
	}

	return 0;
}
