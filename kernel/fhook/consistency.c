// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: switching a whole patch while no task is inside its functions.
 *
 * All CPUs are stopped, and the stack of every task is unwound. If no task is inside,
 * a word is written that trampolines look at, which switches all functions of a
 * patch at once. Otherwise the CPUs go on, and fhook looks again a little later.
 *
 * A stack that cannot be unwound reliably is in the way, as it is for livepatch: a
 * task can be inside a function without any word on its stack that says so, because
 * a kprobe's slot or detour holds copies of the function's instructions. Preempted
 * tasks leave such places by themselves. What sleeps has called something, and calls
 * made by BPF code are unwound reliably (arch/x86/kernel/unwind_orc.c), so that no
 * sleeping task is in the way for ever.
 *
 * Not seen are NMIs that interrupt a stopped CPU, and tasks in do_exit() that are no
 * longer on the task list.
 *
 * klp_try_complete_transition() is the mainline counterpart, which switches task by
 * task, and needs both versions to be right meanwhile.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/delay.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/stacktrace.h>
#include <linux/stop_machine.h>
#include <linux/string.h>

#include "consistency.h"
#include "function.h"
#include "report.h"

#define TRIES		20
#define WAIT_MS		25

/* To wait without end, look less and less often, and say so now and then. */
#define MAX_WAIT_MS	1000
#define PATIENCE_MS	10000

#define MAX_ENTRIES	256

/**
 * struct attempt - what one stop of all CPUs is for
 * @ranges: functions that no task is to be in
 * @gate: what to write if none is, or NULL
 * @value: the value
 * @comm: of the task that is in the way
 * @pid: of that task
 * @addr: address inside a function, from its stack; 0 if that cannot be unwound
 *	reliably
 */
struct attempt {
	const struct fhook_ranges *ranges;
	u32			*gate;
	u32			value;
	char			comm[TASK_COMM_LEN];
	pid_t			pid;
	unsigned long		addr;
};

/* Only used with all other CPUs stopped. */
static unsigned long entries[MAX_ENTRIES];

static bool in_the_way(struct attempt *attempt, struct task_struct *task)
{
	int i, num;

	/* What stops the CPUs is in none of these functions. */
	if (task_curr(task))
		return false;

	attempt->addr = 0;
	num = stack_trace_save_tsk_reliable(task, entries, MAX_ENTRIES);
	for (i = 0; i < num && !attempt->addr; i++) {
		if (fhook_in_ranges(attempt->ranges, entries[i]))
			attempt->addr = entries[i];
	}
	if (num >= 0 && !attempt->addr)
		return false;

	/* Not get_task_comm(): a task that was stopped may have the lock. */
	strscpy(attempt->comm, task->comm);
	attempt->pid = task_pid_nr(task);

	return true;
}

static bool anybody_in_the_way(struct attempt *attempt)
{
	struct task_struct *leader, *task;
	unsigned int cpu;

	for_each_process_thread(leader, task) {
		if (in_the_way(attempt, task))
			return true;
	}
	for_each_online_cpu(cpu) {
		if (in_the_way(attempt, idle_task(cpu)))
			return true;
	}

	return false;
}

/* On one CPU, with all others stopped. */
static int stopped(void *data)
{
	struct attempt *attempt = data;

	if (anybody_in_the_way(attempt))
		return -EAGAIN;
	if (attempt->gate)
		WRITE_ONCE(*attempt->gate, attempt->value);

	return 0;
}

/**
 * fhook_switch_consistently() - write a word when no task is in given functions
 * @ranges: the functions
 * @gate: the word
 * @value: the value
 * @report: says what went wrong
 *
 * Return: 0, or -EBUSY if there was always one.
 */
int fhook_switch_consistently(const struct fhook_ranges *ranges, u32 *gate, u32 value,
			      struct fhook_report *report)
{
	struct attempt attempt = {
		.ranges	= ranges,
		.gate	= gate,
		.value	= value,
	};
	int i;

	for (i = 0; i < TRIES; i++) {
		if (!stop_machine(stopped, &attempt, NULL))
			return 0;
		msleep(WAIT_MS);
	}

	if (!attempt.addr)
		return fhook_fail(report, FHOOK_ERR_TASK, -EBUSY, 0,
				  "the stack of task %s (%d) cannot be unwound reliably, so it may be in a function of the patch, at the last of %u looks",
				  attempt.comm, attempt.pid, TRIES);

	return fhook_fail(report, FHOOK_ERR_TASK, -EBUSY, attempt.addr,
			  "task %s (%d) is in %ps, at the last of %u looks",
			  attempt.comm, attempt.pid, (void *)attempt.addr,
			  TRIES);
}

/**
 * fhook_wait_until_left() - wait until no task is in given functions
 * @ranges: the functions, which nobody enters any more
 * @name: of what they belong to, for the log
 */
void fhook_wait_until_left(const struct fhook_ranges *ranges, const char *name)
{
	struct attempt attempt = { .ranges = ranges };
	unsigned int wait = WAIT_MS, waited = 0;

	while (stop_machine(stopped, &attempt, NULL)) {
		msleep(wait);
		waited += wait;
		wait = min(2 * wait, MAX_WAIT_MS);
		if (waited < PATIENCE_MS)
			continue;
		waited = 0;
		if (attempt.addr)
			pr_info("%s: waiting for task %s (%d) to leave %ps\n",
				name, attempt.comm, attempt.pid,
				(void *)attempt.addr);
		else
			pr_info("%s: waiting for task %s (%d), whose stack cannot be unwound reliably, so that it may be in a replacement\n",
				name, attempt.comm, attempt.pid);
	}
}
