// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the shadow stacks of tasks.
 *
 * No task has one until the first exit is registered. Then each gets one, and
 * from then on each new one when it is forked; a stack goes with its task. That
 * a task has none, because memory was short, is no error: its calls count as
 * missed.
 *
 * A task gets its stack once, by cmpxchg: it may be found by the first
 * registration, and look for one itself, when it is being forked at that moment.
 * It does not run before it has looked.
 */
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "core.h"
#include "frame.h"
#include "report.h"

/* Written under fhook_mutex, before the tasks are looked at. */
static bool stacks_wanted;
/* A task was forked for whose stack there was no memory. */
static bool stacks_short;

/* Allocated ahead, for tasks are looked at where nobody may sleep. */
#define BATCH	32

static struct fhook_stack *stack_alloc(gfp_t gfp)
{
	struct fhook_stack *stack = kmalloc(FHOOK_STACK_SIZE, gfp);

	struct fhook_frame *none;

	if (!stack)
		return NULL;

	none = fhook_stack_end(stack);
	none->key = FHOOK_NO_KEY;
	none->size = 0;
	stack->top = none;

	return stack;
}

static unsigned int alloc_batch(struct fhook_stack **stacks)
{
	unsigned int num;

	for (num = 0; num < BATCH; num++) {
		stacks[num] = stack_alloc(GFP_KERNEL);
		if (!stacks[num])
			break;
	}

	return num;
}

/* Return: was it needed? */
static bool stack_give(struct task_struct *task, struct fhook_stack *stack)
{
	return !READ_ONCE(task->fhook_stack) &&
	       !cmpxchg(&task->fhook_stack, NULL, stack);
}

/* Return: how many of @stacks are left. */
static unsigned int give_to_tasks(struct fhook_stack **stacks, unsigned int num)
{
	struct task_struct *leader, *task;

	guard(rcu)();
	for_each_process_thread(leader, task) {
		if (!num)
			return 0;
		if (stack_give(task, stacks[num - 1]))
			num--;
	}

	return num;
}

static unsigned int give_to_idle_tasks(struct fhook_stack **stacks,
				       unsigned int num)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (!num)
			return 0;
		if (idle_task(cpu) && stack_give(idle_task(cpu),
						 stacks[num - 1]))
			num--;
	}

	return num;
}

/**
 * fhook_stacks_want() - see to it that each task has a shadow stack
 * @report: says what went wrong
 *
 * Under fhook_mutex. A task that is being forked meanwhile sees to it itself; one that
 * could not is given a stack when one is wanted the next time.
 *
 * Return: 0, or -ENOMEM; the stacks that could be had stay.
 */
int fhook_stacks_want(struct fhook_report *report)
{
	struct fhook_stack *stacks[BATCH];
	bool first = !stacks_wanted;
	unsigned int num, left;
	bool enough;

	lockdep_assert_held(&fhook_mutex);
	if (!first && !READ_ONCE(stacks_short))
		return 0;

	WRITE_ONCE(stacks_short, false);
	WRITE_ONCE(stacks_wanted, true);
	/* Pairs with that in fhook_fork(). */
	smp_mb();

	do {
		num = alloc_batch(stacks);
		left = give_to_tasks(stacks, num);
		left = give_to_idle_tasks(stacks, left);
		/* If some are left over, nobody lacks one. */
		enough = left;
		while (left)
			kfree(stacks[--left]);
	} while (num == BATCH && !enough);

	if (enough)
		return 0;

	/* Those who have it already may do without some tasks, and so may this one. */
	if (!first) {
		WRITE_ONCE(stacks_short, true);
		return 0;
	}
	WRITE_ONCE(stacks_wanted, false);

	return fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
			  "no memory for the shadow stacks of all tasks");
}

/**
 * fhook_fork() - a task has been forked, and does not run yet
 * @task: the task, which the process list has
 */
void fhook_fork(struct task_struct *task)
{
	struct fhook_stack *stack;

	/* Either it is found by who wants stacks, or it finds that out. */
	smp_mb();
	if (!READ_ONCE(stacks_wanted))
		return;

	stack = stack_alloc(GFP_KERNEL_ACCOUNT);
	if (!stack)
		WRITE_ONCE(stacks_short, true);
	else if (!stack_give(task, stack))
		kfree(stack);
}

/**
 * fhook_task_restart() - an idle task begins at its beginning again
 * @task: current, on a CPU that comes back
 *
 * What it was in when the CPU went away is forgotten by the CPU itself, before it calls
 * anything that can be hooked: the others learn that it goes while it still returns
 * from there.
 */
void fhook_task_restart(struct task_struct *task)
{
	if (task->fhook_stack)
		fhook_frames_drop(task->fhook_stack);
}

/**
 * fhook_task_free() - a task is being freed
 * @task: the task
 */
void fhook_task_free(struct task_struct *task)
{
	if (!task->fhook_stack)
		return;

	fhook_frames_drop(task->fhook_stack);
	kfree(task->fhook_stack);
}
