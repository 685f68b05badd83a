// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the shadow stacks of tasks.
 *
 * No task has a stack until the first exit is registered. Then each existing task gets
 * one, and each new task when it is forked, until no exit is registered any more; a stack
 * is freed with its task. It is not an error if a task has no stack for lack of memory:
 * its calls count as missed.
 *
 * A task gets its stack once, by cmpxchg: the first registration may find the task at
 * the same moment as the task, during its fork, allocates a stack itself. The task does
 * not run before it has checked.
 */
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "core.h"
#include "frame.h"
#include "report.h"

/* Number of registered exits, written under fhook_mutex, before the tasks are walked. */
static unsigned int num_exits;
/* Whether a forked task got no stack for lack of memory. */
static bool stacks_short;

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

/* The number of tasks without a stack, and at most the idle tasks. */
static unsigned int count_tasks(void)
{
	unsigned int num = num_possible_cpus();
	struct task_struct *leader, *task;

	guard(rcu)();
	for_each_process_thread(leader, task)
		num += !READ_ONCE(task->fhook_stack);

	return num;
}

/* In advance, because the walk over the tasks must not sleep. */
static unsigned int alloc_stacks(struct fhook_stack **stacks, unsigned int max)
{
	unsigned int num;

	for (num = 0; num < max; num++) {
		stacks[num] = stack_alloc(GFP_KERNEL);
		if (!stacks[num])
			break;
	}

	return num;
}

/* Return: whether the stack was needed. */
static bool stack_give(struct task_struct *task, struct fhook_stack *stack)
{
	return !READ_ONCE(task->fhook_stack) &&
	       !cmpxchg(&task->fhook_stack, NULL, stack);
}

/* Return: the number of stacks that are left in @stacks. */
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
 * fhook_stacks_put() - undo fhook_stacks_want(), when an exit is not registered any more
 *
 * Tasks keep the stacks that they have: calls may still have to return.
 */
void fhook_stacks_put(void)
{
	lockdep_assert_held(&fhook_mutex);
	WRITE_ONCE(num_exits, num_exits - 1);
}

/**
 * fhook_stacks_want() - allocate a shadow stack for each task, before an exit is registered
 * @report: report of the error
 *
 * Under fhook_mutex. A task that is being forked at the same time allocates its own; if
 * that failed, the next call allocates it. What is allocated here is not charged to any
 * memory cgroup.
 *
 * Return: 0, to be followed by fhook_stacks_put(), or -ENOMEM; the stacks allocated so far
 * stay.
 */
int fhook_stacks_want(struct fhook_report *report)
{
	struct fhook_stack **stacks;
	bool first = !num_exits;
	unsigned int max, num, left;
	bool enough;

	lockdep_assert_held(&fhook_mutex);
	WRITE_ONCE(num_exits, num_exits + 1);
	if (!first && !READ_ONCE(stacks_short))
		return 0;

	WRITE_ONCE(stacks_short, false);
	/* Pairs with the barrier in fhook_fork(). */
	smp_mb();

	do {
		max = count_tasks() + 1;
		stacks = kvmalloc_array(max, sizeof(*stacks), GFP_KERNEL);
		num = stacks ? alloc_stacks(stacks, max) : 0;
		left = give_to_tasks(stacks, num);
		left = give_to_idle_tasks(stacks, left);
		/* If stacks are left over, no task lacks one. */
		enough = left;
		while (left)
			kfree(stacks[--left]);
		kvfree(stacks);
	} while (num == max && !enough);

	if (enough)
		return 0;

	/*
	 * Earlier users already accept that some tasks have no stack, so this one may,
	 * too.
	 */
	if (!first) {
		WRITE_ONCE(stacks_short, true);
		return 0;
	}
	fhook_stacks_put();

	return fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
			  "no memory for the shadow stacks of all tasks");
}

/**
 * fhook_fork() - allocate the shadow stack of a new task
 * @task: a forked task, which is on the process list and does not run yet
 */
void fhook_fork(struct task_struct *task)
{
	struct fhook_stack *stack;

	/*
	 * Either the walk over the tasks finds this one, or this one sees
	 * num_exits.
	 */
	smp_mb();
	if (!READ_ONCE(num_exits))
		return;

	stack = stack_alloc(GFP_KERNEL_ACCOUNT);
	if (!stack)
		WRITE_ONCE(stacks_short, true);
	else if (!stack_give(task, stack))
		kfree(stack);
}

/**
 * fhook_task_restart() - reset the shadow stack of an idle task that restarts
 * @task: current, on a CPU that comes online
 *
 * The CPU itself drops the frames from the time when it went offline, before it calls
 * any function that can be hooked. Other CPUs cannot do this, because they learn that
 * the CPU goes offline while it still returns from these functions.
 */
void fhook_task_restart(struct task_struct *task)
{
	if (task->fhook_stack)
		fhook_frames_drop(task->fhook_stack);
}

/**
 * fhook_task_free() - free the shadow stack of a task
 * @task: the task
 */
void fhook_task_free(struct task_struct *task)
{
	if (!task->fhook_stack)
		return;

	fhook_frames_drop(task->fhook_stack);
	kfree(task->fhook_stack);
}
