// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: finding the thread of a record.
 *
 * A record identifies its thread by the value of the register for thread-local storage.
 * The thread is looked for in a list of the threads of the process, and the process among all
 * processes if it is not the one that is known. Each reading does this anew, and limits the
 * number of threads examined, so that a program with forged values does not delay others.
 */
#include <linux/bsearch.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timekeeping.h>
#include <linux/uhook.h>
#include <linux/uhook_hooks.h>

#include "rings.h"

/*
 * Maximum number of threads examined in one reading: a program can forge any number of
 * values, and others wait for the reading.
 */
#define MAX_LOOKS	8192

/* Whether a process uses the address space: threads that use any use the same. Under RCU. */
static bool uses_mm(struct uhook_mm *um, struct task_struct *leader)
{
	struct task_struct *task;
	struct mm_struct *mm;

	lockdep_assert_in_rcu_read_lock();
	for_each_thread(leader, task) {
		mm = READ_ONCE(task->mm);
		if (mm || um->looks++ >= MAX_LOOKS)
			return mm == um->mm;
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
	bool again = false;
	pid_t tgid = 0;
	struct pid *pid;

	rcu_read_lock();
	while (!tgid && um->looks++ < MAX_LOOKS) {
		pid = find_ge_pid(um->look_from, &init_pid_ns);
		if (!pid && again)
			break;
		um->look_from = pid ? pid_nr(pid) + 1 : 1;
		again |= !pid;
		leader = pid ? pid_task(pid, PIDTYPE_TGID) : NULL;
		/* A kernel thread may use the address space temporarily. */
		if (leader && !(leader->flags & PF_KTHREAD) && uses_mm(um, leader))
			tgid = pid_nr(pid);
	}
	rcu_read_unlock();

	return tgid;
}

/* Whether this process uses the address space. */
static bool is_process_of(struct uhook_mm *um, pid_t tgid)
{
	struct task_struct *leader;
	bool is;

	rcu_read_lock();
	leader = find_task_by_pid_ns(tgid, &init_pid_ns);
	is = leader && uses_mm(um, leader);
	rcu_read_unlock();

	return is;
}

/* Remember that this process has used the address space until now. */
static void know_process(struct uhook_mm *um, pid_t tgid)
{
	WRITE_ONCE(um->known, ktime_get_boottime_ns());
	/* Pairs with find_process(), which reads the number first. */
	smp_store_release(&um->last, tgid);
}

/* Whether another process has got the number since. */
static bool is_reused(const struct uhook_mm *um, pid_t tgid)
{
	struct task_struct *leader;
	bool reused;

	rcu_read_lock();
	leader = find_task_by_pid_ns(tgid, &init_pid_ns);
	reused = leader && leader->start_boottime > READ_ONCE(um->known);
	rcu_read_unlock();

	return reused;
}

/*
 * The process of a child is known only after the fork, and after vfork() it may change. A
 * process that has exited, or has executed another program, is not found by its address space,
 * which others may use for a while: also to write records, when the number is another's.
 */
static void find_process(struct uhook_mm *um)
{
	pid_t tgid = 0;

	if (atomic_read(&um->mm->mm_users)) {
		if (is_process_of(um, um->tgid))
			return;
		tgid = READ_ONCE(um->last);
		if (!is_process_of(um, tgid))
			tgid = any_process_of(um);
	}
	/* Pairs with uhook_leave_mm(): a process that is not found any more is remembered. */
	smp_rmb();
	if (!tgid) {
		/* Pairs with know_process(): @known is at least as new. */
		tgid = smp_load_acquire(&um->last) ?: um->tgid;
		if (is_reused(um, tgid))
			tgid = 0;
	}
	um->tgid = tgid;
}

static int by_reg(const void *left, const void *right)
{
	const struct uhook_thread *a = left, *b = right;

	return a->reg < b->reg ? -1 : a->reg > b->reg;
}

/*
 * Make room for the threads that the process has now. Do not reclaim memory for it: readers of
 * the counts, and a process that exits, wait for &uhook_mm.counts.
 */
static void make_room(struct uhook_mm *um)
{
	struct task_struct *leader;
	struct uhook_thread *threads;
	unsigned int nr;

	lockdep_assert_held(&um->counts);
	rcu_read_lock();
	leader = find_task_by_pid_ns(um->tgid, &init_pid_ns);
	nr = leader ? min_t(unsigned int, get_nr_threads(leader), MAX_LOOKS) : 0;
	rcu_read_unlock();
	if (nr <= um->max_threads)
		return;

	threads = kmalloc_array(nr, sizeof(*threads), GFP_NOWAIT | __GFP_NOWARN);
	if (!threads)
		return;
	kfree(um->threads);
	um->threads = threads;
	um->max_threads = nr;
}

/*
 * List the threads of the process, up to the room and to MAX_LOOKS. Skip kernel workers, which
 * inherit the register of the thread that created them, and dead threads, whose memory and
 * register value a new thread may have taken over.
 */
static void list_threads(struct uhook_mm *um)
{
	struct task_struct *leader, *task;
	unsigned int nr = 0;

	make_room(um);
	rcu_read_lock();
	leader = find_task_by_pid_ns(um->tgid, &init_pid_ns);
	if (leader) {
		for_each_thread(leader, task) {
			if (nr == um->max_threads || um->looks++ >= MAX_LOOKS)
				break;
			if (task->flags & PF_USER_WORKER || task->exit_state)
				continue;
			um->threads[nr].reg = uhook_thread_of(task);
			um->threads[nr++].pid = task_pid_nr(task);
		}
	}
	rcu_read_unlock();
	sort(um->threads, nr, sizeof(*um->threads), by_reg, NULL);
	um->nr_threads = nr;
}

/* The PID of the listed thread with this value in its register, or 0 */
static pid_t find_thread(struct uhook_mm *um, unsigned long thread)
{
	const struct uhook_thread key = { .reg = thread }, *found;

	found = bsearch(&key, um->threads, um->nr_threads, sizeof(key), by_reg);

	return found ? found->pid : 0;
}

/**
 * uhook_begin_process - remember the process for which a fork has created its address space
 * @task: the child, which does not run yet
 *
 * Its PID was not known when the address space was copied.
 *
 * Context: task.
 */
void uhook_begin_process(struct task_struct *task)
{
	struct uhook_mm *um = NULL;

	if (task->mm && task->mm != current->mm)
		um = uhook_mm_of(task->mm);
	if (um)
		know_process(um, task_tgid_nr(task));
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

	know_process(um, task_tgid_nr(task));
	/* Pairs with find_process(): afterwards, task->mm changes. */
	smp_wmb();
}

/**
 * uhook_begin_reading - start a reading, which looks for the process and its threads anew
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
 * uhook_end_reading - free what a reading has allocated
 * @um: state of the address space
 *
 * Another reading that has begun meanwhile lists the threads again.
 *
 * Context: task, with &uhook_mm.counts held.
 */
void uhook_end_reading(struct uhook_mm *um)
{
	lockdep_assert_held(&um->counts);
	kfree(um->threads);
	um->threads = NULL;
	um->nr_threads = 0;
	um->max_threads = 0;
}

/**
 * uhook_say_who - find the thread and the process of a record
 * @um: state of the address space
 * @thread: thread-local storage register of the thread, according to the program
 * @record: receives their PIDs, or 0
 *
 * Threads that have been created since the last list of this reading are listed, too, as long
 * as enough of them may be examined. A program with forged values soon uses that up.
 *
 * Context: task, with &uhook_mm.counts held.
 */
void uhook_say_who(struct uhook_mm *um, unsigned long thread, struct uhook_record *record)
{
	lockdep_assert_held(&um->counts);
	if (!um->looked) {
		um->looked = true;
		find_process(um);
		list_threads(um);
	}
	record->tgid = um->tgid;
	record->pid = find_thread(um, thread);
	if (!record->pid && um->looks + um->nr_threads < MAX_LOOKS) {
		list_threads(um);
		record->pid = find_thread(um, thread);
	}
}
