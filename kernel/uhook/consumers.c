// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: hooks as consumers of uprobes.
 *
 * A hook has a consumer at each of its points. Tasks that are hit, and look-ups of the
 * hooks of a point, find the hook through its consumer, under RCU tasks trace.
 */
#include <linux/atomic.h>
#include <linux/hook_base.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>
#include <linux/uhook.h>
#include <linux/uhook_hooks.h>
#include <linux/uprobes.h>

#include "consumers.h"

static struct uhook_attachment *attachment_of(struct uprobe_consumer *uc)
{
	return container_of(uc, struct uhook_consumer, uc)->attachment;
}

static int consumer_handler(struct uprobe_consumer *uc, struct pt_regs *regs HOOK_BASE_UPROBE_DATA)
{
	struct uhook_attachment *attachment = attachment_of(uc);
	struct uhook_ops *ops = attachment->ops;

	if (READ_ONCE(attachment->left))
		return 0;
	/* This hook does not apply here. If none does, remove the breakpoint. */
	if (!uhook_wanted_in(ops, current->mm))
		return UPROBE_HANDLER_REMOVE;
	if (ops->handler)
		ops->handler(ops, regs);
	/* uhook_enter_body() counts work in the program. */
	if (!uhook_needs_body(ops) && !ops->ret_handler)
		uhook_count_user(attachment->counter, false);

	return 0;
}

static int consumer_ret_handler(struct uprobe_consumer *uc, unsigned long func,
				struct pt_regs *regs HOOK_BASE_UPROBE_DATA)
{
	struct uhook_attachment *attachment = attachment_of(uc);
	struct uhook_ops *ops = attachment->ops;

	if (READ_ONCE(attachment->left) || !uhook_wanted_in(ops, current->mm))
		return 0;

	ops->ret_handler(ops, func, regs);
	uhook_count_user(attachment->counter, false);

	return 0;
}

static bool consumer_filter(struct uprobe_consumer *uc, struct mm_struct *mm)
{
	return uhook_wanted_in(attachment_of(uc)->ops, mm);
}

/**
 * uhook_init_consumer - initialise a consumer for a point of a hook
 * @c: the consumer
 * @attachment: attachment of the hook
 */
void uhook_init_consumer(struct uhook_consumer *c, struct uhook_attachment *attachment)
{
	const struct uhook_ops *ops = attachment->ops;

	c->attachment = attachment;
	c->uc.handler = consumer_handler;
	if (ops->ret_handler)
		c->uc.ret_handler = consumer_ret_handler;
	if (ops->filter)
		c->uc.filter = consumer_filter;
}

/* The hook of a consumer, or NULL if it is not uhook's. */
struct uhook_ops *uhook_consumer_ops(struct uprobe_consumer *uc)
{
	if (uc->handler != consumer_handler)
		return NULL;

	return attachment_of(uc)->ops;
}

/**
 * uhook_works_in_program - check whether a consumer does work in the program
 * @uc: a consumer of a uprobe
 *
 * Hits of other consumers are not passed to uhook_enter_body().
 *
 * Context: any.
 * Return: whether the consumer is a hook that needs a body.
 */
bool uhook_works_in_program(struct uprobe_consumer *uc)
{
	const struct uhook_ops *ops = uhook_consumer_ops(uc);

	return ops && uhook_needs_body(ops);
}

/*
 * The counter of a consumer's registration. The hook may have been unregistered
 * meanwhile, and registered again with another counter.
 */
struct uhook_counter *uhook_consumer_counter(struct uprobe_consumer *uc)
{
	return attachment_of(uc)->counter;
}

static bool lose_return(struct uprobe_consumer *uc, void *unused)
{
	struct uhook_ops *ops = uhook_consumer_ops(uc);

	if (ops && uc->ret_handler && uhook_wanted_in(ops, current->mm))
		atomic64_inc(&attachment_of(uc)->unreturned);

	return false;
}

/**
 * uhook_return_lost - count a function return that will not be seen
 * @uprobe: uprobe that current hit at the entry of the function
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace() of the hit.
 */
void uhook_return_lost(struct uprobe *uprobe)
{
	uprobe_find_consumer(uprobe, lose_return, NULL);
}

struct point_number {
	const struct uhook_counter	*counter;
	int				number;
};

static bool find_number(struct uprobe_consumer *uc, void *data)
{
	struct point_number *p = data;

	if (!uhook_consumer_ops(uc) || uhook_consumer_counter(uc) != p->counter)
		return false;

	p->number = container_of(uc, struct uhook_consumer, uc) - attachment_of(uc)->consumers;

	return true;
}

/*
 * Index of a uprobe among the points of the hook with a given counter; -EAGAIN if the
 * hook has been unregistered. The caller holds the mmap lock and is between
 * rcu_read_lock_trace() and rcu_read_unlock_trace().
 */
int uhook_point_number(struct uprobe *uprobe, const struct uhook_counter *counter)
{
	struct point_number p = { .counter = counter, .number = -EAGAIN };

	mmap_assert_locked(current->mm);
	uprobe_find_consumer(uprobe, find_number, &p);

	return p.number;
}
