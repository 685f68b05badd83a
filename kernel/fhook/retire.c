// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: freeing what a CPU may still be running in.
 *
 * A task can be in a trampoline that no slot calls any more, preempted, or in
 * a place where RCU is not watching. So what is retired waits for both flavours
 * of RCU tasks: rude for the CPUs that are in a trampoline right now, whatever
 * RCU thinks of them, then tasks for those that were preempted there. One grace
 * period serves all that was retired before it began. It is waited for in a
 * work item, because the callbacks of RCU tasks run with bottom halves off,
 * where executable memory cannot be freed. ftrace_shutdown() is the mainline
 * counterpart, which waits in the caller.
 *
 * retired_lock guards the lists; no other lock is taken inside.
 */
#include <linux/fhook.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "retire.h"

static DEFINE_SPINLOCK(retired_lock);
static LIST_HEAD(retired_queue);

/* Waits until it is no longer busy, before it waits for a grace period. */
static LIST_HEAD(busy_list);

static bool is_busy(struct fhook_retired *retired)
{
	return retired->busy && retired->busy(retired);
}

/* Something may be idle now that was busy before. */
static bool queue_idle(void)
{
	struct fhook_retired *retired, *tmp;
	bool any = false;

	guard(spinlock)(&retired_lock);
	list_for_each_entry_safe(retired, tmp, &busy_list, list) {
		if (is_busy(retired))
			continue;
		list_move_tail(&retired->list, &retired_queue);
		any = true;
	}

	return any;
}

static void retire_workfn(struct work_struct *work)
{
	struct fhook_retired *retired, *tmp;
	LIST_HEAD(batch);

	spin_lock(&retired_lock);
	list_splice_init(&retired_queue, &batch);
	spin_unlock(&retired_lock);

	if (list_empty(&batch))
		return;

	synchronize_rcu_tasks_rude();
	synchronize_rcu_tasks();

	list_for_each_entry_safe(retired, tmp, &batch, list)
		retired->free(retired);

	if (queue_idle())
		queue_work(system_unbound_wq, work);
}

static DECLARE_WORK(retire_work, retire_workfn);

/**
 * fhook_retire() - free something when nothing can be running in it
 * @retired: names it; what was retired first is freed first, unless it is busy
 * @busy: whether a caller of another kind still needs it, or NULL; called with a
 *	spinlock held, and once it has returned false it always does
 * @free: called from a work item, without locks
 *
 * Something busy is looked at again after the grace periods of others: it may stay
 * for ever, and nobody waits for it.
 */
void fhook_retire(struct fhook_retired *retired,
		  bool (*busy)(struct fhook_retired *retired),
		  void (*free)(struct fhook_retired *retired))
{
	retired->busy = busy;
	retired->free = free;

	scoped_guard(spinlock, &retired_lock)
		list_add_tail(&retired->list,
			      is_busy(retired) ? &busy_list : &retired_queue);

	queue_work(system_unbound_wq, &retire_work);
}

/**
 * fhook_retired_busy() - how many retired objects are busy
 *
 * For tests.
 *
 * Return: the number.
 */
unsigned int fhook_retired_busy(void)
{
	guard(spinlock)(&retired_lock);

	return list_count_nodes(&busy_list);
}

/**
 * fhook_barrier() - wait until all that was unregistered is out of use
 *
 * When it returns, the callbacks of every fhook_unregister_async() that was
 * called before have run, and their trampolines are free. A module that
 * unregisters asynchronously calls this before it goes, as it would call
 * rcu_barrier(). May sleep; not to be called from such a callback.
 */
void fhook_barrier(void)
{
	flush_work(&retire_work);
}
EXPORT_SYMBOL_GPL(fhook_barrier);
