// SPDX-License-Identifier: GPL-2.0
/*
 * Calls a function for each byte that is read: to record from outside, now and then. For
 * an 'f', a child does it as well.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fhook_calltrace_stub.h"

FHOOK_FUNCTION(0, "tick")

__attribute__((noinline)) int tick(int count)
{
	FHOOK_TRACE(0);
	return count + 1;
}

int main(void)
{
	int count = 0;
	pid_t child;
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		child = byte == 'f' ? fork() : -1;
		count = tick(count);
		if (!child)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
		printf("%d\n", count);
		fflush(stdout);
	}
	return 0;
}
