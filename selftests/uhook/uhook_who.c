// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: hits whose argument says which task has made them.
 *
 *	uhook_who offsets	the probe point
 *	uhook_who threads N	hits of N threads, in turns: "held"; when a line was read, the end
 *	uhook_who child N	N hits; "held"; when a line was read, one of a child, which then
 *				waits for the next line
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "uhook_test.h"

#define HITS		4	/* of a thread */
#define MAX_THREADS	1000
#define WITH_WORKER	4	/* of the threads */

UHOOK_FUNCTION(who_one);

#if defined(__x86_64__)
asm(".text\n"
	"who_one:\n"
	"	{disp32} lea 1(%rdi), %rax\n"
	"	ret\n");
#elif defined(__aarch64__)
asm(".pushsection .text.who, \"ax\"\n"
	".balign 65536\n"
	"who_one:\n"
	"	add x0, x0, #1\n"
	"	ret\n"
	".popsection\n");
#endif

static pthread_barrier_t barrier;

static void hit(void)
{
	const long tid = syscall(SYS_gettid);

	check(who_one(tid) == tid + 1, "the probed function returns something else");
}

static void wait_for_line(void)
{
	int c;

	do {
		c = getchar();
	} while (c != EOF && c != '\n');
}

/* A kernel thread with the registers of the thread that makes it, if the kernel has any */
static void make_worker(void)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1 };

	syscall(SYS_io_uring_setup, 1, &params);
}

static void *run_thread(void *nr)
{
	int i;

	if ((unsigned long)nr < WITH_WORKER)
		make_worker();

	for (i = 0; i < HITS; i++) {
		pthread_barrier_wait(&barrier);
		hit();
	}
	pthread_barrier_wait(&barrier);
	/* Until the records have been read */
	pthread_barrier_wait(&barrier);

	return NULL;
}

static void run_threads(unsigned int nr)
{
	static pthread_t threads[MAX_THREADS];
	pthread_attr_t attr;
	unsigned int i;

	check(nr <= MAX_THREADS, "%u threads are too many", nr);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_barrier_init(&barrier, NULL, nr + 1);
	for (i = 0; i < nr; i++)
		check(!pthread_create(&threads[i], &attr, run_thread, (void *)(long)i),
		      "no thread");
	for (i = 0; i <= HITS; i++)
		pthread_barrier_wait(&barrier);
	puts("held");
	fflush(stdout);
	wait_for_line();
	pthread_barrier_wait(&barrier);
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

static void run_child(unsigned int nr)
{
	int status;
	pid_t pid;

	while (nr--)
		hit();
	puts("held");
	fflush(stdout);
	wait_for_line();
	pid = fork();
	check(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_NAME, "who_child");
		hit();
		wait_for_line();
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "the child has ended with 0x%x", status);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "offsets"))
		say_offset("one", who_one);
	else if (argc == 3 && !strcmp(argv[1], "threads"))
		run_threads(atoi(argv[2]));
	else if (argc == 3 && !strcmp(argv[1], "child"))
		run_child(atoi(argv[2]));
	else
		fail("usage: %s offsets | {threads | child} N", argv[0]);

	return 0;
}
