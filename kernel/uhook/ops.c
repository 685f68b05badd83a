// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: hooks on programs.
 *
 * A hook is a consumer of a uprobe at each of its points: uprobes find the
 * processes and put the breakpoints in; what happens after a hit, and whether
 * the breakpoint stays, is decided for each process.
 *
 * Registering is a transaction: if one point cannot be had none is. Hooks come
 * and go with uhook_ops_lock held. Tasks that are being hit find them through
 * their consumers, under RCU tasks trace.
 *
 * IPCOM000199350: the user gives the address and both handlers, they are checked,
 * or nothing happens.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uprobes.h>

#include "internal.h"

/**
 * struct uhook_consumer - a hook at one of its points
 * @uc: what uprobes know of it
 * @ops: the hook
 * @uprobe: where it is
 */
struct uhook_consumer {
	struct uprobe_consumer	uc;
	struct uhook_ops	*ops;
	struct uprobe		*uprobe;
};

/**
 * struct uhook_attachment - what a registered hook has
 * @counter: its hits
 * @nr: how many points
 * @consumers: those
 */
struct uhook_attachment {
	struct uhook_counter	*counter;
	unsigned int		nr;
	struct uhook_consumer	consumers[] __counted_by(nr);
};

static DEFINE_MUTEX(uhook_ops_lock);

static int consumer_handler(struct uprobe_consumer *uc, struct pt_regs *regs)
{
	struct uhook_ops *ops = container_of(uc, struct uhook_consumer, uc)->ops;

	/* Nothing to do here: no breakpoint either, if that is true of all. */
	if (!uhook_wanted_in(ops, current->mm))
		return UPROBE_HANDLER_REMOVE;
	if (ops->handler)
		ops->handler(ops, regs);
	/* What happens in the program is counted there: uhook_enter_body(). */
	if (!uhook_needs_body(ops) && !ops->ret_handler)
		uhook_count_user(ops->attachment->counter, false);

	return 0;
}

static int consumer_ret_handler(struct uprobe_consumer *uc, unsigned long func,
				struct pt_regs *regs)
{
	struct uhook_ops *ops = container_of(uc, struct uhook_consumer, uc)->ops;

	if (!uhook_wanted_in(ops, current->mm))
		return 0;

	ops->ret_handler(ops, func, regs);
	uhook_count_user(ops->attachment->counter, false);

	return 0;
}

static bool consumer_filter(struct uprobe_consumer *uc, struct mm_struct *mm)
{
	return uhook_wanted_in(container_of(uc, struct uhook_consumer, uc)->ops, mm);
}

/* Whose consumer it is, or NULL if it is not uhook's. */
struct uhook_ops *uhook_consumer_ops(struct uprobe_consumer *uc)
{
	if (uc->handler != consumer_handler)
		return NULL;

	return container_of(uc, struct uhook_consumer, uc)->ops;
}

/**
 * uhook_is_consumer - is it uhook's?
 * @uc: a consumer of a uprobe
 *
 * Context: any.
 * Return: whether it is.
 */
bool uhook_is_consumer(struct uprobe_consumer *uc)
{
	return uhook_consumer_ops(uc);
}

/* The counter of a hook that was found through its consumer. */
struct uhook_counter *uhook_ops_counter(const struct uhook_ops *ops)
{
	return ops->attachment->counter;
}

struct point_number {
	const struct uhook_counter	*counter;
	int				number;
};

static bool find_number(struct uprobe_consumer *uc, void *data)
{
	struct uhook_ops *ops = uhook_consumer_ops(uc);
	struct point_number *p = data;

	if (!ops || uhook_ops_counter(ops) != p->counter)
		return false;

	p->number = container_of(uc, struct uhook_consumer, uc) - ops->attachment->consumers;

	return true;
}

/*
 * Which of the points of the hook that has a counter is this? -EAGAIN if it has gone.
 * With the mmap lock held, between rcu_read_lock_trace() and rcu_read_unlock_trace().
 */
int uhook_point_number(struct uprobe *uprobe, const struct uhook_counter *counter)
{
	struct point_number p = { .counter = counter, .number = -EAGAIN };

	uprobe_find_consumer(uprobe, find_number, &p);

	return p.number;
}

static void detach(struct uhook_attachment *attachment)
{
	unsigned int i;

	for (i = 0; i < attachment->nr && attachment->consumers[i].uprobe; i++)
		uprobe_unregister_nosync(attachment->consumers[i].uprobe,
					 &attachment->consumers[i].uc);
	/* Nobody is in a handler, or on the way to one. */
	uprobe_unregister_sync();
}

static void free_attachment(struct uhook_attachment *attachment)
{
	uhook_leave_counter(attachment->counter);
	kvfree(attachment);
}

static struct uhook_attachment *make_attachment(struct uhook_ops *ops, unsigned int nr)
{
	struct uhook_attachment *attachment;
	unsigned int i;

	attachment = kvzalloc(struct_size(attachment, consumers, nr), GFP_KERNEL);
	if (!attachment)
		return ERR_PTR(-ENOMEM);

	attachment->nr = nr;
	attachment->counter = uhook_make_counter(ops, nr);
	if (IS_ERR(attachment->counter)) {
		int err = PTR_ERR(attachment->counter);

		kvfree(attachment);
		return ERR_PTR(err);
	}

	for (i = 0; i < nr; i++) {
		struct uhook_consumer *c = &attachment->consumers[i];

		c->ops = ops;
		c->uc.handler = consumer_handler;
		if (ops->ret_handler)
			c->uc.ret_handler = consumer_ret_handler;
		if (ops->filter)
			c->uc.filter = consumer_filter;
	}

	return attachment;
}

static int attach(struct uhook_attachment *attachment, const struct uhook_point *points)
{
	unsigned int i;

	for (i = 0; i < attachment->nr; i++) {
		struct uhook_consumer *c = &attachment->consumers[i];
		struct uprobe *uprobe;

		/* There may be many. */
		if (fatal_signal_pending(current))
			return -EINTR;
		uprobe = uprobe_register(points[i].inode, points[i].offset,
					 points[i].ref_ctr_offset, &c->uc);
		if (IS_ERR(uprobe)) {
			c->ops->refused = i;
			return PTR_ERR(uprobe);
		}
		c->uprobe = uprobe;
	}

	return 0;
}

/**
 * uhook_register - hook instructions of programs
 * @ops: the hook
 * @points: the instructions, which are copied
 * @nr: how many
 *
 * In processes that run, and in those that start later, until the hook is
 * unregistered. If one of the points is refused none is hooked, though handlers
 * may have been called for others meanwhile.
 *
 * Context: task; sleeps.
 * Return: 0; -EBUSY if it is registered; -EINVAL if there is nothing to do, no
 * point, an offset behind the end of the file, a register that cannot be
 * recorded, stubs where they cannot be, or code that makes no sense; -EOPNOTSUPP if
 * code is not for this processor; -ENOMEM; -EINTR if the task is being killed; or why
 * uprobes refuse a point, -ENOTSUPP above all for an instruction that cannot be probed.
 */
int uhook_register(struct uhook_ops *ops, const struct uhook_point *points, unsigned int nr)
{
	struct uhook_attachment *attachment;
	int ret;

	if (!nr || (!ops->handler && !ops->ret_handler && ops->user == UHOOK_USER_NONE))
		return -EINVAL;
	if (ops->in_body && !ops->handler)
		return -EINVAL;

	mutex_lock(&uhook_ops_lock);
	ret = -EBUSY;
	if (ops->attachment)
		goto unlock;

	attachment = make_attachment(ops, nr);
	ret = PTR_ERR_OR_ZERO(attachment);
	if (ret)
		goto unlock;

	/* Whoever is hit finds the counter there. */
	ops->attachment = attachment;
	ret = attach(attachment, points);
	if (ret) {
		detach(ops->attachment);
		free_attachment(ops->attachment);
		ops->attachment = NULL;
	}
unlock:
	mutex_unlock(&uhook_ops_lock);

	return ret;
}
EXPORT_SYMBOL_GPL(uhook_register);

/**
 * uhook_apply - the filter of a hook answers otherwise than it did
 * @ops: it; nothing happens if it is not registered
 *
 * Processes that it takes now get their breakpoints, those that nobody wants
 * any more lose them.
 *
 * Context: task; sleeps.
 * Return: 0 or why uprobes refuse.
 */
int uhook_apply(struct uhook_ops *ops)
{
	struct uhook_attachment *attachment;
	unsigned int i;
	int ret = 0;

	mutex_lock(&uhook_ops_lock);
	attachment = ops->attachment;
	for (i = 0; attachment && i < attachment->nr && !ret; i++) {
		struct uhook_consumer *c = &attachment->consumers[i];

		ret = uprobe_apply(c->uprobe, &c->uc, false) ?:
		      uprobe_apply(c->uprobe, &c->uc, true);
	}
	mutex_unlock(&uhook_ops_lock);

	return ret;
}
EXPORT_SYMBOL_GPL(uhook_apply);

/**
 * uhook_unregister - a hook is not wanted any more
 * @ops: it; nothing happens if it is not registered
 * @hits: receives what it has counted in all, or NULL
 *
 * Behind it no handler runs in the kernel. A task may still be in the code of a
 * handler that is built in, which needs nothing of @ops.
 *
 * Context: task; sleeps, and waits for a grace period.
 */
void uhook_unregister(struct uhook_ops *ops, struct uhook_hits *hits)
{
	if (hits)
		memset(hits, 0, sizeof(*hits));

	mutex_lock(&uhook_ops_lock);
	if (ops->attachment) {
		detach(ops->attachment);
		if (hits) {
			uhook_hold_counts();
			uhook_read_counter(ops->attachment->counter, hits);
			uhook_release_counts();
		}
		free_attachment(ops->attachment);
		ops->attachment = NULL;
	}
	mutex_unlock(&uhook_ops_lock);
}
EXPORT_SYMBOL_GPL(uhook_unregister);

/**
 * uhook_get_words - what the code or function of a hook has counted
 * @ops: it
 * @words: receives the sums of the words of all its sites in all processes, of
 *	those that have ended too; zeros when the hook is not registered
 *
 * They are what programs have written, and nothing more can be said of them.
 *
 * Context: task; sleeps.
 */
void uhook_get_words(struct uhook_ops *ops, u64 words[UHOOK_DATA_WORDS])
{
	memset(words, 0, UHOOK_DATA_WORDS * sizeof(words[0]));

	mutex_lock(&uhook_ops_lock);
	if (ops->attachment)
		uhook_read_words(ops->attachment->counter, words);
	mutex_unlock(&uhook_ops_lock);
}
EXPORT_SYMBOL_GPL(uhook_get_words);

/**
 * uhook_hold_hits - add up what all hooks have counted, and keep it so
 *
 * For who wants to know it of many: all programs are looked at once.
 *
 * Context: task; sleeps. Up to uhook_release_hits() hooks and programs that are
 * hooked neither come nor go.
 */
void uhook_hold_hits(void)
{
	mutex_lock(&uhook_ops_lock);
	uhook_hold_counts();
}

/**
 * uhook_release_hits - undo uhook_hold_hits()
 */
void uhook_release_hits(void)
{
	uhook_release_counts();
	mutex_unlock(&uhook_ops_lock);
}

/**
 * uhook_held_hits - how often a hook was hit
 * @ops: it
 * @hits: receives it; zeros when the hook is not registered
 *
 * Context: task, behind uhook_hold_hits().
 */
void uhook_held_hits(const struct uhook_ops *ops, struct uhook_hits *hits)
{
	memset(hits, 0, sizeof(*hits));
	if (ops->attachment)
		uhook_read_counter(ops->attachment->counter, hits);
}

/**
 * uhook_get_hits - how often a hook was hit
 * @ops: it
 * @hits: receives it; zeros when the hook is not registered
 *
 * Context: task; sleeps.
 */
void uhook_get_hits(struct uhook_ops *ops, struct uhook_hits *hits)
{
	uhook_hold_hits();
	uhook_held_hits(ops, hits);
	uhook_release_hits();
}
EXPORT_SYMBOL_GPL(uhook_get_hits);
