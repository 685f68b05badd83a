// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: finding the thread of a record.
 *
 * A record identifies its thread by the value of the register for thread-local storage.
 * The thread is looked for among the threads of the process, and the process among all
 * processes if it is not known yet. Each reading does this once, and limits the number of
 * threads examined, so that a program with forged values does not delay others.
 */
#include <linux/hash.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/uhook.h>
#include <linux/uhook_hooks.h>

#include "rings.h"

/*
 * Maximum number of threads examined in one reading: a program can forge any number of
 * values, and others wait for the reading.
 */
#define MAX_LOOKS	8192

/* Whether a thread of a process uses the address space. Under RCU. */
static bool uses_mm(struct uhook_mm *um, struct task_struct *leader)
{
	struct task_struct *task;

	lockdep_assert_in_rcu_read_lock();
	for_each_thread(leader, task) {
		if (READ_ONCE(task->mm) == um->mm)
			return true;
		if (um->looks++ >= MAX_LOOKS)
			break;
	}

	return false;
}

/*
 * A process that uses the address space. There may be any number of processes, so this
 * may return 0, and the next reading continues the search where this one stopped.
 */
static pid_t any_process_of(struct uhook_mm *um)
{
	struct task_struct *leader;
	pid_t tgid = 0;
	struct pid *pid;

	rcu_read_lock();
	while (!tgid && um->looks++ < MAX_LOOKS) {
		pid = find_ge_pid(um->look_from, &init_pid_ns);
		if (!pid) {
			um->look_from = 1;
			break;
		}
		um->look_from = pid_nr(pid) + 1;
		leader = pid_task(pid, PIDTYPE_TGID);
		/* A kernel thread may use the address space temporarily. */
		if (leader && !(leader->flags & PF_KTHREAD) && uses_mm(um, leader))
			tgid = pid_nr(pid);
	}
	rcu_read_unlock();

	return tgid;
}

/* Whether the process that was found earlier still uses the address space. */
static bool is_process_of(struct uhook_mm *um)
{
	struct task_struct *leader;
	bool is;

	rcu_read_lock();
	leader = find_task_by_pid_ns(um->tgid, &init_pid_ns);
	is = leader && uses_mm(um, leader);
	rcu_read_unlock();

	return is;
}

/*
 * The process of a child is known only after the fork, and after vfork() it may change. A
 * process that has exited, or has executed another program, is not found by its address space,
 * which others may use for a while.
 */
static void find_process(struct uhook_mm *um)
{
	pid_t tgid = 0;

	if (um->looked)
		return;

	um->looked = true;
	if (atomic_read(&um->mm->mm_users)) {
		if (um->tgid && is_process_of(um))
			return;
		tgid = any_process_of(um);
	}
	/* Pairs with uhook_leave_mm(): a process that is not found any more is remembered. */
	smp_rmb();
	tgid = tgid ?: READ_ONCE(um->left);
	um->tgid = tgid ?: um->tgid;
}

/* The thread with this value in its register; 0 if there is none, or the limit was reached. */
static pid_t find_thread(struct uhook_mm *um, unsigned long thread)
{
	struct task_struct *leader, *task;
	pid_t pid = 0;

	rcu_read_lock();
	leader = find_task_by_pid_ns(um->tgid, &init_pid_ns);
	if (leader) {
		for_each_thread(leader, task) {
			if (um->looks++ >= MAX_LOOKS)
				break;
			if (uhook_thread_of(task) == thread) {
				pid = task_pid_nr(task);
				break;
			}
		}
	}
	rcu_read_unlock();

	return pid;
}

/**
 * uhook_leave_mm - remember the process of a task that leaves its address space
 * @task: current, which exits or executes a program
 *
 * Records that have not been read yet are those of this process. A child of vfork() is not
 * remembered, because its parent continues in the address space.
 *
 * Context: task.
 */
void uhook_leave_mm(struct task_struct *task)
{
	struct uhook_mm *um = task->mm ? uhook_mm_of(task->mm) : NULL;

	if (!um || in_vfork(task))
		return;

	WRITE_ONCE(um->left, task_tgid_nr(task));
	/* Pairs with find_process(): afterwards, task->mm changes. */
	smp_wmb();
}

/**
 * uhook_begin_reading - start a reading, which invalidates the cache of threads
 * @um: state of the address space
 *
 * Context: task, with &uhook_mm.counts held.
 */
void uhook_begin_reading(struct uhook_mm *um)
{
	lockdep_assert_held(&um->counts);
	um->reading++;
	um->looks = 0;
	um->looked = false;
}

/**
 * uhook_say_who - find the thread and the process of a record
 * @um: state of the address space
 * @thread: thread-local storage register of the thread, according to the program
 * @record: receives their PIDs, or 0
 *
 * Results are cached for one reading, in which a program with forged values gets few
 * guesses.
 *
 * Context: task, with &uhook_mm.counts held.
 */
void uhook_say_who(struct uhook_mm *um, unsigned long thread, struct uhook_record *record)
{
	struct uhook_who *who = &um->who[hash_long(thread, UHOOK_WHO_BITS)];

	lockdep_assert_held(&um->counts);
	find_process(um);
	if (who->reading != um->reading || who->thread != thread) {
		who->pid = find_thread(um, thread);
		who->reading = um->reading;
		who->thread = thread;
	}

	record->pid = who->pid;
	record->tgid = um->tgid;
}
