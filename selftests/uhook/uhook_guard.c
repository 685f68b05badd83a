// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a function that begins with a landing pad, which has a probe, in text that the
 * program then has guarded: indirect calls may lead to a landing pad only.
 *
 *	uhook_guard offsets		the probe point
 *	uhook_guard calls TIMES		call it
 *	uhook_guard guarded TIMES	the same after its page has been guarded
 *	uhook_guard hidden TIMES	call it when it can be executed, but not read
 *
 * Printed is how often it was called; a second line says "guarded" where text can be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "uhook_test.h"

#define PAGE	65536

UHOOK_FUNCTION(uhook_guard_pad);

asm(".pushsection .text\n"
".balign 65536\n"
".globl uhook_guard_pad\n"
".type uhook_guard_pad, %function\n"
"uhook_guard_pad:\n"
#if defined(__x86_64__)
"	endbr64\n"
"	lea 1(%rdi), %rax\n"
"	ret\n"
#elif defined(__aarch64__)
"	hint #34\n"			/* bti c */
"	add x0, x0, #1\n"
"	ret\n"
#endif
".size uhook_guard_pad, . - uhook_guard_pad\n"
".balign 65536\n"
".popsection\n");

/* By way of a register: direct calls land anywhere. */
static void calls(unsigned long times)
{
	long (*volatile pad)(long arg) = uhook_guard_pad;
	unsigned long i;

	for (i = 0; i < times; i++) {
		long ret = pad(i);

		check(ret == (long)i + 1, "call %lu has returned %ld", i, ret);
	}
}

/* Can it be? */
static int guard(void)
{
#if defined(__aarch64__)
	const int prot_bti = 0x10;

	if (!mprotect((void *)uhook_guard_pad, PAGE, PROT_READ | PROT_EXEC | prot_bti))
		return 1;
	check(errno == EINVAL, "mprotect: %s", strerror(errno));
#endif
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long times;
	int guarded = 0;

	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("pad", uhook_guard_pad);
		return 0;
	}
	check(argc == 3, "it wants a mode and a number");

	/* By itself, so that no mapping is cut in two when it is guarded. */
	check(!madvise((void *)uhook_guard_pad, PAGE, MADV_DONTDUMP), "madvise: %s",
	      strerror(errno));
	times = strtoul(argv[2], NULL, 0);
	/* Where the processor cannot do that, it can be read, which is as well. */
	if (!strcmp(argv[1], "hidden"))
		check(!mprotect((void *)uhook_guard_pad, PAGE, PROT_EXEC), "mprotect: %s",
		      strerror(errno));
	calls(times);
	if (!strcmp(argv[1], "guarded")) {
		guarded = guard();
		calls(times);
		times *= 2;
	}
	printf("pad %lu\n", times);
	if (guarded)
		printf("guarded\n");

	return 0;
}
