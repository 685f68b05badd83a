/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: hooks as consumers of uprobes.
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
 * @uc: the consumer for uprobes
 * @attachment: attachment of the hook
 * @uprobe: uprobe of the point
 */
struct uhook_consumer {
	struct uprobe_consumer	uc;
	struct uhook_attachment	*attachment;
	struct uprobe		*uprobe;
};

/**
 * struct uhook_attachment - a registration of a hook, kept until its grace period ends
 * @ops: the hook
 * @counter: counter of the hits
 * @unreturned: number of returns that were not followed because the task had no room for
 *	them
 * @left: true once the hook has been unregistered, and no handler begins any more
 * @gone: callback for the end of the grace period, or NULL
 * @report: destination of the hits at the end of the grace period, or NULL
 * @hits: hits read for @gone and @report
 * @node: link in the list of attachments that wait for a grace period
 * @older: next older attachment of the same hook that is still waiting, or NULL
 * @nr: number of points
 * @consumers: consumers, one for each point
 *
 * Protected by uhook_ops_lock, except that tasks which are hit read @ops, @counter and
 * @left, and increment @unreturned.
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

/* Whether a hook needs bodies. */
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
