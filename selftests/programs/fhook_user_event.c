// SPDX-License-Identifier: GPL-2.0
/*
 * Open a trace event for this process as a user without privileges, to count its hits.
 *
 *	fhook_user_event ID
 *
 * Prints "open", or why it is not.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY	65534

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.exclude_kernel = 1,
	};

	if (argc != 2)
		return 2;
	attr.config = strtoul(argv[1], NULL, 0);
	if (setgid(NOBODY) || setuid(NOBODY)) {
		perror("setuid");
		return 1;
	}
	puts(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0 ? strerror(errno) : "open");

	return 0;
}
