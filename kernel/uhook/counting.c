// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the list of the address spaces that have bodies.
 *
 * Readers of counts and records walk this list. Its spinlock is held for one step of a
 * walk at a time, which no program can prolong. Address spaces may be added and removed
 * at any time, and do not wait for walks. Visitors lock uhook_mm::counts with
 * uhook_lock_counts().
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "data.h"

/* The address spaces that have bodies, oldest first, and the cursors of walks over them. */
static LIST_HEAD(counting);
static DEFINE_SPINLOCK(counting_lock);

/* Number of address spaces ever added. */
static u64 nr_born;

/* How long a visitor waits for the lock of a process. */
#define PATIENCE	(HZ / 50)

/**
 * uhook_start_counting - add an address space to the list
 * @um: state of the address space, which has its areas
 *
 * Context: task, with the mmap lock held for writing, or before @um is visible to others.
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
 * uhook_stop_counting - remove an address space from the list
 * @um: state of the address space, whose last counts have been added up
 *
 * Context: task.
 */
void uhook_stop_counting(struct uhook_mm *um)
{
	spin_lock(&counting_lock);
	list_del_init(&um->counting.node);
	spin_unlock(&counting_lock);
}

/* The next address space that was in the list when the walk began, with a reference; or NULL. */
static struct uhook_mm *next_counting(struct uhook_counting *cursor, u64 until)
{
	struct uhook_counting *next = cursor;
	struct uhook_mm *um;

	spin_lock(&counting_lock);
	list_for_each_entry_continue(next, &counting, node) {
		/* Cursors of other walks. */
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
 * uhook_visit_data - visit all address spaces that have bodies
 * @fn: called for each address space that is in the list now, not for later ones
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

/**
 * uhook_lock_counts - lock the counts of an address space that is visited
 * @um: state of the address space
 * @until: time in jiffies until which to wait, if it is less than PATIENCE from now
 *
 * A task of the program may hold the lock, and hardly ever run: programs choose their own
 * priorities and shares of CPUs. Counts and records that are not read for this reason are
 * read at the next visit, or by the process itself when it ends. Visitors wait for each other
 * as long as necessary.
 *
 * Context: task; sleeps.
 * Return: true with &uhook_mm.counts locked, until uhook_unlock_counts(); otherwise false.
 */
bool uhook_lock_counts(struct uhook_mm *um, unsigned long until)
{
	unsigned long end;

	/* Visitors hold this while they run, or have the patience of one. */
	mutex_lock(&um->visit);
	end = jiffies + PATIENCE;
	if (time_before(until, end))
		end = until;
	while (!mutex_trylock(&um->counts)) {
		if (!time_before(jiffies, end)) {
			mutex_unlock(&um->visit);
			return false;
		}
		schedule_timeout_uninterruptible(1);
	}

	return true;
}

void uhook_unlock_counts(struct uhook_mm *um)
{
	lockdep_assert_held(&um->visit);
	mutex_unlock(&um->counts);
	mutex_unlock(&um->visit);
}
