// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: registering hooks on programs.
 *
 * A hook is a consumer of a uprobe at each of its points: uprobes find the processes and
 * insert the breakpoints. The handling of a hit, and whether the breakpoint stays, is
 * decided for each process.
 *
 * Registration is a transaction: if one point is refused, none is hooked. Hooks are added
 * and removed with uhook_ops_lock held. Tasks that are being hit find them through their
 * consumers, under RCU tasks trace.
 *
 * Unregistering removes the consumers at once. Their memory, and the hook itself, may be
 * in use until a grace period has passed. A work item waits for it, and one grace period
 * serves all hooks that were unregistered by the time it begins. A hook that is refused leaves
 * in the same way: nothing waits for handlers with uhook_ops_lock held.
 *
 * IPCOM000199350: the user gives the address and both handlers; they are checked, or
 * nothing happens.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uhook.h>
#include <linux/uhook_hooks.h>
#include <linux/uprobes.h>
#include <linux/workqueue.h>

#include "consumers.h"
#include "events.h"
#include "report.h"
#include "rings.h"
#include "sums.h"

static DEFINE_MUTEX(uhook_ops_lock);

/* Attachments that wait for a grace period, in the order of unregistering */
static LIST_HEAD(leaving);

static void detach(struct uhook_attachment *attachment)
{
	unsigned int i;

	for (i = 0; i < attachment->nr && attachment->consumers[i].uprobe; i++)
		uprobe_unregister_nosync(attachment->consumers[i].uprobe,
					 &attachment->consumers[i].uc);
}

static void free_attachment(struct uhook_attachment *attachment)
{
	if (attachment->counter->kind->end)
		attachment->counter->kind->end();
	uhook_leave_counter(attachment->counter);
	kvfree(attachment);
}

/* After uhook_hold_counts() */
static void read_attachment(const struct uhook_attachment *attachment, struct uhook_hits *hits)
{
	uhook_read_counter(attachment->counter, hits);
	hits->unreturned = atomic64_read(&attachment->unreturned);
}

static void read_hits_of(struct list_head *attachments)
{
	struct uhook_attachment *attachment;

	lockdep_assert_held(&uhook_ops_lock);

	uhook_hold_counts();
	list_for_each_entry(attachment, attachments, node)
		read_attachment(attachment, &attachment->hits);
	uhook_release_counts();
}

/* No task is in a handler of the attachment, or on the way to one. */
static void release_attachment(struct uhook_attachment *attachment)
{
	struct uhook_ops *ops = attachment->ops;
	struct uhook_hits hits = attachment->hits;
	uhook_gone_t gone = attachment->gone;
	struct uhook_attachment **pos;

	lockdep_assert_held(&uhook_ops_lock);

	for (pos = &ops->leaving; *pos != attachment; pos = &(*pos)->older)
		;
	*pos = attachment->older;
	if (attachment->report)
		*attachment->report = hits;
	free_attachment(attachment);
	if (gone)
		gone(ops, &hits);
}

/*
 * Hand over the pending records, once for all hooks that are being unregistered: programs
 * decide how many records there are.
 */
static void flush_records(const struct list_head *attachments)
{
	const struct uhook_attachment *attachment;

	list_for_each_entry(attachment, attachments, node) {
		if (attachment->counter->kind->traits & UHOOK_RECORDS) {
			uhook_flush();
			break;
		}
	}
}

/* Hooks unregistered from here on get the next grace period: the work is queued again. */
static void release_attachments(struct work_struct *work)
{
	struct uhook_attachment *attachment, *next;
	LIST_HEAD(batch);

	mutex_lock(&uhook_ops_lock);
	list_splice_init(&leaving, &batch);
	mutex_unlock(&uhook_ops_lock);
	if (list_empty(&batch))
		return;

	uprobe_unregister_sync();
	flush_records(&batch);

	mutex_lock(&uhook_ops_lock);
	read_hits_of(&batch);
	list_for_each_entry_safe(attachment, next, &batch, node) {
		release_attachment(attachment);
		cond_resched();
	}
	mutex_unlock(&uhook_ops_lock);
}

static DECLARE_WORK(release_work, release_attachments);

/* Take the hook away from its points, and leave the rest to release_work. */
static void leave(struct uhook_ops *ops, uhook_gone_t gone, struct uhook_hits *report)
{
	struct uhook_attachment *attachment = ops->attachment;

	lockdep_assert_held(&uhook_ops_lock);

	WRITE_ONCE(attachment->left, true);
	detach(attachment);
	attachment->gone = gone;
	attachment->report = report;
	attachment->older = ops->leaving;
	ops->leaving = attachment;
	ops->attachment = NULL;
	list_add_tail(&attachment->node, &leaving);
	queue_work(system_dfl_wq, &release_work);
}

static int check_ops(const struct uhook_ops *ops, unsigned int nr)
{
	const char *wrong = NULL;

	if (ops->attachment) {
		uhook_fail(ops, UHOOK_ERR_BUSY, "it is registered already");
		return -EBUSY;
	}
	if (!nr)
		wrong = "it has no points: give at least one";
	else if (!ops->handler && !ops->ret_handler && ops->user == UHOOK_USER_NONE)
		wrong = "it does nothing: set handler, ret_handler or user";
	else if ((ops->flags & UHOOK_FL_IN_BODY) && !ops->handler)
		wrong = "it has no handler for the breakpoint in the body";
	else if (ops->flags & ~UHOOK_FL_ALL)
		wrong = "it has unknown flags: use those of enum uhook_ops_flags";
	if (wrong)
		uhook_fail(ops, UHOOK_ERR_OPS, "%s", wrong);

	return wrong ? -EINVAL : 0;
}

static struct uhook_attachment *make_attachment(struct uhook_ops *ops, unsigned int nr)
{
	const struct uhook_kind *kind = uhook_kind_of(ops->user);
	struct uhook_attachment *attachment;
	int err = check_ops(ops, nr);
	unsigned int i;

	if (err)
		return ERR_PTR(err);
	if (!kind) {
		uhook_fail(ops, UHOOK_ERR_OPS, "its member user has an unknown value: %u",
			   ops->user);
		return ERR_PTR(-EINVAL);
	}

	attachment = kvzalloc(struct_size(attachment, consumers, nr), GFP_KERNEL);
	if (!attachment) {
		uhook_fail(ops, UHOOK_ERR_NO_MEMORY, "there is no memory for %u points", nr);
		return ERR_PTR(-ENOMEM);
	}

	attachment->nr = nr;
	attachment->ops = ops;
	attachment->counter = uhook_make_counter(ops, kind, nr);
	if (IS_ERR(attachment->counter)) {
		err = PTR_ERR(attachment->counter);
		kvfree(attachment);
		return ERR_PTR(err);
	}

	if (kind->begin)
		kind->begin();
	for (i = 0; i < nr; i++)
		uhook_init_consumer(&attachment->consumers[i], attachment);

	return attachment;
}

static int attach(struct uhook_attachment *attachment, const struct uhook_point *points)
{
	unsigned int i;

	for (i = 0; i < attachment->nr; i++) {
		struct uhook_consumer *c = &attachment->consumers[i];
		struct uprobe *uprobe;

		/* There may be many points. */
		if (fatal_signal_pending(current)) {
			uhook_fail(attachment->ops, UHOOK_ERR_KILLED, "the task is being killed");
			return -EINTR;
		}
		uprobe = uprobe_register_nosync(points[i].inode, points[i].offset,
						points[i].ref_ctr_offset, &c->uc);
		if (IS_ERR(uprobe)) {
			uhook_fail_point(attachment->ops, i, &points[i], PTR_ERR(uprobe));
			return PTR_ERR(uprobe);
		}
		c->uprobe = uprobe;
	}

	return 0;
}

/**
 * uhook_register_async - register a hook without waiting for handlers after an error
 * @ops: the hook
 * @points: the instructions; the array is copied
 * @nr: number of points
 * @gone: callback after an error when no handler runs any more, or NULL; as that of
 *	uhook_unregister_async(), and possibly called before this function returns
 *
 * Context: task; sleeps, but waits for no grace period.
 * Return: as uhook_register().
 */
int uhook_register_async(struct uhook_ops *ops, const struct uhook_point *points,
			 unsigned int nr, uhook_gone_t gone)
{
	const struct uhook_hits none = {};
	struct uhook_attachment *attachment;
	int ret;

	guard(mutex)(&uhook_ops_lock);
	attachment = make_attachment(ops, nr);
	if (IS_ERR(attachment)) {
		if (gone)
			gone(ops, &none);
		return PTR_ERR(attachment);
	}

	ops->attachment = attachment;
	ret = attach(attachment, points);
	/* Handlers of the first points may be running; uprobes may have added the refused one. */
	if (ret)
		leave(ops, gone, NULL);

	return ret;
}

/**
 * uhook_register - hook instructions of programs
 * @ops: the hook
 * @points: the instructions; the array is copied
 * @nr: number of points
 *
 * Applies to running processes and to those that start later, until the hook is
 * unregistered. If one of the points is refused, none is hooked, but handlers may have
 * been called for others meanwhile.
 *
 * Context: task; sleeps, and waits for a grace period if a point is refused.
 * Return: 0; -EBUSY if the hook is registered; -EINVAL if the hook does nothing, has no
 * point, an offset after the end of the file, a register that cannot be recorded, an
 * invalid address for stubs, or invalid code; -EOPNOTSUPP if the code is not for this
 * processor; -ENOMEM; -EINTR if the task is being killed; or the error with which uprobes
 * refuse a point, for example -ENOTSUPP for an instruction that cannot be probed. The
 * reason is in &uhook_ops.report or in the log, as a sentence.
 */
int uhook_register(struct uhook_ops *ops, const struct uhook_point *points, unsigned int nr)
{
	int ret = uhook_register_async(ops, points, nr, NULL);

	/* Handlers of the first points may be running, and the owner may free the hook. */
	if (ret && READ_ONCE(ops->leaving))
		uhook_barrier();

	return ret;
}
EXPORT_SYMBOL_GPL(uhook_register);

/**
 * uhook_apply - apply a changed filter of a hook
 * @ops: the hook; nothing happens if it is not registered
 * @add: insert breakpoints in processes that the filter accepts now; otherwise, remove those
 *	in processes to which no hook applies any more
 *
 * Each walks all processes that map the file.
 *
 * Context: task; sleeps.
 * Return: 0, or the error of uprobes.
 */
int uhook_apply(struct uhook_ops *ops, bool add)
{
	struct uhook_attachment *attachment;
	unsigned int i;
	int ret = 0;

	mutex_lock(&uhook_ops_lock);
	attachment = ops->attachment;
	for (i = 0; attachment && i < attachment->nr && !ret; i++) {
		struct uhook_consumer *c = &attachment->consumers[i];

		ret = uprobe_apply(c->uprobe, &c->uc, add);
	}
	mutex_unlock(&uhook_ops_lock);

	return ret;
}
EXPORT_SYMBOL_GPL(uhook_apply);

/**
 * uhook_unregister - unregister a hook
 * @ops: the hook; nothing happens if it is not registered
 * @hits: receives the total hits of the registration, or NULL
 *
 * Afterwards no handler runs in the kernel. A task may still be in the code of a built-in
 * handler, which does not use @ops. To unregister several hooks, call
 * uhook_unregister_async() for each and then uhook_barrier(), which waits once for all.
 *
 * Context: task; sleeps, and waits for a grace period.
 */
void uhook_unregister(struct uhook_ops *ops, struct uhook_hits *hits)
{
	if (hits)
		memset(hits, 0, sizeof(*hits));

	mutex_lock(&uhook_ops_lock);
	if (ops->attachment)
		leave(ops, NULL, hits);
	mutex_unlock(&uhook_ops_lock);

	uhook_barrier();
}
EXPORT_SYMBOL_GPL(uhook_unregister);

/**
 * uhook_unregister_async - unregister a hook without waiting for running handlers
 * @ops: the hook; nothing happens if it is not registered
 * @gone: callback when no handler of this registration runs any more, or NULL; called in
 *	the order of unregistering, with locks of uhook held. It must not call uhook; it
 *	may free @ops unless @ops is registered again
 *
 * Afterwards no handler begins. The hook may be registered again at once. Any number of
 * hooks that are unregistered while a grace period passes share the next one.
 *
 * Context: task; sleeps, but waits for no grace period.
 */
void uhook_unregister_async(struct uhook_ops *ops, uhook_gone_t gone)
{
	mutex_lock(&uhook_ops_lock);
	if (ops->attachment)
		leave(ops, gone, NULL);
	mutex_unlock(&uhook_ops_lock);
}
EXPORT_SYMBOL_GPL(uhook_unregister_async);

/**
 * uhook_barrier - wait for all unregistered hooks to be released
 *
 * A module calls this after its last uhook_unregister_async(), before it is unloaded.
 *
 * Context: task; sleeps, and waits for up to two grace periods, or for none if no hook is
 * being unregistered.
 */
void uhook_barrier(void)
{
	flush_work(&release_work);
}
EXPORT_SYMBOL_GPL(uhook_barrier);

/**
 * uhook_get_words - read the sums of the words of a hook's code or function
 * @ops: the hook
 * @words: receives the sums over all sites and processes, including processes that have
 *	exited; zeros if the hook is not registered
 *
 * Programs write the words, so the sums cannot be trusted.
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
 * uhook_hold_hits - add up the counts of all hooks and keep them stable
 *
 * For readers of many hooks: all programs are visited once.
 *
 * Context: task; sleeps. Until uhook_release_hits(), hooks are neither registered nor
 * unregistered.
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

static void add_hits_of(const struct uhook_attachment *attachment, struct uhook_hits *hits)
{
	struct uhook_hits some;

	read_attachment(attachment, &some);
	hits->kernel += some.kernel;
	hits->user += some.user;
	hits->jumped += some.jumped;
	hits->lost += some.lost;
	hits->missed += some.missed;
	hits->unreturned += some.unreturned;
}

/**
 * uhook_held_hits - read the hits of a hook
 * @ops: the hook
 * @hits: receives the hits of its registration, and of earlier ones whose gone callback
 *	has not been called yet
 *
 * Context: task, after uhook_hold_hits().
 */
void uhook_held_hits(const struct uhook_ops *ops, struct uhook_hits *hits)
{
	const struct uhook_attachment *attachment;

	lockdep_assert_held(&uhook_ops_lock);

	memset(hits, 0, sizeof(*hits));
	if (ops->attachment)
		add_hits_of(ops->attachment, hits);
	for (attachment = ops->leaving; attachment; attachment = attachment->older)
		add_hits_of(attachment, hits);
}

/**
 * uhook_get_hits - read the hits of a hook
 * @ops: the hook
 * @hits: receives the hits; zeros if the hook is not registered
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
