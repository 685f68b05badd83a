// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a function with several callers, all with frame pointers.
 *
 *	uhook_callers HOW...	call callers_inner() as given
 *
 * HOW is "calls" (five times by one caller, twice by another one), "fork" or "thread" (once
 * there, by the first caller), or "repeat" (by the second caller, for ten seconds).
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "uhook_test.h"

#pragma GCC optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")

#define PART __attribute__((noinline, noclone))

static volatile int sink;

PART int callers_inner(int n)
{
	sink += n;
	return sink;
}

PART int callers_left(int n)
{
	return callers_inner(n) + 1;
}

PART int callers_right(int n)
{
	return callers_inner(n) + 2;
}

PART int callers_outer(int n)
{
	int i, sum = 0;

	for (i = 0; i < 5; i++)
		sum += callers_left(n);
	for (i = 0; i < 2; i++)
		sum += callers_right(n);
	return sum;
}

static PART void *run_thread(void *unused)
{
	sink += callers_left(1);
	return unused;
}

static PART void run(const char *how)
{
	pthread_t thread;
	pid_t child;
	int i;

	if (!strcmp(how, "calls")) {
		sink += callers_outer(1);
	} else if (!strcmp(how, "thread")) {
		check(!pthread_create(&thread, NULL, run_thread, NULL), "no thread");
		pthread_join(thread, NULL);
	} else if (!strcmp(how, "fork")) {
		child = fork();
		if (!child) {
			sink += callers_left(1);
			_exit(0);
		}
		check(child > 0 && waitpid(child, NULL, 0) == child, "no child");
	} else if (!strcmp(how, "repeat")) {
		for (i = 0; i < 1000; i++) {
			sink += callers_right(1);
			usleep(10000);
		}
	} else {
		fail("%s is no way to call", how);
	}
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		run(argv[i]);
	return 0;
}
