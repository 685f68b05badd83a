// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: registering hooks.
 *
 * Registering resolves the filters of a user into sites, plans the change of each site and
 * commits all changes, or none. Unregistering takes the hook from its sites, at once, and hands
 * it to retire.c; the ops may be freed after no CPU can be running in its callback any more.
 * Unregistering cannot fail: a site that cannot leave its set keeps it, with the call removed
 * from the trampoline.
 *
 * A hook is in fhook_hooks exactly while it is registered. Its memory stays until the last set
 * with it is gone, since trampolines count in it. Counterparts in mainline: fprobe.c and
 * register_ftrace_function().
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/err.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "change.h"
#include "core.h"
#include "frame.h"
#include "hook.h"
#include "pattern.h"
#include "report.h"
#include "retire.h"
#include "set.h"
#include "span.h"

static u64 last_seq;

static void report_ops(const struct fhook_ops *ops,
		       const struct fhook_report *report)
{
	fhook_report_out(ops ? ops->report : NULL, ops ? ops->name : NULL,
			 report);
}

static struct module *owner_of(const struct fhook_ops *ops)
{
	return fhook_module_of(ops->entry ? (void *)ops->entry :
					    (void *)ops->exit);
}

static int check_ops(const struct fhook_ops *ops, struct fhook_report *report)
{
	const struct module *owner;

	if (!ops || !ops->name || (!ops->entry && !ops->exit))
		return fhook_fail(report, FHOOK_ERR_OPS, -EINVAL, 0,
				  "the ops has no callback or no name");
	if (ops->data_size > FHOOK_MAX_DATA)
		return fhook_fail(report, FHOOK_ERR_OPS, -EINVAL, 0,
				  "the ops wants %zu bytes for each call, more than %u",
				  ops->data_size, FHOOK_MAX_DATA);
	if (ops->data_size && !ops->exit)
		return fhook_fail(report, FHOOK_ERR_OPS, -EINVAL, 0,
				  "the ops has data_size but no exit callback: set exit, or data_size to 0");
	if (ops->entry && ops->exit &&
	    fhook_module_of(ops->entry) != fhook_module_of(ops->exit))
		return fhook_fail(report, FHOOK_ERR_OPS, -EINVAL, 0,
				  "the callbacks of the ops are in two modules");
	if (ops->flags & ~(FHOOK_FL_REGS | FHOOK_FL_UNGUARDED |
			   FHOOK_FL_LOOSE))
		return fhook_fail(report, FHOOK_ERR_OPS, -EINVAL, 0,
				  "the ops has flags that do not exist: %#x",
				  ops->flags);
	if (ops->hook)
		return fhook_fail(report, FHOOK_ERR_BUSY, -EBUSY, 0,
				  "the ops is registered already, or is being retired");
	/* fhook_module_going() may have run already. */
	owner = owner_of(ops);
	if (owner && owner->state == MODULE_STATE_GOING)
		return fhook_fail(report, FHOOK_ERR_OPS, -ENODEV, 0,
				  "the module %s is being removed",
				  owner->name);
	if (fhook_switched_off)
		return fhook_fail(report, FHOOK_ERR_OFF, -ENODEV, 0,
				  "fhook is switched off");

	return 0;
}

static struct fhook_hook *hook_alloc(struct fhook_ops *ops,
				     struct fhook_report *report)
{
	struct fhook_hook *hook;
	int err;

	hook = kzalloc(sizeof(*hook), GFP_KERNEL);
	if (hook)
		hook->stat = alloc_percpu(struct fhook_stat);
	if (!hook || !hook->stat) {
		kfree(hook);
		err = fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
				 "no memory for a hook");
		return ERR_PTR(err);
	}

	INIT_LIST_HEAD(&hook->spans);
	hook->ops = ops;
	hook->exit = ops->exit;
	hook->owner = owner_of(ops);
	hook->sets = 1;

	return hook;
}

/* Free the filters and spans, which a hook has only while it is registered. */
static void release_functions(struct fhook_hook *hook)
{
	fhook_filter_free(hook->notfilter);
	fhook_filter_free(hook->filter);
	fhook_spans_free(&hook->spans);
}

static int parse_filters(const char *filter, const char *notfilter,
			 struct fhook_hook *hook, struct fhook_report *report)
{
	hook->filter = fhook_filter_parse(filter ?: "", report);
	if (IS_ERR(hook->filter)) {
		int err = PTR_ERR(hook->filter);

		hook->filter = NULL;
		return err;
	}

	if (!notfilter || !*skip_spaces(notfilter))
		return 0;

	hook->notfilter = fhook_filter_parse(notfilter, report);
	if (IS_ERR(hook->notfilter)) {
		int err = PTR_ERR(hook->notfilter);

		hook->notfilter = NULL;
		return err;
	}

	return 0;
}

/* Resolve the filters of a hook again, as an ops requires. */
static int select_spans(struct fhook_hook *hook, const struct fhook_ops *ops,
			struct list_head *spans, struct fhook_report *report)
{
	int err = fhook_spans_select(hook, spans, report);

	if (err || (ops && ops->flags & FHOOK_FL_LOOSE))
		return err;

	return fhook_filter_check(hook->filter, report);
}

/* Attach a new hook to its spans. */
static int hook_attach(struct fhook_hook *hook, struct fhook_report *report)
{
	struct fhook_txn txn = { .report = report };
	LIST_HEAD(none);
	int err;

	hook->seq = ++last_seq;
	hook->ops->hook = hook;
	err = fhook_spans_change(&txn, hook, &none, &hook->spans);
	if (err) {
		hook->ops->hook = NULL;
		return err;
	}

	list_add_tail(&hook->list, &fhook_hooks);
	if (hook->ops->tally)
		hook->ops->tally->hooks++;

	return 0;
}

/**
 * struct request - arguments of one of the ways to register
 * @filter: functions to hook, or NULL
 * @notfilter: functions among them not to hook, or NULL
 * @addrs: addresses of the functions, if @filter is NULL
 * @num: number of addresses
 */
struct request {
	const char		*filter;
	const char		*notfilter;
	const unsigned long	*addrs;
	unsigned int		num;
};

static int resolve(struct fhook_hook *hook, const struct request *request,
		   struct fhook_report *report)
{
	int err;

	if (!request->filter && (!request->addrs || !request->num))
		return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
				  "no function was named");

	if (!request->filter)
		return fhook_spans_by_addr(&hook->spans, request->addrs,
					   request->num, report);

	err = parse_filters(request->filter, request->notfilter, hook, report);
	if (err)
		return err;

	return select_spans(hook, hook->ops, &hook->spans, report);
}

static int do_register(struct fhook_ops *ops, const struct request *request)
{
	struct fhook_report report;
	struct fhook_hook *hook;
	int err;

	mutex_lock(&fhook_mutex);
	err = check_ops(ops, &report);
	if (err)
		goto out;

	hook = hook_alloc(ops, &report);
	err = PTR_ERR_OR_ZERO(hook);
	if (err)
		goto out;

	err = resolve(hook, request, &report);
	if (!err && ops->exit)
		err = fhook_stacks_want(&report);
	if (!err) {
		err = hook_attach(hook, &report);
		if (err && ops->exit)
			fhook_stacks_put();
	}
	if (err) {
		release_functions(hook);
		fhook_hook_put(hook);
	}
out:
	mutex_unlock(&fhook_mutex);
	if (err)
		report_ops(ops, &report);

	return err;
}

/**
 * fhook_register() - hook the functions that match a filter
 * @ops: the hook
 * @filter: patterns, separated by white space: NAME, a glob, or either followed by ":mod:MODULE"
 *	or " [MODULE]", or ":mod:MODULE" alone. They also apply to modules that are loaded later,
 *	before their init runs. A pattern that matches nothing is an error, unless it names a
 *	module that is not loaded yet.
 * @notfilter: patterns of functions not to hook, or NULL
 *
 * All or nothing: on error no function is hooked, and &fhook_ops.report or the log says what
 * failed and where. Callbacks may run before this returns. May sleep.
 *
 * The counterpart in mainline is register_fprobe().
 *
 * Return: 0; -EINVAL for a bad ops or pattern; -ENOENT if there is no such function; -EOPNOTSUPP
 * if it has no slot; -EBUSY if the ops is registered or still being retired; -EFAULT if a slot
 * does not have the expected contents; -ENODEV if fhook is switched off, or the module of the
 * callbacks is being unloaded; -ENOMEM or -ENOSPC.
 */
int fhook_register(struct fhook_ops *ops, const char *filter,
		   const char *notfilter)
{
	struct request request = {
		.filter		= filter ?: "",
		.notfilter	= notfilter,
	};

	return do_register(ops, &request);
}
EXPORT_SYMBOL_GPL(fhook_register);

/**
 * fhook_register_ips() - hook functions by address
 * @ops: the hook
 * @addrs: addresses of the functions, or of their slots
 * @num: number of addresses
 *
 * As fhook_register(), but for these functions only: functions of a module are not hooked again
 * when the module is loaded again. The counterpart is register_fprobe_ips().
 *
 * Return: as fhook_register(); -ENOENT if an address has no slot, -EINVAL if there are no
 * addresses.
 */
int fhook_register_ips(struct fhook_ops *ops, const unsigned long *addrs,
		       unsigned int num)
{
	struct request request = {
		.addrs	= addrs,
		.num	= num,
	};

	return do_register(ops, &request);
}
EXPORT_SYMBOL_GPL(fhook_register_ips);

static int check_name(const char *name, struct fhook_report *report)
{
	if (*name && !strpbrk(name, " \t\n:*?["))
		return 0;

	return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
			  "'%s' is not the name of one function", name);
}

/* Join names into a filter, which the caller frees. */
static char *filter_of(const char *const *syms, unsigned int num,
		       struct fhook_report *report)
{
	size_t size = 1;
	char *filter, *pos;
	unsigned int i;
	int err;

	for (i = 0; i < num; i++) {
		err = check_name(syms[i], report);
		if (err)
			return ERR_PTR(err);
		size += strlen(syms[i]) + 1;
	}

	filter = kvzalloc(size, GFP_KERNEL);
	if (!filter) {
		err = fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
				 "no memory for %u names", num);
		return ERR_PTR(err);
	}

	pos = filter;
	for (i = 0; i < num; i++)
		pos += sprintf(pos, "%s ", syms[i]);

	return filter;
}

/**
 * fhook_register_syms() - hook functions by name
 * @ops: the hook
 * @syms: names of functions, without globs
 * @num: number of names
 *
 * As fhook_register() with these names as the filter. The counterpart is register_fprobe_syms().
 *
 * Return: as fhook_register().
 */
int fhook_register_syms(struct fhook_ops *ops, const char *const *syms,
			unsigned int num)
{
	struct fhook_report report;
	char *filter;
	int err;

	filter = filter_of(syms, num, &report);
	if (IS_ERR(filter)) {
		report_ops(ops, &report);
		return PTR_ERR(filter);
	}

	err = fhook_register(ops, filter, NULL);
	kvfree(filter);

	return err;
}
EXPORT_SYMBOL_GPL(fhook_register_syms);

/* A hook that is being retired is in no list. */
static bool is_registered(const struct fhook_ops *ops)
{
	lockdep_assert_held(&fhook_mutex);

	return ops && ops->hook && !list_empty(&ops->hook->list);
}

static int check_registered(const struct fhook_ops *ops,
			    struct fhook_report *report)
{
	if (is_registered(ops))
		return 0;

	return fhook_fail(report, FHOOK_ERR_NOT_REGISTERED, -EINVAL, 0,
			  "the ops is not registered");
}

static int retarget(struct fhook_hook *hook, const char *filter,
		    const char *notfilter, struct fhook_report *report)
{
	struct fhook_txn txn = { .report = report };
	struct fhook_hook new = { };
	LIST_HEAD(spans);
	LIST_HEAD(old);
	int err;

	err = parse_filters(filter, notfilter, &new, report);
	if (!err)
		err = select_spans(&new, hook->ops, &spans, report);
	if (!err && !fhook_switched_off)
		err = fhook_spans_change(&txn, hook, &hook->spans, &spans);

	if (!err) {
		/* Either list may be empty, which list_swap() does not support. */
		list_splice_init(&hook->spans, &old);
		list_splice_init(&spans, &hook->spans);
		swap(hook->filter, new.filter);
		swap(hook->notfilter, new.notfilter);
	}
	fhook_spans_free(&spans);
	fhook_spans_free(&old);
	fhook_filter_free(new.filter);
	fhook_filter_free(new.notfilter);

	return err;
}

/**
 * fhook_retarget() - change the functions of a hook
 * @ops: the hook, registered
 * @filter: as for fhook_register()
 * @notfilter: as for fhook_register()
 *
 * Functions that match both the old and the new filters stay hooked all the time. All or nothing.
 * May sleep.
 *
 * Return: as fhook_register(); -EINVAL if the ops is not registered.
 */
int fhook_retarget(struct fhook_ops *ops, const char *filter,
		   const char *notfilter)
{
	struct fhook_report report;
	int err;

	mutex_lock(&fhook_mutex);
	err = check_registered(ops, &report);
	if (!err)
		err = retarget(ops->hook, filter, notfilter, &report);
	mutex_unlock(&fhook_mutex);
	if (err)
		report_ops(ops, &report);

	return err;
}
EXPORT_SYMBOL_GPL(fhook_retarget);

/**
 * fhook_check_filter() - check whether a filter would match functions
 * @filter: as for fhook_register()
 * @report: report of the error in the filter
 *
 * Return: 0, or as fhook_register().
 */
int fhook_check_filter(const char *filter, struct fhook_report *report)
{
	struct fhook_hook hook = { };
	LIST_HEAD(spans);
	int err;

	mutex_lock(&fhook_mutex);
	err = parse_filters(filter, NULL, &hook, report);
	if (!err)
		err = select_spans(&hook, NULL, &spans, report);
	fhook_spans_free(&spans);
	fhook_filter_free(hook.filter);
	mutex_unlock(&fhook_mutex);

	return err;
}
EXPORT_SYMBOL_GPL(fhook_check_filter);

/* After the grace period: the user may free or reuse the ops. */
static void hook_done(struct fhook_retired *retired)
{
	struct fhook_hook *hook = container_of(retired, struct fhook_hook,
					       retired);
	struct module *owner = hook->pinned ? hook->owner : NULL;
	struct fhook_ops *ops = hook->ops;
	fhook_done_t done = hook->done;

	mutex_lock(&fhook_mutex);
	ops->hook = NULL;
	fhook_hook_put(hook);
	mutex_unlock(&fhook_mutex);

	if (done)
		done(ops);
	module_put(owner);
}

/* Save the counts of a hook that is being removed; later hits are not counted. */
static void keep_counts(const struct fhook_hook *hook)
{
	struct fhook_tally *tally = hook->ops->tally;
	u64 hits, missed;

	if (!tally)
		return;

	fhook_hook_count(hook, &hits, &missed);
	tally->hits += hits;
	tally->missed += missed;
	tally->hooks--;
}

/**
 * fhook_hook_detach() - take a hook from all its sites permanently
 * @hook: the hook, registered
 *
 * Cannot fail. The grace period begins here.
 */
void fhook_hook_detach(struct fhook_hook *hook)
{
	struct fhook_report report;
	struct fhook_txn txn = { .report = &report, .detach = true };
	LIST_HEAD(none);
	int err;

	lockdep_assert_held(&fhook_mutex);
	err = fhook_spans_change(&txn, hook, &hook->spans, &none);
	if (err)
		pr_warn("%s: %s; its functions keep their trampolines, without the call\n",
			hook->ops->name, report.text);
	if (err || txn.foreign)
		fhook_set_kill(hook);

	/* Functions that return from now on find no callback. */
	WRITE_ONCE(hook->exit, NULL);
	if (hook->ops->exit)
		fhook_stacks_put();
	list_del_init(&hook->list);
	keep_counts(hook);
	release_functions(hook);
	hook->pinned = hook->owner && try_module_get(hook->owner);
	fhook_retire(&hook->retired, NULL, hook_done);
}

/**
 * fhook_unregister_async() - unregister a hook without waiting
 * @ops: the hook
 * @done: called when the ops may be freed or registered again, or NULL
 *
 * When this returns, no slot leads to the callback any more, but a task that was in a trampoline
 * may still call it, possibly much later. No task can call it after @done has been called or
 * fhook_barrier() has returned; no other grace period guarantees this. The module of the callback
 * stays pinned until then. A module that is being removed must call fhook_barrier() first. May
 * sleep.
 *
 * Return: 0, or -EINVAL if the ops is not registered.
 */
int fhook_unregister_async(struct fhook_ops *ops, fhook_done_t done)
{
	struct fhook_report report;
	int err;

	mutex_lock(&fhook_mutex);
	err = check_registered(ops, &report);
	if (!err) {
		ops->hook->done = done;
		fhook_hook_detach(ops->hook);
	}
	mutex_unlock(&fhook_mutex);
	if (err)
		report_ops(ops, &report);

	return err;
}
EXPORT_SYMBOL_GPL(fhook_unregister_async);

/**
 * fhook_unregister() - unregister a hook
 * @ops: the hook
 *
 * When this returns, the callback is not running and will not run again, and the ops may be freed
 * or registered again. Waits for a grace period, which takes a while; to unregister many, use
 * fhook_unregister_async() and one fhook_barrier(). Not to be called from a &fhook_done_t, nor with
 * the lock of CPU hotplug held. May sleep.
 *
 * The counterpart in mainline is unregister_fprobe().
 *
 * Return: 0, or -EINVAL if the ops is not registered.
 */
int fhook_unregister(struct fhook_ops *ops)
{
	int err = fhook_unregister_async(ops, NULL);

	if (!err)
		fhook_barrier();

	return err;
}
EXPORT_SYMBOL_GPL(fhook_unregister);

/**
 * fhook_is_registered() - check whether an ops is registered
 * @ops: the ops
 *
 * Return: true from when fhook_register() succeeded until it is unregistered.
 */
bool fhook_is_registered(const struct fhook_ops *ops)
{
	guard(mutex)(&fhook_mutex);

	return is_registered(ops);
}
EXPORT_SYMBOL_GPL(fhook_is_registered);

/**
 * fhook_count() - count the hits of a hook
 * @ops: the hook; both counts are 0 if it is not registered
 * @hits: set to the number of calls of the callback
 * @missed: set to the number of calls that the recursion guard refused, or for which there was no
 *	room to save the return address
 */
void fhook_count(const struct fhook_ops *ops, u64 *hits, u64 *missed)
{
	*hits = 0;
	*missed = 0;

	guard(mutex)(&fhook_mutex);
	if (is_registered(ops))
		fhook_hook_count(ops->hook, hits, missed);
}
EXPORT_SYMBOL_GPL(fhook_count);

/**
 * fhook_tally_add() - keep the counts of an ops while it is not registered
 * @tally: the storage of the counts; its name is set, the rest is zero
 *
 * An ops with this tally may be registered already. May sleep.
 */
void fhook_tally_add(struct fhook_tally *tally)
{
	guard(mutex)(&fhook_mutex);
	list_add_tail(&tally->list, &fhook_tallies);
}
EXPORT_SYMBOL_GPL(fhook_tally_add);

/**
 * fhook_tally_remove() - discard the counts
 * @tally: the storage; no ops that refers to it is registered; may be freed afterwards
 *
 * May sleep.
 */
void fhook_tally_remove(struct fhook_tally *tally)
{
	guard(mutex)(&fhook_mutex);
	WARN_ON_ONCE(tally->hooks);
	list_del(&tally->list);
}
EXPORT_SYMBOL_GPL(fhook_tally_remove);
