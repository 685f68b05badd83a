/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the instructions of a process that have a breakpoint.
 */
#ifndef _KERNEL_UHOOK_SITES_H
#define _KERNEL_UHOOK_SITES_H

#include <linux/rcupdate.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>

#include "mm.h"
#include "verdict.h"

struct uprobe;

/**
 * struct uhook_site - an instruction of a process that has a breakpoint
 * @node: in uhook_mm::sites
 * @vaddr: its address
 * @uprobe: the uprobe there, as long as @gone and @unmapped are those of now
 * @gone: how many uprobes of its hash had gone by then
 * @unmapped: how often probed text had been unmapped in the address space
 * @slot: the address of the slot, or 0; set once
 * @verdict: why it has none; means nothing once it has
 * @body: the address of the body for those who are interested now, or 0; changes
 *	with the mmap lock held
 * @body_verdict: why it has none
 * @again: when it is worth looking for a body again, in jiffies
 * @tries: how often that has been done since something changed
 * @bar: why the breakpoint is still there, if it has one
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
	unsigned long		body;
	enum uhook_verdict	body_verdict;
	unsigned long		again;
	unsigned int		tries;
	enum uhook_bar		bar;
	struct rcu_head		rcu;
};

extern bool uhook_boost_enabled __read_mostly;
int uhook_init_sites(struct uhook_mm *um);
void uhook_free_sites(struct uhook_mm *um);
bool uhook_is_known(struct uhook_mm *um, const struct uhook_site *site);
void uhook_forget_body(const struct uhook_mm *um, unsigned long vaddr);

#endif /* _KERNEL_UHOOK_SITES_H */
