/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: what its files share.
 *
 * Locks, outermost first: uhook_mm::lock of an address space, its mmap lock,
 * uhook_area::lock. Tasks that hit a breakpoint hold none of them: they look
 * sites up under RCU tasks trace, as uprobes do.
 */
#ifndef _KERNEL_UHOOK_INTERNAL_H
#define _KERNEL_UHOOK_INTERNAL_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/gfp.h>
#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include <linux/uhook.h>

/* What a process can have: areas, and pages in each. */
#define UHOOK_MAX_AREAS		32
#define UHOOK_AREA_PAGES	16

/* A probe that is short of memory steps, and disturbs nobody. */
#define GFP_UHOOK	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

struct uhook_area;
struct seq_file;

/**
 * struct uhook_mm - what an address space has of uhook
 * @lock: held while sites get their slots, and areas are made
 * @sites: the sites that were hit, by address
 * @nr_areas: how many areas there are; only grows, with @lock and the mmap lock
 *	held for writing
 * @areas: the mappings, in the order of their making
 *
 * Made at the first hit and kept until nobody uses the address space any more,
 * so that whoever runs in it may look at it without a lock, in an NMI as well.
 */
struct uhook_mm {
	struct mutex		lock;	/* sites and areas change with it */
	struct rhashtable	sites;
	unsigned int		nr_areas;
	struct uhook_area	*areas[UHOOK_MAX_AREAS];
};

/**
 * enum uhook_verdict - why a site has no slot
 * @UHOOK_UNDECIDED: it was emulated so far, or is being hit for the first time
 * @UHOOK_BY_TASK: it could have a slot, but the task that hit it could not go on
 *	there: it is single-stepped, or runs 32-bit code
 * @UHOOK_IN_PLACE: the instruction can only run in its place
 * @UHOOK_NO_GAP: there is no room for a mapping within reach
 * @UHOOK_FULL: the process has as many slots as it may
 * @UHOOK_NO_MEMORY: there was no memory; tried again at the next hit
 */
enum uhook_verdict {
	UHOOK_UNDECIDED,
	UHOOK_BY_TASK,
	UHOOK_IN_PLACE,
	UHOOK_NO_GAP,
	UHOOK_FULL,
	UHOOK_NO_MEMORY,
};

/**
 * struct uhook_site - an instruction of a process that has a breakpoint
 * @node: in uhook_mm::sites
 * @vaddr: its address
 * @uprobe: the uprobe there, as long as @gone and @unmapped are those of now
 * @gone: how many uprobes had gone before it was looked up
 * @unmapped: how often probed text had been unmapped in the address space
 * @slot: the address of the slot, or 0; set once
 * @verdict: why it has none; means nothing once it has
 * @rcu: freed after a grace period of RCU tasks trace
 */
struct uhook_site {
	struct rhash_head	node;
	unsigned long		vaddr;
	struct uprobe		*uprobe;
	long			gone;
	long			unmapped;
	unsigned long		slot;
	enum uhook_verdict	verdict;
	struct rcu_head		rcu;
};

/* sites.c */
struct uhook_mm *uhook_mm_of(const struct mm_struct *mm);
void uhook_show_sites(struct seq_file *m, struct uhook_mm *um, pid_t pid, const char *comm);

/* slots.c */
long uhook_take_slot(struct uhook_mm *um, unsigned long site, const void *insn, size_t size);
unsigned long uhook_translate(const struct uhook_mm *um, unsigned long ip, bool *ran);
void uhook_share_areas(const struct uhook_mm *from, struct uhook_mm *to);
void uhook_put_areas(struct uhook_mm *um);

/* boost.c */
extern bool uhook_boost_enabled __read_mostly;
unsigned long uhook_hits(enum uhook_kind kind);

#endif /* _KERNEL_UHOOK_INTERNAL_H */
