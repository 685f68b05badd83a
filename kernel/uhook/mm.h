/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: uhook's state in an address space.
 *
 * Locks, outermost first: uhook_mm::lock of an address space, its mmap lock, its
 * uhook_mm::visit, uhook_mm::counts, uhook_area::lock, uhook_counter::lock.
 * uhook_spans::lock is held alone. Tasks that hit a breakpoint hold none of the others: they
 * look sites up under RCU tasks trace, as uprobes do.
 *
 * Each of these locks belongs to a process, to processes related by fork, or to a hook.
 * To create a process, none of another is needed; to end one, or to execute a program in it,
 * only uhook_counter::lock, for each record that has not been read. Three locks on these paths
 * are global: the spinlock of the list in counting.c, which is held only to add or remove a
 * node; that of rings.c, for a walk over the bodies of one area; and i_mmap_rwsem of the one
 * file whose mappings are the data of all bodies, which mm/ holds to add or remove one.
 */
#ifndef _KERNEL_UHOOK_MM_H
#define _KERNEL_UHOOK_MM_H

#include <linux/atomic.h>
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
struct uhook_spans;
struct uhook_data;
struct uhook_stubs;

/* Without memory the probe is single-stepped: do not reclaim hard or warn. */
#define GFP_UHOOK	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/**
 * struct uhook_counting - an entry in the list of counting address spaces
 * @node: link in the list
 * @born: sequence number of the entry; 0 if not in the list, or for the cursor of a walk
 */
struct uhook_counting {
	struct list_head	node;
	u64			born;
};

/**
 * struct uhook_thread - a thread of a process whose records are read
 * @reg: value of its register for thread-local storage
 * @pid: its PID
 */
struct uhook_thread {
	unsigned long		reg;
	pid_t			pid;
};

/**
 * struct uhook_mm - uhook's state in an address space
 * @lock: serializes allocation of slots and creation of areas
 * @sites: sites that were hit, by address
 * @unkept: number of hits at addresses that were not added to @sites because it was full
 * @nr_areas: number of areas; only grows, with @lock and the mmap lock held for writing
 * @nr_kind: number of areas of each kind
 * @areas: the areas, in order of creation
 * @data: data written by the bodies of each area
 * @hops: struct uhook_hops by number of the range
 * @nr_hop_pages: number of pages in @hops
 * @nr_blocks: number of stub blocks; changes under the same rules as @nr_areas
 * @blocks: the stub blocks
 * @spans: calls that have not ended, or NULL
 * @unread: address of a function that has to be read before a body can call it, or 0; set with
 *	@lock held
 * @forgotten: time of ktime_get_ns() until which the calls in @spans began that are unknown at
 *	their end
 * @functions: true if a body calls a function of a file
 * @breaks: true if a body begins with a breakpoint
 * @before_rseq: true if jumps were written by a thread that had not registered for
 *	restartable sequences, and so could not tell whether a site is in one
 * @ref: one reference for the address space, and one for each reader of its counts
 * @visit: held by readers other than the process itself, which take @counts next
 * @counts: held while counts are added up, rings are read, or the set of a body changes
 * @gone: true once areas and data have been freed; set with @counts held
 * @counting: entry in the list of counting address spaces
 * @next_ring: index of the area whose ring is read first at the next reading
 * @mm: the address space
 * @payer: during fork, the parent's address space, whose memory cgroup is charged because
 *	the child's has no task yet; otherwise NULL
 * @tgid: PID of the process, or 0 if not known yet
 * @last: PID of the process for which the address space was created by a fork, or of the last
 *	task that left it, or 0
 * @known: time in nanoseconds since boot when @last was set
 * @threads: threads of the process during a reading, sorted by @uhook_thread.reg, or NULL
 * @nr_threads: number of threads in @threads
 * @max_threads: number of threads for which @threads has room
 * @reading: number of the current reading of the rings
 * @looks: number of threads examined in this reading
 * @look_from: PID from which the search for the process continues
 * @looked: true if this reading has searched for the process and listed its threads
 *
 * Created at the first hit and kept until the address space has no users, so that a task
 * running in it can access it without a lock, also in NMI context.
 */
struct uhook_mm {
	struct mutex		lock;	/* protects sites and areas */
	struct rhashtable	sites;
	atomic_long_t		unkept;
	unsigned int		nr_areas;
	unsigned int		nr_kind[UHOOK_AREA_KINDS];
	struct uhook_area	*areas[UHOOK_AREA_KINDS * UHOOK_MAX_AREAS];
	struct uhook_data	*data[UHOOK_AREA_KINDS * UHOOK_MAX_AREAS];
	struct xarray		hops;
	unsigned int		nr_hop_pages;
	unsigned int		nr_blocks;
	struct uhook_stubs	*blocks[UHOOK_MAX_BLOCKS];
	struct uhook_spans	*spans;
	unsigned long		unread;
	u64			forgotten;
	bool			functions;
	bool			breaks;
	bool			before_rseq;
	refcount_t		ref;
	struct mutex		visit;	/* held by visitors, see counting.c */
	struct mutex		counts;	/* protects data, and sets of bodies */
	bool			gone;
	struct uhook_counting	counting;
	unsigned int		next_ring;
	struct mm_struct	*mm;
	struct mm_struct	*payer;
	pid_t			tgid;
	pid_t			last;
	u64			known;
	struct uhook_thread	*threads;
	unsigned int		nr_threads;
	unsigned int		max_threads;
	unsigned int		reading;
	unsigned int		looks;
	pid_t			look_from;
	bool			looked;
};

/* Whether the process has bodies, without which there are no jumps. */
static inline bool uhook_has_jumps(const struct uhook_mm *um)
{
	return um->nr_kind[UHOOK_BODIES] || um->nr_kind[UHOOK_LONG_BODIES];
}

/* The state of an address space, or NULL. */
static inline struct uhook_mm *uhook_mm_of(const struct mm_struct *mm)
{
	/* Pairs with uhook_get_mm(). */
	return smp_load_acquire(&mm->uprobes_state.uhook);
}

/**
 * typedef uhook_fits_fn - check a free range
 * @addr: start of the range
 * @data: &uhook_gap.data
 *
 * Return: whether the range is usable.
 */
typedef bool uhook_fits_fn(unsigned long addr, const void *data);

/**
 * struct uhook_gap - requirements for an unmapped range
 * @near: address that must be within reach of the range
 * @size: length of the range, in bytes
 * @align_mask: address bits that must be 0
 * @fits: checks a range
 * @data: argument of @fits
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
bool uhook_leaves_room(struct mm_struct *mm, unsigned long size);
unsigned long uhook_find_gap(struct mm_struct *mm, const struct uhook_gap *gap);
void uhook_keep_in_children(struct mm_struct *mm, unsigned long start, unsigned long size);

#endif /* _KERNEL_UHOOK_MM_H */
