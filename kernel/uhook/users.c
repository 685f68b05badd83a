// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the tasks that run in an address space, and their CPUs.
 *
 * They are current's threads, nearly always: so many as use the address space. When more
 * do, of which some only look, it may be that of processes that share it (vfork(),
 * CLONE_VM): only then are others looked for, a thread or two of each process.
 */
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include "users.h"

/* Of one process; returns how many there are. */
static int visit_threads(struct task_struct *process, struct mm_struct *mm, uhook_user_fn *fn,
			 void *data)
{
	struct task_struct *task;
	int nr = 0;

	for_each_thread(process, task) {
		struct mm_struct *other = READ_ONCE(task->mm);

		/* All that have one have the same; those that end have none. */
		if (other && other != mm)
			break;
		if (!other)
			continue;
		fn(task, data);
		nr++;
	}

	return nr;
}

/**
 * uhook_visit_users - visit each task that runs in current's address space
 * @fn: called for each of them, under RCU
 * @data: passed to @fn
 *
 * A task that comes meanwhile comes from one that is there. Kernel threads that only use
 * the memory are left out.
 *
 * Context: task.
 */
void uhook_visit_users(uhook_user_fn *fn, void *data)
{
	struct mm_struct *mm = current->mm;
	struct task_struct *process;

	rcu_read_lock();
	if (visit_threads(current, mm, fn, data) < atomic_read(&mm->mm_users)) {
		for_each_process(process) {
			if (!(process->flags & PF_KTHREAD) && !same_thread_group(process, current))
				visit_threads(process, mm, fn, data);
		}
	}
	rcu_read_unlock();
}

static bool runs_in(int cpu, void *mm)
{
	return READ_ONCE(cpu_curr_snapshot(cpu)->mm) == mm;
}

/* To take the interrupt, and to return from it, is all that is wanted. */
static void take_interrupt(void *unused)
{
}

/**
 * uhook_sync_code - let all CPUs that run current's program fetch its code anew
 *
 * For code that was written where there was other code before, of which a CPU may have
 * fetched something, and before anything leads there.
 *
 * As membarrier() does for PRIVATE_EXPEDITED_SYNC_CORE, only CPUs are interrupted that run
 * a thread of the program. Any other thread comes to run by way of the scheduler, and into
 * the program by a return from an exception, which is a context synchronization event
 * (arm64) or serializes (x86). cpu_curr_snapshot() has the barriers: a thread that is not
 * seen there has yet to return to its program, and fetches then what is written now. One
 * that has moved to another CPU by the time of the interrupt has been through the scheduler
 * as well.
 *
 * Context: task; sleeps. With the mmap lock held, so that no jump is written meanwhile.
 */
void uhook_sync_code(void)
{
	mmap_assert_locked(current->mm);
	/* These processors see what was written when they come to it, without more. */
	if (IS_ENABLED(CONFIG_X86))
		return;

	on_each_cpu_cond(runs_in, take_interrupt, current->mm, true);
}
