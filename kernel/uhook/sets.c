// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: sets of hooks.
 *
 * A set is what a body does: the counters of the hooks of a place that do something in the
 * program, in their order. It stays for as long as a body has it, which may be longer than
 * the hooks are there, since a task may be in a body for as long as it likes.
 */
#include <linux/err.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uhook.h>
#include <linux/uhook_hooks.h>
#include <linux/workqueue.h>

#include "consumers.h"
#include "mm.h"
#include "sets.h"

struct collected {
	struct mm_struct	*mm;
	struct uhook_set	*set;
	bool			filtered;
	unsigned int		nr;
};

/* The counters of the hooks that do something in the program there. */
static bool collect(struct uprobe_consumer *uc, void *data)
{
	struct uhook_ops *ops = uhook_consumer_ops(uc);
	struct collected *c = data;

	if (!ops || !uhook_needs_body(ops))
		return false;
	if (ops->filter) {
		c->filtered = true;
		if (!ops->filter(ops, c->mm))
			return false;
	}

	if (c->set && c->nr < c->set->nr)
		c->set->counters[c->nr] = uhook_consumer_counter(uc);
	c->nr++;

	return false;
}

static void enter_counter(struct uhook_set *set, struct uhook_counter *counter)
{
	refcount_inc(&counter->ref);
	set->traits |= counter->kind->traits;
	if (counter->breaks)
		set->traits |= UHOOK_BREAKS;
}

/* Of so many hooks as there are just now; NULL if there are none. */
static struct uhook_set *collect_set(struct uprobe *uprobe, struct mm_struct *mm)
{
	struct collected c = { .mm = mm };

	uprobe_find_consumer(uprobe, collect, &c);
	if (!c.nr)
		return NULL;

	c.set = kzalloc(struct_size(c.set, counters, c.nr), GFP_UHOOK);
	if (!c.set)
		return ERR_PTR(-ENOMEM);

	c.set->nr = c.nr;
	c.nr = 0;
	uprobe_find_consumer(uprobe, collect, &c);
	if (c.filtered)
		c.set->traits |= UHOOK_FILTERED;
	if (c.nr == c.set->nr)
		return c.set;

	kfree(c.set);

	return ERR_PTR(-EAGAIN);
}

/**
 * uhook_make_set - the hooks of a place that do something in a program
 * @uprobe: the place
 * @mm: the program's address space; its mmap lock is held
 *
 * Context: task, between rcu_read_lock_trace() and rcu_read_unlock_trace().
 * Return: a set with one reference; NULL if there are none, or -ENOMEM.
 */
struct uhook_set *uhook_make_set(struct uprobe *uprobe, struct mm_struct *mm)
{
	struct uhook_set *set;
	unsigned int i;

	mmap_assert_locked(mm);
	/*
	 * Hooks come and go meanwhile, and tell the body of it later; but a body of
	 * none would have no code by which its jump is known.
	 */
	do {
		set = collect_set(uprobe, mm);
	} while (set == ERR_PTR(-EAGAIN));
	if (IS_ERR_OR_NULL(set))
		return set;

	refcount_set(&set->ref, 1);
	for (i = 0; i < set->nr; i++)
		enter_counter(set, set->counters[i]);

	return set;
}

static void free_set(struct work_struct *work)
{
	struct uhook_set *set = container_of(to_rcu_work(work), struct uhook_set, free);
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		uhook_put_counter(set->counters[i]);
	kfree(set);
}

/**
 * uhook_put_set - a body, or whoever made it, does not need a set any more
 * @set: it
 *
 * Those who came to the body may still look at it, under RCU.
 *
 * Context: any.
 */
void uhook_put_set(struct uhook_set *set)
{
	if (!refcount_dec_and_test(&set->ref))
		return;

	INIT_RCU_WORK(&set->free, free_set);
	queue_rcu_work(system_unbound_wq, &set->free);
}

/**
 * uhook_may_run - may a task run the handlers of a set?
 * @set: the set
 * @task: the task, which stays
 *
 * Context: any.
 * Return: whether it may.
 */
bool uhook_may_run(const struct uhook_set *set, const struct task_struct *task)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++) {
		const struct uhook_kind *kind = set->counters[i]->kind;

		if (kind->may_run && !kind->may_run(task))
			return false;
	}

	return true;
}

/* Do they stand for the same hooks? */
bool uhook_same_set(const struct uhook_set *a, const struct uhook_set *b)
{
	return a->nr == b->nr &&
	       !memcmp(a->counters, b->counters, a->nr * sizeof(a->counters[0]));
}
