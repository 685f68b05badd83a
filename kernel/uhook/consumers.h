/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the consumers of uprobes that hooks are.
 */
#ifndef _KERNEL_UHOOK_CONSUMERS_H
#define _KERNEL_UHOOK_CONSUMERS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/uhook.h>
#include <linux/uprobes.h>

#include "counters.h"

struct mm_struct;

/**
 * struct uhook_consumer - a hook at one of its points
 * @uc: what uprobes know of it
 * @attachment: the attachment that it belongs to
 * @uprobe: where it is
 */
struct uhook_consumer {
	struct uprobe_consumer	uc;
	struct uhook_attachment	*attachment;
	struct uprobe		*uprobe;
};

/**
 * struct uhook_attachment - a hook while it is registered, and until its grace period ends
 * @ops: the hook
 * @counter: its hits
 * @unreturned: how many returns were lost, for which a task had no room
 * @left: the hook has been unregistered: no handler begins any more
 * @gone: called when the grace period has passed, or NULL
 * @report: receives the hits then, or NULL
 * @hits: the hits, read for @gone and @report
 * @node: its place in the list of those that wait for a grace period
 * @older: the attachment of the same hook that waits longer, or NULL
 * @nr: the number of points
 * @consumers: the consumers, one a point
 *
 * Under uhook_ops_lock, except that tasks which are hit read @ops, @counter and @left, and
 * count in @unreturned.
 */
struct uhook_attachment {
	struct uhook_ops	*ops;
	struct uhook_counter	*counter;
	atomic64_t		unreturned;
	bool			left;
	uhook_gone_t		gone;
	struct uhook_hits	*report;
	struct uhook_hits	hits;
	struct list_head	node;
	struct uhook_attachment	*older;
	unsigned int		nr;
	struct uhook_consumer	consumers[] __counted_by(nr);
};

/* Has a hook anything to do with bodies? */
static inline bool uhook_needs_body(const struct uhook_ops *ops)
{
	return ops->user != UHOOK_USER_NONE || (ops->flags & UHOOK_FL_IN_BODY);
}

static inline bool uhook_wanted_in(struct uhook_ops *ops, struct mm_struct *mm)
{
	return !ops->filter || ops->filter(ops, mm);
}

void uhook_init_consumer(struct uhook_consumer *c, struct uhook_attachment *attachment);
struct uhook_ops *uhook_consumer_ops(struct uprobe_consumer *uc);
struct uhook_counter *uhook_consumer_counter(struct uprobe_consumer *uc);
int uhook_point_number(struct uprobe *uprobe, const struct uhook_counter *counter);

#endif /* _KERNEL_UHOOK_CONSUMERS_H */
