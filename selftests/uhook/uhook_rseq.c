// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: counters of each CPU, used by tasks that disturb each other.
 *
 *	uhook_rseq offsets	the probed instructions, in a restartable sequence
 *	uhook_rseq busy ROUNDS	threads that run all the time, and ones that preempt them
 *	uhook_rseq signals ROUNDS
 *				handlers of signals count as well
 *	uhook_rseq late ROUNDS	with signals, and as often before it registers for
 *				restartable sequences; the C library must not
 *
 * A sequence that is disturbed and not aborted loses counts of other tasks.  Prints
 * how many were aborted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "uhook_rseq.h"
#include "uhook_test.h"

#define MAX_CPUS	64
#define BUSY_THREADS	4
#define PREEMPTERS	2
#define MAX_PAUSE_US	100000

static unsigned long counters[MAX_CPUS][COUNTER_SIZE / sizeof(long)];
static atomic_ulong counted, done, aborted, preempted, signals;
static atomic_uint busy;
static unsigned long rounds;
static bool with_signals, is_late;

/* The area of a thread that registers by itself */
static struct rseq late;

static struct rseq *own_rseq(void)
{
	if (is_late)
		return &late;

	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

static void count(void)
{
	while (!rseq_increment(own_rseq(), counters))
		aborted++;
	counted++;
}

static void pause_us(unsigned int us)
{
	struct timespec ts = { .tv_nsec = us * 1000L };

	nanosleep(&ts, NULL);
}

/*
 * Pause until a busy thread has completed a round, on a machine of any speed: a sequence that
 * takes longer than the time between two interruptions would be aborted for ever.
 */
static void pause_for_a_round(unsigned int us)
{
	unsigned long before = done;

	do {
		pause_us(us);
		us = us < MAX_PAUSE_US / 2 ? 2 * us + 1 : MAX_PAUSE_US;
	} while (busy && done == before);
}

static void on_signal(int sig)
{
	count();
	signals++;
}

static void *run_busy(void *unused)
{
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		count();
		done++;
		if (i % 256 == 0)
			sched_yield();
	}
	busy--;

	return NULL;
}

/* It wakes up in the middle of a sequence of the busy ones, on their CPU. */
static void *run_preempter(void *unused)
{
	const struct sched_param param = { .sched_priority = 1 };

	pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	while (busy) {
		pause_for_a_round(preempted % 211);
		count();
		preempted++;
	}

	return NULL;
}

static void *send_signals(void *threads)
{
	unsigned int i;

	while (busy) {
		for (i = 0; i < BUSY_THREADS; i++)
			pthread_kill(((pthread_t *)threads)[i], SIGUSR1);
		pause_for_a_round(signals % 97);
	}

	return NULL;
}

/* Until it has registered, no other thread counts, and there are no critical sections. */
static void run_late(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	unsigned long i, seen = 0;

	for (i = 0; i < rounds; i++)
		count();
	check(!syscall(__NR_rseq, &late, sizeof(late), 0, RSEQ_SIG),
	      "it cannot register for restartable sequences");
	sigaction(SIGALRM, &sa, NULL);
	set_alarms(300);
	for (i = 0; i < rounds || signals < 100; i++) {
		count();
		if (seen != signals) {
			seen = signals;
			next_alarm();
		}
	}
	set_alarms(0);
}

static unsigned long sum_of_counters(void)
{
	unsigned long sum = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		sum += counters[cpu][0];

	return sum;
}

static void run(void)
{
	pthread_t threads[BUSY_THREADS], others[PREEMPTERS], sender;
	struct sigaction sa = { .sa_handler = on_signal };
	unsigned int i;

	sigaction(SIGUSR1, &sa, NULL);
	busy = BUSY_THREADS;
	for (i = 0; i < BUSY_THREADS; i++)
		check(!pthread_create(&threads[i], NULL, run_busy, NULL), "no thread");
	for (i = 0; i < PREEMPTERS; i++)
		check(!pthread_create(&others[i], NULL, run_preempter, NULL), "no thread");
	if (with_signals)
		check(!pthread_create(&sender, NULL, send_signals, threads), "no thread");

	for (i = 0; i < PREEMPTERS; i++)
		pthread_join(others[i], NULL);
	if (with_signals)
		pthread_join(sender, NULL);
	for (i = 0; i < BUSY_THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("rseq_load", rseq_load);
		say_offset("rseq_add", rseq_add);
		say_offset("rseq_store", rseq_store);
		return 0;
	}
	check(argc == 3, "it wants a mode and a number");
	is_late = !strcmp(argv[1], "late");
	check(!__rseq_size == is_late, "the C library has%s registered for restartable sequences",
	      is_late ? "" : " not");

	with_signals = !strcmp(argv[1], "signals");
	rounds = strtoul(argv[2], NULL, 0);
	if (is_late)
		run_late();
	else
		run();

	fprintf(stderr, "%lu counted, %lu preempted, %lu signals\n", counted, preempted, signals);
	check(sum_of_counters() == counted, "%lu counted, but the counters say %lu", counted,
	      sum_of_counters());
	printf("aborted %lu\n", aborted);

	return 0;
}
