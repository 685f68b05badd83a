// SPDX-License-Identifier: GPL-2.0
/* Calls a function for each byte that is read: to record from outside, now and then. */
#include <stdio.h>
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
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		count = tick(count);
		printf("%d\n", count);
		fflush(stdout);
	}
	return 0;
}
