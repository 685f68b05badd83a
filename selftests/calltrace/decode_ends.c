// SPDX-License-Identifier: GPL-2.0
/*
 * A program that ends, or treats its files, in a way that a recorder does not expect
 *
 * step() is recorded, by stubs and by -finstrument-functions; the number of its calls is
 * printed at the end, or before. Only children call other().
 *
 * Usage: decode-ends kill | exec | exit | join | cancel | leave | limit | chdir | user |
 *		       size | much | forks | clone | unlink | run
 *        decode-ends close FILE
 *        decode-ends exec PROGRAM
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fhook_calltrace_stub.h"

#define PLAIN	__attribute__((no_instrument_function))

FHOOK_FUNCTION(0, "step")
FHOOK_FUNCTION(1, "other")

static unsigned long steps;
static volatile int goes_on;
static pthread_t worker;
static sigjmp_buf left;

__attribute__((noinline)) static void step(void)
{
	FHOOK_TRACE(0);
	__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void other(void)
{
	FHOOK_TRACE(1);
	__atomic_fetch_add(&steps, 0, __ATOMIC_RELAXED);
}

PLAIN static void walk(unsigned long count)
{
	while (count--)
		step();
}

PLAIN static void say(void)
{
	printf("steps %lu\n", steps);
	fflush(stdout);
}

PLAIN static void *walk_in_thread(void *count)
{
	walk((unsigned long)count);
	return NULL;
}

PLAIN static void in_thread(unsigned long count)
{
	pthread_create(&worker, NULL, walk_in_thread, (void *)count);
	pthread_join(worker, NULL);
}

PLAIN static void *walk_on(void *unused)
{
	(void)unused;
	while (goes_on) {
		step();
		pthread_testcancel();
	}
	return NULL;
}

PLAIN static void begin_worker(void)
{
	goes_on = 1;
	pthread_create(&worker, NULL, walk_on, NULL);
	while (__atomic_load_n(&steps, __ATOMIC_RELAXED) < 50000)
		usleep(100);
}

/* It runs after that of a library which was linked in. */
__attribute__((destructor)) PLAIN static void join(void)
{
	if (!goes_on)
		return;
	goes_on = 0;
	pthread_join(worker, NULL);
}

PLAIN static void on_alarm(int number)
{
	(void)number;
	siglongjmp(left, 1);
}

PLAIN static void leave(void)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0 } };
	volatile int times = 0;

	/* An alarm may come at once: there is a place to go to before. */
	if (!sigsetjmp(left, 1)) {
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &often, NULL);
	}
	if (times++ < 300)
		walk(100000000);
	setitimer(ITIMER_REAL, &never, NULL);
}

/* Children of a signal's handler: they return from it, and end. */
static volatile pid_t child;
static volatile int failed;

PLAIN static void on_fork(int number)
{
	int status;

	(void)number;
	child = fork();
	if (child && (waitpid(child, &status, 0) != child || status))
		failed = 1;
}

PLAIN static int forks(void)
{
	const struct itimerval once = { { 0, 0 }, { 0, 3000 } };
	int times = 50;

	signal(SIGALRM, on_fork);
	while (times--) {
		child = -1;
		setitimer(ITIMER_REAL, &once, NULL);
		while (child == -1)
			walk(100);
		if (!child)
			_exit(0);
	}
	return failed;
}

/* A child that no library knows of; its events follow those of its parent. */
PLAIN static int clone_raw(void)
{
	int times = 20, status;
	pid_t pid;

	while (times--) {
		walk(10);
		pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			usleep(20000);
			other();
			_exit(0);
		}
		walk(10);
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}

/* All descriptors that there are: a thread that begins now has none to record with. */
PLAIN static void limit(void)
{
	const struct rlimit few = { 64, 64 };
	int files[64], count = 0;

	setrlimit(RLIMIT_NOFILE, &few);
	walk(10);
	while ((files[count] = open("/dev/null", O_RDONLY)) >= 0)
		count++;
	in_thread(1000);
	while (count)
		close(files[--count]);
	steps = 10;
	in_thread(20);
}

/* As daemons do: then the next file has the number of one that was closed. */
PLAIN static int close_all(const char *path)
{
	static const char text[] = "precious\n";
	int fd;

	walk(10);
	for (fd = 3; fd < 256; fd++)
		close(fd);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return 1;
	walk(100000);
	return lseek(fd, 0, SEEK_END) != (off_t)strlen(text);
}

PLAIN int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "kill") || !strcmp(how, "exec") || !strcmp(how, "exit")) {
		walk(40000);
		say();
		if (*how == 'k')
			raise(SIGKILL);
		if (!strcmp(how, "exec"))
			execl(argc > 2 ? argv[2] : "/bin/true", "true", NULL);
		_exit(0);
	}
	if (!strcmp(how, "status")) {
		walk(10);
		say();
		return 42;
	}
	if (!strcmp(how, "run")) {
		walk(10);
		say();
		/* Only the child executes another program. */
		execl("/dev/null/none", "none", NULL);
		return system("exit 0");
	}
	if (!strcmp(how, "join")) {
		begin_worker();
	} else if (!strcmp(how, "cancel")) {
		begin_worker();
		pthread_cancel(worker);
		pthread_join(worker, NULL);
		goes_on = 0;
	} else if (!strcmp(how, "leave")) {
		leave();
	} else if (!strcmp(how, "limit")) {
		limit();
	} else if (!strcmp(how, "chdir")) {
		walk(10);
		if (chdir("/"))
			return 1;
		in_thread(20);
	} else if (!strcmp(how, "user")) {
		walk(10);
		if (setuid(65534))
			return 1;
		walk(100000);
	} else if (!strcmp(how, "size")) {
		const struct rlimit little = { 100000, 100000 };

		setrlimit(RLIMIT_FSIZE, &little);
		walk(4);
	} else if (!strcmp(how, "much")) {
		const struct rlimit little = { 100000, 100000 };

		setrlimit(RLIMIT_FSIZE, &little);
		walk(200000);
	} else if (!strcmp(how, "unlink")) {
		walk(10);
		if (unlink(argv[0]))
			return 1;
	} else if (!strcmp(how, "forks")) {
		if (forks())
			return 1;
	} else if (!strcmp(how, "clone")) {
		if (clone_raw())
			return 1;
	} else if (!strcmp(how, "close") && argc == 3) {
		if (close_all(argv[2]))
			return 1;
	} else {
		return 2;
	}
	say();
	return 0;
}
