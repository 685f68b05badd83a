// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the bodies of a parent in its child.
 *
 * A child has its parent's areas of bodies at the same addresses, because jumps and stacks
 * hold these addresses: it has the same memory for code, and pages of its own for the data
 * that bodies write. It has no slots and no sites. A child is made with the mmap locks of
 * both held for writing.
 */
#include <linux/err.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/uhook_hooks.h>

#include "areas.h"
#include "data.h"
#include "hops.h"
#include "jump.h"
#include "life.h"
#include "sets.h"
#include "stubs.h"

/* Give a child an area of bodies. */
static int share_area(const struct uhook_mm *from, unsigned int i, struct uhook_mm *to)
{
	struct uhook_area *area = from->areas[i];
	unsigned int nr = to->nr_areas;

	mmap_assert_write_locked(from->mm);

	/* A fork should wait for memory rather than fail. */
	if (uhook_add_data(to, nr, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	if (area->kind == UHOOK_LONG_BODIES && uhook_copy_stacks(from->data[i], to->data[nr]))
		return -ENOMEM;

	/* Nothing is being added: a sole owner needs its mmap lock for that, see new_slot(). */
	refcount_inc(&area->ref);
	to->areas[nr] = area;
	to->nr_kind[area->kind]++;
	to->nr_areas = nr + 1;

	return 0;
}

/*
 * Areas of bodies are mapped in a child, slots are not. Returns whether there are any. The
 * parent's mmap lock is held for writing, so that no area is added.
 */
static bool dup_areas(const struct uhook_mm *from)
{
	unsigned int i;

	mmap_assert_write_locked(from->mm);
	for (i = 0; i < from->nr_areas; i++) {
		enum uhook_area_kind kind = from->areas[i]->kind;

		if (uhook_has_bodies(kind))
			uhook_keep_in_children(from->mm, from->areas[i]->vaddr,
					       UHOOK_CODE_SIZE + uhook_data_size(kind));
	}

	return uhook_has_jumps(from);
}

/* The child has the bodies of its parent. */
static int share_areas(const struct uhook_mm *from, struct uhook_mm *to)
{
	unsigned int i;

	mmap_assert_write_locked(from->mm);
	for (i = 0; i < from->nr_areas; i++) {
		if (uhook_has_bodies(from->areas[i]->kind) && share_area(from, i, to))
			return -ENOMEM;
	}
	to->functions = from->functions;
	to->breaks = from->breaks;
	to->before_rseq = READ_ONCE(from->before_rseq);
	if (uhook_has_jumps(to))
		uhook_start_counting(to);

	return 0;
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
	if (!from || (!dup_areas(from) && !from->nr_blocks))
		return 0;

	um = uhook_make_mm(mm, GFP_KERNEL_ACCOUNT);
	if (!um)
		return -ENOMEM;

	if (share_areas(from, um) || uhook_share_hops(from, um) ||
	    uhook_copy_stubs(from, um)) {
		uhook_discard_mm(um);
		return -ENOMEM;
	}
	um->payer = oldmm;
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
