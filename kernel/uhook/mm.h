/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: what an address space has of uhook.
 *
 * Locks, outermost first: uhook_mm::lock of an address space, its mmap lock, its
 * uhook_mm::counts, uhook_area::lock, uhook_counter::lock. Tasks that hit a breakpoint
 * hold none of them: they look sites up under RCU tasks trace, as uprobes do.
 *
 * All of them are a process's, its family's, or a hook's; none is needed to create, to
 * execute or to end another process. There is one lock of all for that, of the list in
 * counting.c: a spinlock, held for as long as a node is added or taken out.
 */
#ifndef _KERNEL_UHOOK_MM_H
#define _KERNEL_UHOOK_MM_H

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "layout.h"

struct uhook_area;
struct uhook_data;
struct uhook_stubs;

/* A probe that is short of memory steps, and disturbs nobody. */
#define GFP_UHOOK	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/**
 * struct uhook_counting - a place in the list of those that count
 * @node: in the list
 * @born: its number; 0 if it is not in the list, or is the cursor of a walk
 */
struct uhook_counting {
	struct list_head	node;
	u64			born;
};

#define UHOOK_WHO_BITS	8

/**
 * struct uhook_who - a thread that has recorded
 * @thread: what its register for thread-local storage has
 * @pid: its number, or 0
 * @reading: when that was found
 */
struct uhook_who {
	unsigned long		thread;
	pid_t			pid;
	unsigned int		reading;
};

/**
 * struct uhook_mm - what an address space has of uhook
 * @lock: held while sites get their slots, and areas are made
 * @sites: the sites that were hit, by address
 * @nr_areas: how many areas there are; only grows, with @lock and the mmap lock
 *	held for writing
 * @nr_kind: of each kind
 * @areas: the mappings, in the order of their making
 * @data: what is written by those that are bodies
 * @hops: struct uhook_hops by the number of the block
 * @nr_hop_pages: how many pages they have
 * @nr_blocks: how many blocks of stubs there are; as @nr_areas
 * @blocks: those
 * @functions: whether a body calls a function of a file
 * @breaks: whether one begins with a breakpoint
 * @before_rseq: whether jumps were written by a thread that had not registered for
 *	restartable sequences, and so could not know where they are
 * @ref: one reference of the address space, and one of each reader of its counts
 * @counts: held while that is added up, while its rings are read, and while whom a body
 *	counts for changes
 * @gone: whether areas and data have gone; set with @counts held
 * @counting: its place in the list of those that count
 * @next_ring: which area is read first when rings are read again
 * @mm: the address space
 * @payer: the parent's while this one is made, which has no task on whose account
 *	memory could be; otherwise NULL
 * @tgid: the process, or 0 when it is not known yet
 * @who: its threads, as far as they have recorded
 * @reading: the number of the reading of a ring
 * @looks: at how many threads was looked in it
 * @look_from: where the process is looked for next, among all
 * @looked: whether it was, in this reading
 *
 * Made at the first hit and kept until nobody uses the address space any more,
 * so that whoever runs in it may look at it without a lock, in an NMI as well.
 */
struct uhook_mm {
	struct mutex		lock;	/* sites and areas change with it */
	struct rhashtable	sites;
	unsigned int		nr_areas;
	unsigned int		nr_kind[UHOOK_AREA_KINDS];
	struct uhook_area	*areas[UHOOK_AREA_KINDS * UHOOK_MAX_AREAS];
	struct uhook_data	*data[UHOOK_AREA_KINDS * UHOOK_MAX_AREAS];
	struct xarray		hops;
	unsigned int		nr_hop_pages;
	unsigned int		nr_blocks;
	struct uhook_stubs	*blocks[UHOOK_MAX_BLOCKS];
	bool			functions;
	bool			breaks;
	bool			before_rseq;
	refcount_t		ref;
	struct mutex		counts;	/* data, and sets of bodies, are read with it */
	bool			gone;
	struct uhook_counting	counting;
	unsigned int		next_ring;
	struct mm_struct	*mm;
	struct mm_struct	*payer;
	pid_t			tgid;
	struct uhook_who	who[1 << UHOOK_WHO_BITS];
	unsigned int		reading;
	unsigned int		looks;
	pid_t			look_from;
	bool			looked;
};

/* Is there anything that a jump could lead to? */
static inline bool uhook_has_jumps(const struct uhook_mm *um)
{
	return um->nr_kind[UHOOK_BODIES] || um->nr_kind[UHOOK_LONG_BODIES];
}

/* What an address space has, or NULL. */
static inline struct uhook_mm *uhook_mm_of(const struct mm_struct *mm)
{
	/* Pairs with get_uhook_mm(). */
	return smp_load_acquire(&mm->uprobes_state.uhook);
}

/**
 * typedef uhook_fits_fn - can what is wanted be in a range that is free?
 * @addr: where the range begins
 * @data: that of &struct uhook_gap
 *
 * Return: whether it can.
 */
typedef bool uhook_fits_fn(unsigned long addr, const void *data);

/**
 * struct uhook_gap - an unmapped range that is looked for
 * @near: the address that it is to be within reach of
 * @size: how long it is to be, in bytes
 * @align_mask: the bits of its address that have to be 0
 * @fits: says whether one will do
 * @data: passed to @fits
 */
struct uhook_gap {
	unsigned long		near;
	unsigned long		size;
	unsigned long		align_mask;
	uhook_fits_fn		*fits;
	const void		*data;
};

void uhook_put_mm(struct uhook_mm *um);
bool uhook_is_free(struct mm_struct *mm, unsigned long start, unsigned long size);
unsigned long uhook_find_gap(struct mm_struct *mm, const struct uhook_gap *gap);
void uhook_keep_in_children(struct mm_struct *mm, unsigned long start, unsigned long size,
			    bool keep);

#endif /* _KERNEL_UHOOK_MM_H */
