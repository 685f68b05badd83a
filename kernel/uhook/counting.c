// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the list of the address spaces whose bodies write.
 *
 * Whoever adds up what bodies have counted, or reads what they have recorded, walks over
 * this list. It is under a spinlock, which is held for one step: nothing that a program does
 * makes that longer. Address spaces come and go at any time, and nothing waits for the walks.
 */
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "data.h"

/* The address spaces that have bodies, oldest first, and the cursors of walks over them. */
static LIST_HEAD(counting);
static DEFINE_SPINLOCK(counting_lock);

/* How many there have been. */
static u64 nr_born;

/**
 * uhook_start_counting - what bodies of a process write counts
 * @um: the process's; it has its areas
 *
 * Context: task, with the mmap lock held for writing, or nobody else knows @um.
 */
void uhook_start_counting(struct uhook_mm *um)
{
	if (um->counting.born)
		return;

	spin_lock(&counting_lock);
	um->counting.born = ++nr_born;
	list_add_tail(&um->counting.node, &counting);
	spin_unlock(&counting_lock);
}

/**
 * uhook_stop_counting - nothing will be written in an address space any more
 * @um: its; what was written has been added up
 *
 * Context: task.
 */
void uhook_stop_counting(struct uhook_mm *um)
{
	spin_lock(&counting_lock);
	list_del_init(&um->counting.node);
	spin_unlock(&counting_lock);
}

/* The next one that was there when the visit began, with a reference; or NULL. */
static struct uhook_mm *next_counting(struct uhook_counting *cursor, u64 until)
{
	struct uhook_counting *next = cursor;
	struct uhook_mm *um;

	spin_lock(&counting_lock);
	list_for_each_entry_continue(next, &counting, node) {
		/* Others who look. */
		if (!next->born)
			continue;
		if (next->born > until)
			break;
		um = container_of(next, struct uhook_mm, counting);
		refcount_inc(&um->ref);
		list_move(&cursor->node, &next->node);
		spin_unlock(&counting_lock);
		return um;
	}
	spin_unlock(&counting_lock);

	return NULL;
}

/**
 * uhook_visit_data - look at what bodies have written in all processes
 * @fn: called for each of them that has bodies, and for none that comes meanwhile
 *
 * Context: task; sleeps.
 */
void uhook_visit_data(uhook_data_fn *fn)
{
	struct uhook_counting cursor = { };
	struct uhook_mm *um;
	u64 until;

	spin_lock(&counting_lock);
	until = nr_born;
	list_add(&cursor.node, &counting);
	spin_unlock(&counting_lock);

	while ((um = next_counting(&cursor, until))) {
		fn(um);
		uhook_put_mm(um);
		cond_resched();
	}

	spin_lock(&counting_lock);
	list_del(&cursor.node);
	spin_unlock(&counting_lock);
}
