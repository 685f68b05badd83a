// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: switching a whole patch while no task is inside its functions.
 *
 * All CPUs are stopped, and the stack of every task is unwound. Of one that cannot be
 * unwound without doubt, as beneath a trampoline of BPF, all words are looked at: none
 * of them leads to where the task is not to be, or it counts as being there. If nobody
 * is, a word is written that trampolines look at, and so all of a table is in force at once.
 * Otherwise the CPUs go on, and it is tried again a little later. What it does not
 * see are NMIs that happen at that moment, and tasks that are past the end of
 * their lists, in do_exit().
 *
 * klp_try_complete_transition() is the mainline counterpart, which takes task by
 * task to the new functions, and needs both to be right meanwhile.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/minmax.h>
#include <linux/rethook.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <linux/stop_machine.h>
#include <linux/string.h>

#include "internal.h"

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
 * @addr: where in which function it is
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

/* Where a task is inside, by what can be unwound without doubt; 0 if it is not. */
static unsigned long unwound_inside(const struct fhook_ranges *ranges, int num)
{
	int i;

	for (i = 0; i < num; i++) {
		if (fhook_in_ranges(ranges, entries[i]))
			return entries[i];
	}

	return 0;
}

#ifdef CONFIG_FUNCTION_GRAPH_TRACER
static unsigned long fgraph_inside(const struct fhook_ranges *ranges,
				   struct task_struct *task)
{
	struct ftrace_ret_stack *call;
	int i;

	for (i = 0; (call = ftrace_graph_get_ret_stack(task, i)); i++) {
		if (fhook_in_ranges(ranges, call->ret))
			return call->ret;
	}

	return 0;
}
#else
static unsigned long fgraph_inside(const struct fhook_ranges *ranges,
				   struct task_struct *task)
{
	return 0;
}
#endif

#ifdef CONFIG_RETHOOK
static unsigned long rethook_inside(const struct fhook_ranges *ranges,
				    struct task_struct *task)
{
	struct rethook_node *call;

	llist_for_each_entry(call, task->rethooks.first, llist) {
		if (fhook_in_ranges(ranges, call->ret_addr))
			return call->ret_addr;
	}

	return 0;
}
#else
static unsigned long rethook_inside(const struct fhook_ranges *ranges,
				    struct task_struct *task)
{
	return 0;
}
#endif

/* By all that is on the stack, and by those who keep what belongs there. */
static unsigned long maybe_inside(const struct fhook_ranges *ranges,
				  struct task_struct *task)
{
	unsigned long *word = (void *)fhook_arch_stack_pointer(task);
	unsigned long *end = task_stack_page(task) + THREAD_SIZE, addr;

	for (; word < end; word++) {
		addr = READ_ONCE_NOCHECK(*word);
		if (fhook_in_ranges(ranges, addr))
			return addr;
	}

	return fhook_frames_inside(task, ranges) ?:
	       fgraph_inside(ranges, task) ?: rethook_inside(ranges, task);
}

static bool in_the_way(struct attempt *attempt, struct task_struct *task)
{
	int num;

	/* What stops the CPUs is in none of these functions. */
	if (task_curr(task))
		return false;

	num = stack_trace_save_tsk_reliable(task, entries, MAX_ENTRIES);
	attempt->addr = num < 0 ? maybe_inside(attempt->ranges, task) :
				  unwound_inside(attempt->ranges, num);
	if (!attempt->addr)
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
		pr_info("%s: waiting for task %s (%d) to leave %ps\n", name,
			attempt.comm, attempt.pid, (void *)attempt.addr);
	}
}
