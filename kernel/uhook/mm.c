// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: look-ups in an address space: its uhook state and free ranges. life.c creates
 * and frees the state.
 */
#include <linux/err.h>
#include <linux/hook_base_mm.h>
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uhook_hooks.h>

#include "mm.h"

/* Room left free above the heap. */
#define HEAP_ROOM	SZ_64M

/* Room left under RLIMIT_AS. */
#define LIMIT_ROOM	SZ_4M

/**
 * uhook_has_sites - check whether an address space may have cached sites
 * @mm: address space
 *
 * Context: any; the result is stable only with the mmap lock held.
 * Return: false if the address space has no cached sites.
 */
bool uhook_has_sites(const struct mm_struct *mm)
{
	return uhook_mm_of(mm);
}

/* Areas and sites were freed earlier, with the address space. */
void uhook_put_mm(struct uhook_mm *um)
{
	if (!refcount_dec_and_test(&um->ref))
		return;

	/* Of a reading that was not ended. */
	kfree(um->threads);
	mutex_destroy(&um->visit);
	mutex_destroy(&um->counts);
	mutex_destroy(&um->lock);
	kfree(um);
}

/* Lowest address to which the stack of current's address space may grow. */
static unsigned long stack_floor(const struct mm_struct *mm)
{
	unsigned long room = clamp(rlimit(RLIMIT_STACK), SZ_128M, SZ_1G);

	return mm->start_stack - min(mm->start_stack, room + stack_guard_gap);
}

/**
 * uhook_is_free - check that a range is unmapped, and that no mapping will grow into it
 * @mm: current's address space; its mmap lock is held
 * @start: start of the range
 * @size: length of the range, in bytes
 *
 * Return: whether the range is free, and its addresses are allowed in programs.
 */
bool uhook_is_free(struct mm_struct *mm, unsigned long start, unsigned long size)
{
	unsigned long end = start + size;
	struct vm_area_struct *next;

	mmap_assert_locked(mm);
	if (start < max(PAGE_SIZE, mmap_min_addr) || end > mm->task_size)
		return false;
	if (end > stack_floor(mm) && start < mm->start_stack)
		return false;
	if (end > mm->start_brk && start < mm->brk + HEAP_ROOM)
		return false;

	next = find_vma(mm, start);

	return !next || vm_start_gap(next) >= end;
}

/**
 * uhook_leaves_room - check that a mapping leaves the program room under its limit
 * @mm: current's address space; its mmap lock is held for writing
 * @size: length of the mapping, in bytes
 *
 * Mappings of uhook count against RLIMIT_AS, of which a program may need the rest.
 *
 * Return: whether there is enough room.
 */
bool uhook_leaves_room(struct mm_struct *mm, unsigned long size)
{
	mmap_assert_write_locked(mm);

	return hook_base_may_expand_vm(mm, VM_READ | VM_EXEC, (size + LIMIT_ROOM) >> PAGE_SHIFT);
}

static unsigned long gap_between(const struct uhook_gap *gap, unsigned long low,
				 unsigned long high, unsigned long flags)
{
	struct vm_unmapped_area_info info = {
		.flags		= flags,
		.length		= gap->size,
		.low_limit	= PAGE_ALIGN(low),
		.high_limit	= high & PAGE_MASK,
		.align_mask	= gap->align_mask,
	};
	unsigned long addr;

	if (info.low_limit >= info.high_limit || info.high_limit - info.low_limit < info.length)
		return 0;

	addr = vm_unmapped_area(&info);

	return !IS_ERR_VALUE(addr) && gap->fits(addr, gap->data) ? addr : 0;
}

/**
 * uhook_find_gap - find an unmapped range near an instruction
 * @mm: current's address space, whose mmap lock is held for writing
 * @gap: requirements for the range
 *
 * Prefer the nearest gap below the instruction, because nothing grows there: heaps, and
 * the segments of an object that is being loaded, are above. Otherwise use a gap above:
 * above the heap if possible, else between the instruction and the heap.
 *
 * Return: the address of the range; 0 if there is no range that @gap->fits accepts.
 */
unsigned long uhook_find_gap(struct mm_struct *mm, const struct uhook_gap *gap)
{
	unsigned long lowest = max(PAGE_SIZE, mmap_min_addr);
	unsigned long low, high, addr;

	mmap_assert_write_locked(mm);
	low = gap->near > UHOOK_REACH + lowest ? gap->near - UHOOK_REACH : lowest;
	addr = gap_between(gap, low, gap->near, VM_UNMAPPED_AREA_TOPDOWN);
	if (addr)
		return addr;

	high = min(gap->near + UHOOK_REACH, mm->task_size);
	if (gap->near < stack_floor(mm))
		high = min(high, stack_floor(mm));
	low = mm->brk > gap->near && mm->brk < high ? mm->brk + HEAP_ROOM : gap->near;

	return gap_between(gap, low, high, 0) ?:
	       gap_between(gap, gap->near, min(high, mm->start_brk), 0);
}

/**
 * uhook_keep_in_children - let a child inherit mappings
 * @mm: the parent's address space, with its mmap lock held for writing
 * @start: start of the mappings
 * @size: length of the mappings, in bytes
 *
 * Overrides MADV_DONTFORK, which the program may have used.
 */
void uhook_keep_in_children(struct mm_struct *mm, unsigned long start, unsigned long size)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	mmap_assert_write_locked(mm);
	for_each_vma_range(vmi, vma, start + size)
		vm_flags_clear(vma, VM_DONTCOPY);
}
