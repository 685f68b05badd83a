// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a loop through probed instructions under a storm of signals.
 *
 *	uhook_signals offsets		the probed instructions
 *	uhook_signals storm ROUNDS	signals from a thread, a timer and a process that
 *					also stops and continues this one
 *	uhook_signals nested ROUNDS	handlers on a stack of their own run through
 *					probed instructions themselves
 *	uhook_signals jump JUMPS	handlers leave the loop by siglongjmp()
 *	uhook_signals sampled ROUNDS	each sample that perf takes is a signal
 *
 * All addresses that handlers see must be code of the program; the number of times
 * that the probed instructions were run is printed at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "uhook_loop.h"

#define STACK_SIZE	65536
#define INNER_ROUNDS	2
#define FIRST_ALARM	700		/* us */
#define MAX_ALARM	100000		/* us */
#define FIRST_PERIOD	100000		/* ns */

/**
 * struct shared - memory that is shared with the process that stops this one
 * @done: nobody sends signals any more
 * @stops: how often this process was stopped
 * @sum: rounds of the loop, outside of handlers
 */
struct shared {
	atomic_bool done;
	atomic_ulong stops;
	unsigned long sum;
};

static struct shared *shared;
static pid_t main_tid;
static atomic_ulong nr_user, nr_alarm, inner_rounds;
static char *stack;

static atomic_ulong nr_jumps, jump_rounds;
static sigjmp_buf jump_env;

static void pause_us(unsigned int us)
{
	struct timespec ts = { .tv_nsec = us * 1000L };

	nanosleep(&ts, NULL);
}

/* Pauses of any length, so that signals come anywhere. */
static unsigned int next_pause(unsigned int *seed)
{
	*seed = *seed * 1103515245 + 12345;

	return (*seed >> 16) % 150;
}

/*
 * Has the loop gone on since the last time? Signals that do not wait for that would stop it
 * for ever where handling one takes longer than the time to the next one.
 */
static bool has_gone_on(unsigned long *last)
{
	unsigned long sum = *(volatile unsigned long *)&shared->sum;
	bool gone_on = sum != *last;

	*last = sum;

	return gone_on;
}

static void *send_signals(void *unused)
{
	unsigned long last = 0;
	unsigned int seed = 1;

	while (!shared->done) {
		if (has_gone_on(&last))
			syscall(SYS_tgkill, getpid(), main_tid, SIGUSR1);
		pause_us(next_pause(&seed));
	}

	return NULL;
}

/* A stop is always followed by a continuation, also at the end. */
static void stop_parent(pid_t parent)
{
	unsigned long last = 0;
	unsigned int seed = 2;

	while (!shared->done && getppid() == parent) {
		if (has_gone_on(&last)) {
			kill(parent, SIGSTOP);
			pause_us(next_pause(&seed));
			kill(parent, SIGCONT);
			shared->stops++;
		}
		pause_us(next_pause(&seed) * 4);
	}
	_exit(0);
}

static void check_address(const void *context)
{
	unsigned long ip = context_ip(context);

	check(in_program_of(getpid(), ip), "a handler sees the program at 0x%lx, which is no code",
	      ip);
}

static void on_alarm(void)
{
	static unsigned int us = FIRST_ALARM;
	static unsigned long last;

	nr_alarm++;
	if (shared->done)
		return;
	if (!has_gone_on(&last) && us < MAX_ALARM)
		us *= 2;
	set_alarms(us);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	check_address(context);
	if (sig == SIGALRM)
		on_alarm();
	else
		nr_user++;
}

static void on_signal_nested(int sig, siginfo_t *info, void *context)
{
	unsigned long sum = 0, rounds;

	on_signal(sig, info, context);
	check((unsigned long)&sum - (unsigned long)stack < STACK_SIZE,
	      "a handler is not on the stack that it asked for");
	rounds = uhook_loop(INNER_ROUNDS, &sum);
	check(rounds == INNER_ROUNDS && sum == INNER_ROUNDS,
	      "in a handler %d rounds count %lu and %lu", INNER_ROUNDS, rounds, sum);
	inner_rounds += rounds;
}

static void on_signal_jump(int sig, siginfo_t *info, void *context)
{
	check_address(context);
	if (!in_loop(context_ip(context)))
		return;

	nr_jumps++;
	jump_rounds += context_rounds(context);
	siglongjmp(jump_env, 1);
}

static void set_handler(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	check(!sigaction(sig, &sa, NULL), "sigaction: %s", strerror(errno));
}

static void use_stack(void)
{
	stack_t ss = { .ss_size = STACK_SIZE };

	stack = malloc(STACK_SIZE);
	ss.ss_sp = stack;
	check(stack && !sigaltstack(&ss, NULL), "sigaltstack: %s", strerror(errno));
}

/* So often ROUNDS until all of it has come, however fast that is. Returns how many. */
static unsigned long loop_until(bool (*has_come)(void), unsigned long rounds)
{
	unsigned long all = 0, ret;

	do {
		ret = uhook_loop(rounds, &shared->sum);
		all += rounds;
		check(ret == rounds && shared->sum == all, "%lu rounds count %lu and %lu", all,
		      ret, shared->sum);
	} while (!has_come());

	return all;
}

static bool had_storm(void)
{
	return nr_user && nr_alarm && shared->stops;
}

static void run_storm(unsigned long rounds)
{
	pid_t parent = getpid(), child;

	set_alarms(FIRST_ALARM);
	child = fork();
	check(child >= 0, "fork: %s", strerror(errno));
	if (!child)
		stop_parent(parent);

	rounds = loop_until(had_storm, rounds);
	shared->done = true;
	set_alarms(0);
	while (waitpid(child, NULL, 0) < 0)
		check(errno == EINTR, "waitpid: %s", strerror(errno));

	fprintf(stderr, "%lu signals of a thread, %lu of a timer, stopped %lu times\n",
		nr_user, nr_alarm, shared->stops);
	say_loop_counts(rounds);
}

static bool had_signals(void)
{
	return nr_user && nr_alarm;
}

/* Returns its rounds, without those of handlers. */
static unsigned long run_nested(unsigned long rounds)
{
	set_alarms(FIRST_ALARM);
	rounds = loop_until(had_signals, rounds);
	shared->done = true;
	set_alarms(0);

	return rounds;
}

static int samples;

static void on_sample(int sig, siginfo_t *info, void *context)
{
	static unsigned long long period = FIRST_PERIOD;
	static unsigned long last;

	on_signal(sig, info, context);
	if (has_gone_on(&last))
		return;
	period *= 2;
	check(!ioctl(samples, PERF_EVENT_IOC_PERIOD, &period), "PERF_EVENT_IOC_PERIOD: %s",
	      strerror(errno));
}

/* They are sent by the task itself, on its way out of an interrupt. */
static void open_samples(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = FIRST_PERIOD,
		.sigtrap = 1,
		.remove_on_exec = 1,
		.disabled = 1,
	};

	set_handler(SIGTRAP, on_sample, 0);
	samples = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	check(samples >= 0, "perf_event_open: %s", strerror(errno));
	check(!ioctl(samples, PERF_EVENT_IOC_ENABLE, 0), "PERF_EVENT_IOC_ENABLE: %s",
	      strerror(errno));
}

static bool had_samples(void)
{
	return nr_user;
}

static void run_sampled(unsigned long rounds)
{
	shared->done = true;
	open_samples();
	say_loop_counts(loop_until(had_samples, rounds));
}

static void run_jumps(unsigned long jumps)
{
	set_handler(SIGUSR1, on_signal_jump, 0);
	sigsetjmp(jump_env, 1);
	if (nr_jumps < jumps)
		uhook_loop(-1, &shared->sum);
	shared->done = true;
	set_handler(SIGUSR1, on_signal, 0);

	printf("add %lu\nstore %lu\n", jump_rounds, shared->sum);
}

static pthread_t start(void)
{
	sigset_t all, old;
	pthread_t sender;

	main_tid = gettid();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	check(shared != MAP_FAILED, "mmap: %s", strerror(errno));
	/* All signals are for the thread in the loop. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	check(!pthread_create(&sender, NULL, send_signals, NULL), "no thread can be made");
	pthread_sigmask(SIG_SETMASK, &old, NULL);

	return sender;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned long times = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	pthread_t sender;

	if (!strcmp(mode, "offsets")) {
		say_loop_offsets();
		return 0;
	}

	if (!strcmp(mode, "nested")) {
		use_stack();
		set_handler(SIGUSR1, on_signal_nested, SA_ONSTACK);
		set_handler(SIGALRM, on_signal_nested, SA_ONSTACK);
	} else {
		set_handler(SIGUSR1, on_signal, 0);
		set_handler(SIGALRM, on_signal, 0);
	}

	sender = start();
	if (!strcmp(mode, "storm"))
		run_storm(times);
	else if (!strcmp(mode, "nested"))
		times = run_nested(times);
	else if (!strcmp(mode, "jump"))
		run_jumps(times);
	else if (!strcmp(mode, "sampled"))
		run_sampled(times);
	pthread_join(sender, NULL);
	/* Not before: a signal may have come after the loop. */
	if (!strcmp(mode, "nested"))
		say_loop_counts(times + inner_rounds);

	return 0;
}
