// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: which thread has recorded.
 *
 * A record tells its thread by what the processor has for thread-local storage. Whose that
 * is has to be looked for, among the threads of the process, and the process among all if
 * it is not known: once in a reading, and at so many that a program which makes threads up
 * does not keep others waiting.
 */
#include <linux/hash.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uhook.h>

#include "rings.h"

/*
 * At how many threads one reading looks: a program can make up any number of them, and
 * others wait for the reading.
 */
#define MAX_LOOKS	8192

/* Does a thread of a process use the address space? Under RCU. */
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
 * A process that uses the address space; or 0, and the next reading goes on from where this
 * one has come to: there may be any number of processes.
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
		if (leader && uses_mm(um, leader))
			tgid = pid_nr(pid);
	}
	rcu_read_unlock();

	return tgid;
}

/* Does the process, which was found some time ago, still use the address space? */
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
 * The process is known to a child only once it is there, and to one that ends; and
 * it may be another one later, when it was a vfork()'s.
 */
static void find_process(struct uhook_mm *um)
{
	if (um->looked)
		return;

	um->looked = true;
	/* It is current that has used it last, and has another one by now, or none. */
	if ((current->flags & PF_EXITING && !current->mm) ||
	    (current->in_execve && !atomic_read(&um->mm->mm_users))) {
		um->tgid = task_tgid_nr(current);
		return;
	}
	if (!um->tgid || !is_process_of(um))
		um->tgid = any_process_of(um) ?: um->tgid;
}

/* The thread with that in its register; 0 if there is none, or nobody looks any more. */
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
 * uhook_begin_reading - what was found of threads may be old by now
 * @um: of the address space
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
 * @um: of the address space
 * @thread: what the thread has for thread-local storage, as the program says
 * @record: receives their numbers, or 0
 *
 * What is found is kept for the time of one reading, in which a program that has
 * made it up does not have many guesses.
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
