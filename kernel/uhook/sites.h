/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: sites, the probed instructions of a process.
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
 * struct uhook_site - a probed instruction of a process
 * @node: link in uhook_mm::sites
 * @vaddr: address of the instruction
 * @uprobe: uprobe at the address, valid while @gone and @unmapped equal the current
 *	counts
 * @gone: number of removed uprobes with the same hash, when the site was made
 * @unmapped: number of times that probed text had been unmapped from the address space,
 *	when the site was last checked
 * @slot: address of the slot, or 0; set once
 * @verdict: reason why there is no slot; meaningless if there is one
 * @body: address of the body for the present hooks, or 0; changes with the mmap lock held
 * @body_verdict: reason why there is no body
 * @again: time of the next attempt to make a body or jump, in jiffies
 * @tries: number of attempts since the last change of the hooks
 * @blocker: reason why a site with a body still has a breakpoint, if it has one
 * @rcu: for freeing after a grace period of RCU tasks trace
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
	enum uhook_jump_blocker		blocker;
	struct rcu_head		rcu;
};

extern bool uhook_boost_enabled __read_mostly;
int uhook_init_sites(struct uhook_mm *um);
void uhook_free_sites(struct uhook_mm *um);
bool uhook_is_known(struct uhook_mm *um, const struct uhook_site *site);
void uhook_forget_body(const struct uhook_mm *um, unsigned long vaddr);

#endif /* _KERNEL_UHOOK_SITES_H */
