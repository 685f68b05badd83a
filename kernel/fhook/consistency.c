// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: switching a whole patch while no task is inside its functions.
 *
 * All CPUs are stopped, and the stack of every task is unwound. If no task is inside,
 * a gate is written, a word that trampolines check, which switches all functions of a
 * patch at once. Otherwise the functions are restored and fhook_mutex is released; fhook
 * looks again a little later, and tries again when no task is inside.
 *
 * As for livepatch, a stack that cannot be unwound reliably prevents the switch: a
 * task can be inside a function without any word on its stack that shows it, because
 * a kprobe's slot or detour holds copies of the function's instructions. Preempted
 * tasks leave such places by themselves. A sleeping task has called something, and
 * calls made by BPF code are unwound reliably (on x86_64: unwind_orc.c), so no sleeping
 * task prevents the switch forever without being inside; but on arm64 one that sleeps in
 * a page fault of the kernel does, until it wakes. The fault may have interrupted a
 * replacement, so the text must not be freed before.
 *
 * Two cases are not detected: NMIs that interrupt a stopped CPU, and tasks in
 * do_exit() that are no longer on the task list.
 *
 * The mainline counterpart is klp_try_complete_transition(), which switches task by
 * task, and needs both versions to work at the same time.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/delay.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/nmi.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "consistency.h"
#include "core.h"
#include "function.h"
#include "report.h"

#define TRIES		20
#define TRIES_MS	10000
#define WAIT_MS		25

/* All CPUs stop during a check, but for no more than a 50th of the time. */
#define PAUSE_FACTOR	50

/* When waiting without a limit, check less and less often, and log it now and then. */
#define MAX_WAIT_MS	1000
#define PATIENCE_MS	10000

#define MAX_ENTRIES	256

/**
 * struct attempt - arguments and result of one stop of all CPUs
 * @ranges: functions in which no task may be
 * @gate: word to write if there is none, or NULL
 * @value: value to write
 * @comm: name of the task that is inside
 * @pid: its process ID
 * @addr: an address inside a function, from its stack; 0 if the stack cannot be
 *	unwound reliably
 * @asleep: whether the task sleeps
 * @took: duration of the check, in milliseconds
 */
struct attempt {
	const struct fhook_ranges *ranges;
	u32			*gate;
	u32			value;
	char			comm[TASK_COMM_LEN];
	pid_t			pid;
	unsigned long		addr;
	bool			asleep;
	unsigned int		took;
};

/* Only used while all other CPUs are stopped. */
static unsigned long entries[MAX_ENTRIES];

static bool in_the_way(struct attempt *attempt, struct task_struct *task)
{
	int i, num;

	/* The other CPUs are in the same functions as this one, and cannot be unwound. */
	if (task != current && task_curr(task))
		return false;

	attempt->addr = 0;
	num = stack_trace_save_tsk_reliable(task, entries, MAX_ENTRIES);
	for (i = 0; i < num && !attempt->addr; i++) {
		if (fhook_in_ranges(attempt->ranges, entries[i]))
			attempt->addr = entries[i];
	}
	if (num >= 0 && !attempt->addr)
		return false;

	/* Not get_task_comm(): a stopped task may hold the lock. */
	strscpy(attempt->comm, task->comm);
	attempt->pid = task_pid_nr(task);
	attempt->asleep = !task_is_running(task);

	return true;
}

static bool anybody_in_the_way(struct attempt *attempt)
{
	struct task_struct *leader, *task;
	unsigned int cpu;

	for_each_process_thread(leader, task) {
		/* Interrupts are off, and a user may have very many tasks. */
		touch_nmi_watchdog();
		if (in_the_way(attempt, task))
			return true;
	}
	for_each_online_cpu(cpu) {
		if (in_the_way(attempt, idle_task(cpu)))
			return true;
	}

	return false;
}

/* Runs on one CPU, with all others stopped. */
static int stopped(void *data)
{
	struct attempt *attempt = data;
	u64 begin = local_clock();
	bool busy = anybody_in_the_way(attempt);

	attempt->took = div_u64(local_clock() - begin, NSEC_PER_MSEC);
	if (busy)
		return -EAGAIN;
	if (attempt->gate)
		WRITE_ONCE(*attempt->gate, attempt->value);

	return 0;
}

static int fail(const struct attempt *attempt, const struct fhook_looks *looks,
		struct fhook_report *report)
{
	unsigned int tries = looks->num + 1;

	if (!attempt->addr)
		return fhook_fail(report, FHOOK_ERR_TASK, -EBUSY, 0,
				  "the stack of task %s (%d) cannot be unwound reliably, so it may be in a function of the patch, at the last of %u tries",
				  attempt->comm, attempt->pid, tries);

	return fhook_fail(report, FHOOK_ERR_TASK, -EBUSY, attempt->addr,
			  "task %s (%d) is in %ps, at the last of %u tries",
			  attempt->comm, attempt->pid, (void *)attempt->addr,
			  tries);
}

/**
 * fhook_switch_consistently() - write a gate if no task is in given functions
 * @looks: looks since the first try, with the functions
 * @gate: the gate
 * @value: the value
 * @report: report of the error
 *
 * Return: 0, or -EBUSY if a task is inside; fhook_look_again() then waits.
 */
int fhook_switch_consistently(struct fhook_looks *looks, u32 *gate, u32 value,
			      struct fhook_report *report)
{
	struct attempt attempt = {
		.ranges	= looks->ranges,
		.gate	= gate,
		.value	= value,
	};

	lockdep_assert_held(&fhook_mutex);
	if (!stop_machine(stopped, &attempt, NULL))
		return 0;

	looks->took = attempt.took;

	return fail(&attempt, looks, report);
}

/* A user may have very many tasks, and keep one of them inside. */
static unsigned int pause_after(const struct attempt *attempt, unsigned int wait)
{
	return max(wait, PAUSE_FACTOR * attempt->took);
}

static bool nobody_left(struct fhook_looks *looks, struct fhook_report *report)
{
	struct attempt attempt = {
		.ranges	= looks->ranges,
		.took	= looks->took,
	};
	unsigned int pause;

	/* The failed try counts as the first look. */
	while (++looks->num < TRIES) {
		if (looks->waited >= TRIES_MS)
			return false;
		pause = min(pause_after(&attempt, WAIT_MS), TRIES_MS - looks->waited);
		msleep(pause);
		looks->waited += pause;
		if (!stop_machine(stopped, &attempt, NULL))
			return true;
		fail(&attempt, looks, report);
	}

	return false;
}

/**
 * fhook_look_again() - wait until a consistent switch can be tried again
 * @looks: looks since the first try, with the functions, which are freed
 * @err: error of the last try
 * @report: report of that error; afterwards it names the task that was inside at the
 *	last look
 *
 * Needs no lock, because the functions are as they were before the try. If a module with
 * one of them is unloaded meanwhile, the next try notices.
 *
 * Return: true if the switch is to be tried again.
 */
bool fhook_look_again(struct fhook_looks *looks, int err,
		      struct fhook_report *report)
{
	bool again = err == -EBUSY && report->error == FHOOK_ERR_TASK &&
		     nobody_left(looks, report);

	lockdep_assert_not_held(&fhook_mutex);
	kfree(looks->ranges);
	looks->ranges = NULL;

	return again;
}

/**
 * fhook_wait_until_left() - wait until no task is in given functions
 * @ranges: the functions, which no task enters any more
 * @name: name of the owner of the functions, for the log
 */
void fhook_wait_until_left(const struct fhook_ranges *ranges, const char *name)
{
	struct attempt attempt = { .ranges = ranges };
	unsigned int wait = WAIT_MS, waited = 0, pause;

	while (stop_machine(stopped, &attempt, NULL)) {
		pause = pause_after(&attempt, wait);
		msleep(pause);
		waited += pause;
		wait = min(2 * wait, MAX_WAIT_MS);
		if (waited < PATIENCE_MS)
			continue;
		waited = 0;
		if (attempt.addr)
			pr_info("%s: waiting for task %s (%d) to leave %ps\n",
				name, attempt.comm, attempt.pid,
				(void *)attempt.addr);
		else
			pr_info("%s: waiting for task %s (%d), which is %s, and may be in a replacement, because its stack cannot be unwound reliably\n",
				name, attempt.comm, attempt.pid,
				attempt.asleep ? "asleep" : "running");
	}
}
