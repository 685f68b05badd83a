// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: freeing memory that a CPU may still be executing.
 *
 * A task can be in a trampoline that no slot calls any more, preempted, or in a
 * place where RCU is not watching. So retired objects wait for both flavours of
 * RCU tasks: rude for the CPUs that are in a trampoline right now, regardless
 * of RCU's view of them (Linux 7.3 skips this wait where idle and entry code is noinstr),
 * then tasks for the tasks that were preempted there.
 *
 * Before that they wait for CPUs that are being started or stopped. Such a CPU executes
 * hooked functions while it is not online and RCU does not watch it, so no grace period
 * waits for it.
 *
 * One grace period serves all objects that were retired before it began. A work
 * item waits for it, because the callbacks of RCU tasks run with bottom halves
 * off, where executable memory cannot be freed. The mainline counterpart is
 * ftrace_shutdown(), which waits in the caller.
 *
 * retired_lock guards the lists; no other lock is taken inside.
 */
#include <linux/cpu.h>
#include <linux/fhook.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "retire.h"

/* Protects the lists. */
static DEFINE_MUTEX(retired_lock);
static LIST_HEAD(retired_queue);

/* Objects that are busy; they do not wait for a grace period yet. */
static LIST_HEAD(busy_list);

static bool is_busy(struct fhook_retired *retired)
{
	return retired->busy && retired->busy(retired);
}

/* Let objects that are no longer busy wait for a grace period. */
static bool queue_idle(void)
{
	struct fhook_retired *retired, *tmp;
	bool any = false;

	mutex_lock(&retired_lock);
	list_for_each_entry_safe(retired, tmp, &busy_list, list) {
		cond_resched();
		if (is_busy(retired))
			continue;
		list_move_tail(&retired->list, &retired_queue);
		any = true;
	}
	mutex_unlock(&retired_lock);

	return any;
}

/**
 * fhook_synchronize() - wait until no CPU is in a trampoline that no slot calls any more
 *
 * Not to be called with the lock of CPU hotplug held. May sleep.
 */
void fhook_synchronize(void)
{
	/*
	 * CPU hotplug holds the lock until the CPU is online, or has reported that it is dead.
	 * A few functions of x86 run after that; ftrace does not wait for them either.
	 */
	cpus_read_lock();
	cpus_read_unlock();
	synchronize_rcu_tasks_rude();
	synchronize_rcu_tasks();
}

static void retire_workfn(struct work_struct *work)
{
	struct fhook_retired *retired, *tmp;
	LIST_HEAD(batch);

	mutex_lock(&retired_lock);
	list_splice_init(&retired_queue, &batch);
	mutex_unlock(&retired_lock);

	if (list_empty(&batch))
		return;

	fhook_synchronize();

	list_for_each_entry_safe(retired, tmp, &batch, list)
		retired->free(retired);

	if (queue_idle())
		queue_work(system_dfl_wq, work);
}

static DECLARE_WORK(retire_work, retire_workfn);

/**
 * fhook_retire() - free an object when no CPU can be running in it
 * @retired: the object's queue entry; objects are freed in the order of their
 *	retirement, or of becoming idle
 * @busy: whether the object is still needed for another reason, or NULL; called with
 *	a mutex held; after it has returned false, it must not return true again
 * @free: called from a work item, without locks
 *
 * A busy object is checked again after each grace period for other objects. It may
 * stay busy forever, and nothing waits for it.
 */
void fhook_retire(struct fhook_retired *retired,
		  bool (*busy)(struct fhook_retired *retired),
		  void (*free)(struct fhook_retired *retired))
{
	retired->busy = busy;
	retired->free = free;

	mutex_lock(&retired_lock);
	list_add_tail(&retired->list,
		      is_busy(retired) ? &busy_list : &retired_queue);
	mutex_unlock(&retired_lock);

	queue_work(system_dfl_wq, &retire_work);
}

/**
 * fhook_retired_busy() - count the retired objects that are busy
 *
 * For tests.
 *
 * Return: the number.
 */
unsigned int fhook_retired_busy(void)
{
	unsigned int num;

	mutex_lock(&retired_lock);
	num = list_count_nodes(&busy_list);
	mutex_unlock(&retired_lock);

	return num;
}

/**
 * fhook_barrier() - wait until everything that was unregistered is out of use
 *
 * When it returns, the callbacks of every fhook_unregister_async() that was
 * called before have run, and their trampolines are free. A module that
 * unregisters asynchronously calls this before it is unloaded, as it would call
 * rcu_barrier(). May sleep; not to be called from such a callback, nor with the lock of
 * CPU hotplug held.
 */
void fhook_barrier(void)
{
	flush_work(&retire_work);
}
EXPORT_SYMBOL_GPL(fhook_barrier);
