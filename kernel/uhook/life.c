// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: creating and freeing the state of an address space.
 *
 * The state is created at the first hit, or at a fork whose parent has bodies. It is kept
 * until the address space has no users, so that tasks running in it may access it without
 * a lock. Parent and child share areas of bodies and hops, but each has its own data
 * pages.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uhook_hooks.h>
#include <linux/xarray.h>

#include "hops.h"
#include "jump.h"
#include "sites.h"
#include "stubs.h"
#include "sums.h"

static struct uhook_mm *make_uhook_mm(struct mm_struct *mm, gfp_t gfp)
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
	refcount_set(&um->ref, 1);

	return um;
}

static void free_uhook_mm(struct uhook_mm *um)
{
	uhook_fold_data(um);
	uhook_put_hops(um);
	uhook_put_areas(um);
	uhook_put_stubs(um);
	uhook_free_sites(um);
	uhook_put_mm(um);
}

/* The state of current's address space, created if needed. */
static struct uhook_mm *get_uhook_mm(void)
{
	struct mm_struct *mm = current->mm;
	struct uhook_mm *um = uhook_mm_of(mm), *other;

	if (um)
		return um;

	um = make_uhook_mm(mm, GFP_UHOOK);
	if (!um)
		return NULL;

	/* Publish the complete state: uhook_mm_of(). */
	um->tgid = task_tgid_nr(current);
	other = cmpxchg(&mm->uprobes_state.uhook, NULL, um);
	if (other) {
		free_uhook_mm(um);
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
	lookup->valid = READ_ONCE(uhook_boost_enabled) && get_uhook_mm();
	lookup->unmapped = atomic_long_read(&current->mm->uprobes_state.unmapped);
	/* Pairs with uhook_munmap(): read the count before the look-up. */
	smp_rmb();
}

/**
 * uhook_dup_mmap - give a child its parent's state
 * @oldmm: the parent's address space; its mmap lock is held for writing
 * @mm: the child's address space
 *
 * The child finds its sites anew: it has no slots, and its mappings may be fewer.
 *
 * Return: 0 or -ENOMEM, which fails the fork.
 */
int uhook_dup_mmap(struct mm_struct *oldmm, struct mm_struct *mm)
{
	struct uhook_mm *from = uhook_mm_of(oldmm), *um;

	mmap_assert_write_locked(oldmm);
	if (!from || (!uhook_dup_areas(from) && !from->nr_blocks))
		return 0;

	um = make_uhook_mm(mm, GFP_KERNEL_ACCOUNT);
	if (!um)
		return -ENOMEM;

	if (uhook_share_areas(from, um) || uhook_share_hops(from, um) ||
	    uhook_copy_stubs(from, um)) {
		free_uhook_mm(um);
		return -ENOMEM;
	}
	um->payer = oldmm;
	/* The PID of the child will soon follow current's. */
	um->look_from = task_tgid_nr(current);
	mm->uprobes_state.uhook = um;

	return 0;
}

/*
 * Demote the jumps of an area whose hooks may not apply to a child, or call functions
 * that the child may not have (MADV_DONTFORK).
 */
static int demote_doubtful(struct mm_struct *mm, const struct uhook_mm *um,
			   const struct uhook_area *area)
{
	unsigned int nr;
	int ret = 0;

	for (nr = 0; nr < area->used && !ret; nr++) {
		const struct uhook_set *set = uhook_set_of(um, uhook_body_nr(area, nr));

		if (set && (set->traits & (UHOOK_FILTERED | UHOOK_LOCAL)))
			ret = uhook_demote_site(mm, um, uhook_slot_nr(area, nr)->site);
	}

	return ret;
}

/**
 * uhook_dup_mmap_end - demote doubtful jumps after a child's text has been copied
 * @mm: the child's address space
 *
 * The text was copied with its jumps. Hooks with a filter may not apply to the child, and
 * functions that bodies call may not be mapped: these sites get a breakpoint, whose hit
 * decides.
 *
 * Context: task, with the mmap lock held for writing.
 * Return: 0, or an error if some jumps are still there.
 */
int uhook_dup_mmap_end(struct mm_struct *mm)
{
	struct uhook_mm *um = uhook_mm_of(mm);
	unsigned int i;
	int ret = 0;

	mmap_assert_write_locked(mm);
	for (i = 0; um && i < um->nr_areas && !ret; i++) {
		if (uhook_has_bodies(um->areas[i]->kind))
			ret = demote_doubtful(mm, um, um->areas[i]);
	}
	if (um)
		um->payer = NULL;

	return ret;
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
	free_uhook_mm(um);
}
