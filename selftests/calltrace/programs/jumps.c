// SPDX-License-Identifier: GPL-2.0
/*
 * Ways out that are no returns: longjmp over several functions and into its own,
 * functions that do not return, and exit() from within
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include "traced.h"

static jmp_buf buffer;
static volatile int rounds;

TARGET void t_thrower(int n)
{
	if (n == 0)
		longjmp(buffer, 1 + rounds);
	t_thrower(n - 1);
	rounds += 100;
}

TARGET void t_quiet(void)
{
	__asm__ volatile("");
}

TARGET int t_catcher(int depth)
{
	int code = setjmp(buffer);

	if (code) {
		record_landed("t_catcher");
		t_quiet();
		if (code > 2)
			return code;
	}
	rounds++;
	t_thrower(depth);
	return 0;
}

TARGET int t_own(void)
{
	jmp_buf own;
	volatile int n = 0;

	if (_setjmp(own))
		record_landed("t_own");
	t_quiet();
	if (n++ < 2)
		longjmp(own, 1);
	return n;
}

__attribute__((noreturn)) TARGET void t_leave(int n)
{
	t_quiet();
	printf("%d\n", n);
	exit(0);
}

TARGET int t_middle(int n)
{
	t_quiet();
	t_leave(n);
}

int main(void)
{
	int n = t_catcher(4);

	t_quiet();
	n = n * 10 + t_own();
	t_quiet();
	return t_middle(n);
}
