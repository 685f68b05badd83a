// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: sets of hooks.
 *
 * A set has the counters of the hooks of a site that do work in the program, in the order
 * of the hooks. It defines what a body does. It lives as long as a body has it, possibly
 * longer than the hooks, because a task may stay in a body for any time.
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

/* Collect the counters of the hooks that need a body. */
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

/* A set of the present hooks; NULL if there are none, -EAGAIN if they change meanwhile. */
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
 * uhook_make_set - make the set of the hooks of a site that do work in the program
 * @uprobe: uprobe of the site
 * @mm: address space of the program; its mmap lock is held
 *
 * Context: task, between rcu_read_lock_trace() and rcu_read_unlock_trace().
 * Return: the set, with one reference; NULL if there are no such hooks, or -ENOMEM.
 */
struct uhook_set *uhook_make_set(struct uprobe *uprobe, struct mm_struct *mm)
{
	struct uhook_set *set;
	unsigned int i;

	mmap_assert_locked(mm);
	/*
	 * Hooks may be added and removed meanwhile, and their uhook_hooks_change() comes
	 * later. But an empty set is not possible: a body without handlers has no code by
	 * which its jump could be recognized.
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
 * uhook_put_set - drop a reference to a set
 * @set: the set
 *
 * Tasks that entered the body may still read the set under RCU.
 *
 * Context: any.
 */
void uhook_put_set(struct uhook_set *set)
{
	if (!refcount_dec_and_test(&set->ref))
		return;

	INIT_RCU_WORK(&set->free, free_set);
	queue_rcu_work(system_dfl_wq, &set->free);
}

/**
 * uhook_may_run - check whether a task may run the handlers of a set
 * @set: the set
 * @task: the task, which cannot exit meanwhile
 *
 * Context: any.
 * Return: whether the task may run them.
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

struct compared {
	const struct uhook_set	*set;
	struct mm_struct	*mm;
	unsigned int		nr;
};

static bool differs(struct uprobe_consumer *uc, void *data)
{
	struct uhook_ops *ops = uhook_consumer_ops(uc);
	struct compared *c = data;

	if (!ops || !uhook_needs_body(ops) || (ops->filter && !ops->filter(ops, c->mm)))
		return false;

	return c->nr == c->set->nr || c->set->counters[c->nr++] != uhook_consumer_counter(uc);
}

/**
 * uhook_is_set_of - check whether a set still has the hooks of a site
 * @set: the set
 * @uprobe: uprobe of the site
 * @mm: address space of the program; its mmap lock is held
 *
 * Context: task, with the register_rwsem of @uprobe held.
 * Return: whether uhook_make_set() would make the same set.
 */
bool uhook_is_set_of(const struct uhook_set *set, struct uprobe *uprobe, struct mm_struct *mm)
{
	struct compared c = { .set = set, .mm = mm };

	mmap_assert_locked(mm);

	return !uprobe_find_consumer(uprobe, differs, &c) && c.nr == set->nr;
}

/* Whether two sets have the same hooks. */
bool uhook_same_set(const struct uhook_set *a, const struct uhook_set *b)
{
	return a->nr == b->nr &&
	       !memcmp(a->counters, b->counters, a->nr * sizeof(a->counters[0]));
}
