/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: sets of hooks.
 */
#ifndef _KERNEL_UHOOK_SETS_H
#define _KERNEL_UHOOK_SETS_H

#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "counters.h"

struct mm_struct;
struct task_struct;
struct uprobe;

/**
 * struct uhook_set - the hooks of a body
 * @ref: one reference for each body, and one for the maker
 * @traits: traits of &enum uhook_trait that at least one hook has
 * @free: work to free the set, after an RCU grace period
 * @nr: number of counters
 * @counters: counters, in the order of the hooks
 */
struct uhook_set {
	refcount_t		ref;
	unsigned int		traits;
	struct rcu_work		free;
	unsigned int		nr;
	struct uhook_counter	*counters[] __counted_by(nr);
};

struct uhook_set *uhook_make_set(struct uprobe *uprobe, struct mm_struct *mm);
void uhook_put_set(struct uhook_set *set);
bool uhook_may_run(const struct uhook_set *set, const struct task_struct *task);
bool uhook_is_set_of(const struct uhook_set *set, struct uprobe *uprobe, struct mm_struct *mm);
bool uhook_same_set(const struct uhook_set *a, const struct uhook_set *b);

#endif /* _KERNEL_UHOOK_SETS_H */
