// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: creating and freeing the state of an address space.
 *
 * The state is created at the first hit, or at a fork whose parent has bodies (fork.c). It
 * is kept until the address space has no users, so that tasks running in it may access it
 * without a lock.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uhook_hooks.h>
#include <linux/xarray.h>

#include "areas.h"
#include "handlers.h"
#include "life.h"
#include "sites.h"

/**
 * uhook_make_mm - allocate the state of an address space
 * @mm: the address space
 * @gfp: how hard memory is looked for
 *
 * Return: the state, or NULL if there is no memory.
 */
struct uhook_mm *uhook_make_mm(struct mm_struct *mm, gfp_t gfp)
{
	struct uhook_mm *um = kzalloc(sizeof(*um), gfp);

	if (!um)
		return NULL;

	if (uhook_init_sites(um)) {
		kfree(um);
		return NULL;
	}
	mutex_init(&um->lock);
	xa_init_flags(&um->hops, XA_FLAGS_ACCOUNT);
	um->mm = mm;
	mutex_init(&um->counts);
	mutex_init(&um->visit);
	refcount_set(&um->ref, 1);

	return um;
}

/**
 * uhook_discard_mm - free the state of an address space
 * @um: the state, which no task uses any more
 */
void uhook_discard_mm(struct uhook_mm *um)
{
	uhook_put_handlers(um);
	uhook_put_areas(um);
	uhook_free_sites(um);
	uhook_free_spans(um);
	uhook_put_mm(um);
}

/* The process of current's address space: a child of vfork() has that of its parent. */
static pid_t own_process(void)
{
	pid_t tgid;

	rcu_read_lock();
	tgid = task_tgid_nr(in_vfork(current) ? rcu_dereference(current->real_parent) : current);
	rcu_read_unlock();

	return tgid;
}

/**
 * uhook_get_mm - get the state of current's address space, created if needed
 *
 * Context: task; sleeps.
 * Return: the state, or NULL if there is no memory.
 */
struct uhook_mm *uhook_get_mm(void)
{
	struct mm_struct *mm = current->mm;
	struct uhook_mm *um = uhook_mm_of(mm), *other;

	if (um)
		return um;

	um = uhook_make_mm(mm, GFP_UHOOK);
	if (!um)
		return NULL;

	/* Publish the complete state: uhook_mm_of(). */
	um->tgid = own_process();
	other = cmpxchg(&mm->uprobes_state.uhook, NULL, um);
	if (other) {
		uhook_discard_mm(um);
		return other;
	}

	return um;
}

/**
 * uhook_begin_lookup - begin the look-up of a uprobe
 * @lookup: receives the counts that must not change until the site is added
 *
 * From here on uhook_has_sites() is true for the address space, and unmappings are
 * counted.
 *
 * Context: task; sleeps.
 */
void uhook_begin_lookup(struct uhook_lookup *lookup)
{
	lookup->valid = READ_ONCE(uhook_boost_enabled) && uhook_get_mm();
	lookup->unmapped = atomic_long_read(&current->mm->uprobes_state.unmapped);
	/* Pairs with uhook_munmap(): read the count before the look-up. */
	smp_rmb();
}

/**
 * uhook_free_mm - free the state of an address space without users
 * @mm: address space
 *
 * Context: task; sleeps.
 */
void uhook_free_mm(struct mm_struct *mm)
{
	struct uhook_mm *um = uhook_mm_of(mm);

	if (!um)
		return;

	mm->uprobes_state.uhook = NULL;
	uhook_discard_mm(um);
}
