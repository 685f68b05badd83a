// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: how what an address space has of uhook is made, and how it goes.
 *
 * Made at the first hit, or at a fork for a child whose parent has bodies; kept until
 * nobody uses the address space any more, so that whoever runs in it may look at it without
 * a lock. The address spaces of a parent and a child share areas of bodies and hops; what is
 * written there is each one's own.
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

/* current's, made when there is none. */
static struct uhook_mm *get_uhook_mm(void)
{
	struct mm_struct *mm = current->mm;
	struct uhook_mm *um = uhook_mm_of(mm), *other;

	if (um)
		return um;

	um = make_uhook_mm(mm, GFP_UHOOK);
	if (!um)
		return NULL;

	/* Whoever sees it sees it whole: uhook_mm_of(). */
	um->tgid = task_tgid_nr(current);
	other = cmpxchg(&mm->uprobes_state.uhook, NULL, um);
	if (other) {
		free_uhook_mm(um);
		return other;
	}

	return um;
}

/**
 * uhook_begin_lookup - a uprobe is going to be looked for
 * @lookup: receives what has to be the same for its site to be believed
 *
 * From here on the address space is known to have sites, and what is unmapped
 * counts.
 *
 * Context: task; sleeps.
 */
void uhook_begin_lookup(struct uhook_lookup *lookup)
{
	lookup->valid = READ_ONCE(uhook_boost_enabled) && get_uhook_mm();
	lookup->unmapped = atomic_long_read(&current->mm->uprobes_state.unmapped);
	/* Pairs with the barriers of those who count: read before looking. */
	smp_rmb();
}

/**
 * uhook_dup_mmap - give a child what its parent has
 * @oldmm: the parent's address space; its mmap lock is held for writing
 * @mm: the child's
 *
 * The child finds its sites anew: it has no slots, and its mappings may be fewer.
 *
 * Return: 0 or -ENOMEM, and the fork fails.
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
	/* Its process is going to have a number that is not far behind. */
	um->look_from = task_tgid_nr(current);
	mm->uprobes_state.uhook = um;

	return 0;
}

/*
 * The jumps of an area whose hooks may not be meant for a child, or whose functions it may
 * not have: MADV_DONTFORK.
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
 * uhook_dup_mmap_end - a child has its parent's text
 * @mm: the child's address space
 *
 * With the jumps in it. Hooks that are not meant for all processes may not be
 * meant for this one, and functions that are called may not be there: these get
 * a breakpoint, which asks.
 *
 * Context: task, with the mmap lock held for writing.
 * Return: 0, or an error: some are still there.
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
 * uhook_free_mm - nobody uses an address space any more
 * @mm: which
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
