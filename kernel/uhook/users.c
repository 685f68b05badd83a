// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the tasks that run in an address space, and their CPUs.
 *
 * Normally these are current's threads, as many as mm_users says. If there are more
 * users, some may only be accessing the memory, but there may be other processes that
 * share the address space (vfork(), CLONE_VM). Only then look for them, examining a
 * thread or two of each process.
 */
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include "users.h"

/* Visit the threads of a process, and return their number. */
static int visit_threads(struct task_struct *process, struct mm_struct *mm, uhook_user_fn *fn,
			 void *data)
{
	struct task_struct *task;
	int nr = 0;

	for_each_thread(process, task) {
		struct mm_struct *other = READ_ONCE(task->mm);

		/* All threads share one address space; exiting threads have none. */
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
 * @fn: called for each task, under RCU
 * @data: passed to @fn
 *
 * A task created meanwhile is the child of a visited one. Kernel threads that use the
 * address space temporarily are left out.
 *
 * Context: task.
 */
void uhook_visit_users(uhook_user_fn *fn, void *data)
{
	struct mm_struct *mm = current->mm;
	int users = atomic_read(&mm->mm_users);
	struct task_struct *process;

	rcu_read_lock();
	/* A visited thread may have ended meanwhile, or one that was not counted begun. */
	if (visit_threads(current, mm, fn, data) < users || atomic_read(&mm->mm_users) != users) {
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

/* Taking the interrupt and returning from it is sufficient. */
static void take_interrupt(void *unused)
{
}

/**
 * uhook_sync_code - make all CPUs that run current's program fetch its code again
 *
 * For code written over other code that a CPU may have fetched. To be called before
 * anything leads to the new code.
 *
 * Like membarrier() with PRIVATE_EXPEDITED_SYNC_CORE, this interrupts only CPUs that run
 * a thread of the program. Any other thread passes through the scheduler before it runs,
 * and enters the program by a return from an exception, which is a context
 * synchronization event (arm64) or serializing (x86). cpu_curr_snapshot() has the
 * barriers: a thread that it does not see has yet to return to its program, and then
 * fetches the new code. A thread that has moved to another CPU by the time of the
 * interrupt has passed through the scheduler, too.
 *
 * Context: task; sleeps. With the mmap lock held, so that no jump is written meanwhile.
 */
void uhook_sync_code(void)
{
	mmap_assert_locked(current->mm);
	/* x86 CPUs execute newly written code without further synchronization. */
	if (IS_ENABLED(CONFIG_X86))
		return;

	on_each_cpu_cond(runs_in, take_interrupt, current->mm, true);
}
