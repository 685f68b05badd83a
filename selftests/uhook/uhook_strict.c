// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program that may only read, write and exit.
 *
 *	uhook_strict offsets	the probe points
 *	uhook_strict N		hit the first N times, enter seccomp's strict mode,
 *				and hit both
 *
 * The kernel kills it for any other system call.  Exits with 4
 * where there is no such mode.
 */
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "uhook_test.h"

#define HITS	20

UHOOK_FUNCTION(strict_one);
UHOOK_FUNCTION(strict_two);

#if defined(__x86_64__)
asm(".text\n"
	"strict_one:\n"
	"	{disp32} lea 1(%rdi), %rax\n"
	"	ret\n"
	/* In another page: its breakpoint is another page as well. */
	"	.balign 4096\n"
	"strict_two:\n"
	"	{disp32} lea 2(%rdi), %rax\n"
	"	ret\n");
#elif defined(__aarch64__)
asm(".text\n"
	"strict_one:\n"
	"	add x0, x0, #1\n"
	"	ret\n"
	"	.balign 4096\n"
	"strict_two:\n"
	"	add x0, x0, #2\n"
	"	ret\n");
#endif

/* Not the one of the C library: it is another system call. */
static void leave(int status)
{
	syscall(SYS_exit, status);
}

/* Report failures without a stream, too. */
static void in_strict_mode(void)
{
	static const char wrong[] = "a function has returned another value\n";
	long i;

	for (i = 0; i < HITS; i++) {
		if (strict_one(i) != i + 1 || strict_two(i) != i + 2) {
			if (write(2, wrong, sizeof(wrong) - 1) < 0)
				leave(2);
			leave(1);
		}
	}
	leave(0);
}

int main(int argc, char **argv)
{
	long i;

	check(argc == 2, "usage: %s offsets | N", argv[0]);
	if (!strcmp(argv[1], "offsets")) {
		say_offset("one", strict_one);
		say_offset("two", strict_two);
		return 0;
	}

	for (i = 0; i < atol(argv[1]); i++)
		check(strict_one(i) == i + 1, "a function has returned %ld", strict_one(i));
	printf("one %ld %ld\ntwo %d %d\n", i + HITS, i + HITS, HITS, HITS);
	fflush(stdout);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 4;
	in_strict_mode();
}
