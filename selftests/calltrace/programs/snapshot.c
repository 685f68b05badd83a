// SPDX-License-Identifier: GPL-2.0
/*
 * Functions for conditions that end a recording
 *
 * Usage: snapshot WORD...: call these in turn. N*WORD does so N times, and "wait" waits until
 * the standard input ends, calling a function every now and then.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUIET	__attribute__((no_instrument_function))
#define MS	1000

static jmp_buf back;

int leaf(int n)
{
	return n + 1;
}

void quick(void)
{
	leaf(1);
}

void slow(void)
{
	usleep(100 * MS);
}

enum { RETURN, SLEEP, JUMP };

void maybe(int how)
{
	if (how == JUMP)
		longjmp(back, 1);
	if (how == SLEEP)
		usleep(100 * MS);
}

/* The inner calls take no time. */
void deep(int n)
{
	if (n)
		deep(n - 1);
	if (n == 2)
		usleep(100 * MS);
}

void last(void)
{
	leaf(2);
}

QUIET static void jump(void)
{
	if (!setjmp(back))
		maybe(JUMP);
	usleep(100 * MS);
	maybe(RETURN);
}

QUIET static void jump_first(void)
{
	if (!setjmp(back))
		maybe(JUMP);
	maybe(SLEEP);
}

static void *work(void *data)
{
	quick();
	return data;
}

QUIET static void thread(void)
{
	pthread_t other;

	pthread_create(&other, NULL, work, NULL);
	pthread_join(other, NULL);
}

QUIET static void child(void)
{
	const pid_t pid = fork();

	if (!pid) {
		last();
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

QUIET static void wait_for_input(void)
{
	struct pollfd input = { .events = POLLIN };

	while (!poll(&input, 1, 10))
		quick();
}

static const struct {
	const char *name;
	void (*call)(void);
} words[] = {
	{ "quick", quick }, { "slow", slow }, { "last", last }, { "jump", jump },
	{ "jump-first", jump_first },
	{ "thread", thread }, { "child", child }, { "wait", wait_for_input },
};

QUIET static void call(const char *word)
{
	unsigned int i;

	if (!strcmp(word, "deep"))
		deep(4);
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i].name, word))
			words[i].call();
}

QUIET int main(int argc, char **argv)
{
	int i, n;

	for (i = 1; i < argc; i++) {
		const char *star = strchr(argv[i], '*');

		for (n = star ? atoi(argv[i]) : 1; n; n--)
			call(star ? star + 1 : argv[i]);
	}
	puts("the end");
	return 3;
}
