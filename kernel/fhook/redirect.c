// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: redirecting functions.
 *
 * A patch is enabled as a transaction of its sites: each gets a set that has the hooks it
 * had, and continues in the replacement. A site belongs to at most one patch. Redirects of
 * functions in modules that are not loaded wait for them. A consistent patch takes two more
 * steps: first its sites get sets that check a gate, a word that says whether to continue
 * in the replacement; then the word is written at a moment when no task is inside; then
 * sets that do not check the gate replace these sets.
 *
 * A replacement may be freed when no task is on the way to it, which a grace period
 * ensures, and no task is inside, which stack traces show if they are reliable. Without
 * reliable stack traces, modules with replacements stay loaded. The text of a module is
 * checked again before it is freed (replacers.c).
 *
 * A patch is in fhook_patches exactly while it is enabled; all under fhook_mutex.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

#include "change.h"
#include "consistency.h"
#include "core.h"
#include "function.h"
#include "redirect.h"
#include "replacers.h"
#include "report.h"
#include "retire.h"
#include "set.h"
#include "sites.h"

LIST_HEAD(fhook_patches);

static unsigned long func_of(const struct fhook_redirect *redirect)
{
	return fhook_site_func(redirect->table, redirect->site);
}

static struct fhook_redirect *end_of(const struct fhook_patch *patch)
{
	return patch->redirects + patch->num;
}

static const struct fhook_redirect *
find_in(const struct fhook_patch *patch, const struct fhook_redirect *end,
	const struct fhook_table *table, u32 site)
{
	const struct fhook_redirect *r;

	for (r = patch->redirects; r < end; r++) {
		if (r->table == table && r->site == site)
			return r;
	}

	return NULL;
}

/**
 * fhook_patch_of() - find the patch that redirects a function
 * @table: the table of its site
 * @site: the index of its site
 *
 * Return: the patch, or NULL.
 */
const struct fhook_patch *fhook_patch_of(const struct fhook_table *table,
					 u32 site)
{
	const struct fhook_patch *patch;

	lockdep_assert_held(&fhook_mutex);
	list_for_each_entry(patch, &fhook_patches, list) {
		if (find_in(patch, end_of(patch), table, site))
			return patch;
	}

	return NULL;
}

/*
 * The replacement of the function that begins at an address, in enabled patches and in the
 * part of this patch that has been checked, which is everything before @end. So following
 * replacements cannot run into a circle, except one that @end closes.
 */
static const void *replacement_of(const struct fhook_patch *patch,
				  const struct fhook_redirect *end,
				  const void *func)
{
	const struct fhook_table *table = fhook_table_of((unsigned long)func);
	const struct fhook_redirect *r;
	int site;

	site = table ? fhook_table_find(table, (unsigned long)func) : -ENOENT;
	if (site < 0)
		return NULL;

	r = find_in(patch, end, table, site);
	if (!r) {
		patch = fhook_patch_of(table, site);
		r = patch ? find_in(patch, end_of(patch), table, site) : NULL;
	}

	return r && (r < end || r->enabled) ? r->replacement : NULL;
}

/* Do both wait for the same function of a module that is not loaded? */
static bool wait_alike(const struct fhook_redirect *a,
		       const struct fhook_redirect *b)
{
	return a != b && !a->table && !b->table && a->module && b->module &&
	       !strcmp(a->module, b->module) && fhook_same_function(a->func, b->func);
}

static int check_waiting(const struct fhook_patch *patch,
			 const struct fhook_redirect *r,
			 struct fhook_report *report)
{
	const struct fhook_redirect *other;
	const struct fhook_patch *owner;

	for (other = patch->redirects; other < r; other++) {
		if (wait_alike(other, r))
			return fhook_fail(report, FHOOK_ERR_REDIRECT, -EINVAL, 0,
					  "%s [%s] is redirected twice by the same table",
					  r->func, r->module);
	}

	list_for_each_entry(owner, &fhook_patches, list) {
		for (other = owner->redirects; other < end_of(owner); other++) {
			if (owner == patch || !wait_alike(other, r))
				continue;
			return fhook_fail(report, FHOOK_ERR_TAKEN, -EBUSY, 0,
					  "%s [%s] is redirected already, by %s, when the module comes",
					  r->func, r->module, owner->name);
		}
	}

	return 0;
}

static int check_taken(const struct fhook_patch *patch,
		       const struct fhook_redirect *r,
		       struct fhook_report *report)
{
	const struct fhook_patch *owner = fhook_patch_of(r->table, r->site);
	unsigned long func = func_of(r);
	void *by;

	if (find_in(patch, r, r->table, r->site))
		return fhook_fail(report, FHOOK_ERR_REDIRECT, -EINVAL, func,
				  "%ps is redirected twice by the same table",
				  (void *)func);
	if (owner && owner != patch)
		return fhook_fail(report, FHOOK_ERR_TAKEN, -EBUSY, func,
				  "%ps is redirected already, by %s",
				  (void *)func, owner->name);
	if (!fhook_site_stale(r->table, r->site) &&
	    fhook_set_is_stub(xa_load(&r->table->used, r->site)))
		return fhook_fail(report, FHOOK_ERR_TAKEN, -EBUSY, func,
				  "calls of %ps are being traced",
				  (void *)func);
	by = klp_replacement(func);
	if (by)
		return fhook_fail(report, FHOOK_ERR_TAKEN, -EBUSY, func,
				  "%ps is live-patched, by %ps", (void *)func,
				  by);

	return 0;
}

static int check_circle(const struct fhook_patch *patch,
			const struct fhook_redirect *r,
			struct fhook_report *report)
{
	unsigned long func = func_of(r);
	const void *next;

	for (next = r->replacement; next;
	     next = replacement_of(patch, r, next)) {
		if (next == (void *)func)
			break;
	}
	if (!next)
		return 0;

	return fhook_fail(report, FHOOK_ERR_REDIRECT, -ELOOP, func,
			  next == r->replacement ?
			  "%ps cannot replace itself" :
			  "what replaces %ps leads back to it", (void *)func);
}

/* Was the table of this redirect found by the current call? */
static bool is_new(const struct fhook_redirect *r)
{
	return r->table && !r->enabled;
}

static int find_all(struct fhook_patch *patch, struct module *mod,
		    struct fhook_report *report)
{
	struct fhook_redirect *r;
	int err = 0;

	for (r = patch->redirects; r < end_of(patch) && !err; r++) {
		if (r->table || r->gone ||
		    (mod && (!r->module || strcmp(r->module, mod->name))))
			continue;
		err = fhook_redirect_find(r, mod, report);
	}

	return err;
}

static int check_all(struct fhook_patch *patch, struct fhook_report *report)
{
	struct fhook_redirect *r;
	int err = 0;

	for (r = patch->redirects; r < end_of(patch) && !err; r++) {
		if (!r->table && !r->gone)
			err = check_waiting(patch, r, report) ?:
			      fhook_replacement_check(r, report);
		else if (is_new(r))
			err = check_taken(patch, r, report) ?:
			      fhook_replacement_check(r, report) ?:
			      check_circle(patch, r, report);
	}

	return err;
}

/* Plan to let the functions of a patch continue in their replacements, or in themselves. */
static int plan_all(struct fhook_txn *txn, struct fhook_patch *patch,
		    bool redirect, const u32 *gate)
{
	struct fhook_redirect *r;
	int err = 0;

	txn->max = patch->num;
	for (r = patch->redirects; r < end_of(patch) && !err; r++) {
		if (r->table)
			err = fhook_txn_redirect(txn, r->table, r->site,
						 redirect ? (long)r->replacement : 0, gate);
	}

	return err;
}

static int change_all(struct fhook_patch *patch, bool redirect,
		      struct fhook_report *report)
{
	struct fhook_txn txn = {
		.report		= report,
		.detach		= !redirect,
		.skip_foreign	= patch->enabled,
	};
	int err = plan_all(&txn, patch, redirect, NULL);

	if (err) {
		fhook_txn_abort(&txn);
		return err;
	}

	return fhook_txn_commit(&txn);
}

/**
 * struct consistent - a consistent switch with all its transactions
 * @gated: lets the functions check the gate
 * @done: follows if no task was inside
 * @undo: follows if a task was inside
 */
struct consistent {
	struct fhook_txn	gated;
	struct fhook_txn	done;
	struct fhook_txn	undo;
};

/* Allocate all memory that the switch can need: a gate must not be left half open. */
static int plan_consistent(struct consistent *c, struct fhook_patch *patch,
			   bool redirect, const u32 *gate,
			   struct fhook_report *report)
{
	bool skip = patch->enabled;
	int err;

	c->gated = (struct fhook_txn){ .report = report, .detach = !redirect,
				       .skip_foreign = skip };
	c->done = (struct fhook_txn){ .report = report, .detach = true,
				      .skip_foreign = skip };
	c->undo = c->done;

	err = plan_all(&c->gated, patch, true, gate) ?:
	      plan_all(&c->done, patch, redirect, NULL) ?:
	      fhook_txn_reverse(&c->undo, &c->gated);
	if (!err) {
		fhook_txn_hold(&c->done);
		fhook_txn_hold(&c->undo);
		return 0;
	}

	fhook_txn_abort(&c->undo);
	fhook_txn_abort(&c->done);
	fhook_txn_abort(&c->gated);

	return err;
}

/*
 * Until the switch the gate has its previous value. When a patch is restored, a task that is
 * in a trampoline, and so in the function, may already be on the way to the replacement.
 */
static int switch_planned(struct consistent *c, struct fhook_looks *looks,
			  u32 *gate, bool redirect, struct fhook_report *report)
{
	struct fhook_report later;
	int err = fhook_txn_commit(&c->gated);

	/* Errors that these find in a slot are not the reason of the failure. */
	c->done.report = &later;
	c->undo.report = &later;
	if (err) {
		fhook_txn_abort_held(&c->undo);
		fhook_txn_abort_held(&c->done);
		return err;
	}

	err = fhook_switch_consistently(looks, gate, redirect, report);
	fhook_txn_commit_held(err ? &c->undo : &c->done);
	fhook_txn_abort_held(err ? &c->done : &c->undo);

	return err;
}

/* If a task is inside, the caller waits without the lock, and tries again. */
static int change_consistently(struct fhook_patch *patch, bool redirect,
			       struct fhook_looks *looks,
			       struct fhook_report *report)
{
	struct fhook_ranges *ranges;
	struct consistent c;
	u32 *gate;
	int err;

	ranges = fhook_patch_ranges(patch, true, !redirect, report);
	if (IS_ERR(ranges))
		return PTR_ERR(ranges);

	looks->ranges = ranges;
	gate = fhook_gate_alloc(!redirect);
	err = gate ? plan_consistent(&c, patch, redirect, gate, report) :
		     fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
				"no memory to switch %s", patch->name);
	if (!err)
		err = switch_planned(&c, looks, gate, redirect, report);
	fhook_gate_put(gate);

	return err;
}

static int change(struct fhook_patch *patch, bool redirect,
		  struct fhook_looks *looks, struct fhook_report *report)
{
	if (looks && patch->flags & FHOOK_PATCH_CONSISTENT && !fhook_switched_off)
		return change_consistently(patch, redirect, looks, report);

	return change_all(patch, redirect, report);
}

static void set_enabled(struct fhook_patch *patch)
{
	struct fhook_redirect *r;

	for (r = patch->redirects; r < end_of(patch); r++)
		r->enabled = r->table;
}

static void forget_new(struct fhook_patch *patch)
{
	struct fhook_redirect *r;

	for (r = patch->redirects; r < end_of(patch); r++) {
		if (is_new(r))
			r->table = NULL;
	}
}

/* Hold the modules with replacements, except the patch's own. */
static int hold_modules(struct fhook_patch *patch, struct fhook_report *report)
{
	struct fhook_redirect *r;
	struct module *mod;
	bool held;

	for (r = patch->redirects; r < end_of(patch); r++) {
		scoped_guard(preempt) {
			mod = __module_address((unsigned long)r->replacement);
			held = mod && mod != patch->owner &&
			       try_module_get(mod);
		}
		r->held = held ? mod : NULL;
		if (!mod || mod == patch->owner || held)
			continue;

		return fhook_fail(report, FHOOK_ERR_REDIRECT, -ENOENT, 0,
				  "the module with the replacement of '%s' is being removed",
				  r->func);
	}

	return 0;
}

static void release_modules(struct fhook_patch *patch)
{
	struct fhook_redirect *r;

	for (r = patch->redirects; r < end_of(patch); r++) {
		module_put(r->held);
		r->held = NULL;
	}
}

static int check_patch(const struct fhook_patch *patch,
		       struct fhook_report *report)
{
	const struct fhook_patch *other;

	if (!patch || !patch->name || !patch->redirects || !patch->num)
		return fhook_fail(report, FHOOK_ERR_OPS, -EINVAL, 0,
				  "the patch has no redirects or no name");
	if (patch->flags & ~FHOOK_PATCH_CONSISTENT)
		return fhook_fail(report, FHOOK_ERR_OPS, -EINVAL, 0,
				  "the patch has flags that do not exist: %#x",
				  patch->flags);
	if (patch->flags & FHOOK_PATCH_CONSISTENT &&
	    !IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE))
		return fhook_fail(report, FHOOK_ERR_OPS, -EOPNOTSUPP, 0,
				  "FHOOK_PATCH_CONSISTENT needs reliable stack traces, which this architecture does not have");
	/* fhook_module_going() may have run already. */
	if (patch->owner && patch->owner->state == MODULE_STATE_GOING)
		return fhook_fail(report, FHOOK_ERR_OPS, -ENODEV, 0,
				  "the module %s is being removed",
				  patch->owner->name);
	if (fhook_switched_off)
		return fhook_fail(report, FHOOK_ERR_OFF, -ENODEV, 0, "fhook is switched off");

	list_for_each_entry(other, &fhook_patches, list) {
		if (other == patch)
			return fhook_fail(report, FHOOK_ERR_BUSY, -EBUSY, 0,
					  "the patch is enabled already");
	}

	return 0;
}

static int enable_patch(struct fhook_patch *patch, struct fhook_looks *looks,
			struct fhook_report *report)
{
	struct fhook_redirect *r;
	int err;

	lockdep_assert_held(&fhook_mutex);
	patch->enabled = false;
	for (r = patch->redirects; r < end_of(patch); r++) {
		r->table = NULL;
		r->enabled = false;
		r->gone = false;
		r->held = NULL;
	}

	err = hold_modules(patch, report) ?:
	      find_all(patch, NULL, report) ?:
	      check_all(patch, report) ?:
	      fhook_replacers_add(patch, report) ?:
	      change(patch, true, looks, report);
	if (err) {
		release_modules(patch);
		return err;
	}

	set_enabled(patch);
	patch->enabled = true;
	patch->since = ktime_get_real_seconds();
	list_add_tail(&patch->list, &fhook_patches);
	fhook_replacers_use(patch);

	return 0;
}

static void report_patch(const struct fhook_patch *patch,
			 const struct fhook_report *report)
{
	fhook_report_out(patch ? patch->report : NULL,
			 patch ? patch->name : NULL, report);
}

/**
 * fhook_redirect() - redirect functions
 * @patch: the functions and their replacements
 *
 * All or nothing: on error no function is redirected, and &fhook_patch.report or the log
 * says what failed and where. Without %FHOOK_PATCH_CONSISTENT, functions are redirected one
 * after the other, and a task inside one of them continues there. May sleep; with that
 * flag, fhook checks that no task is inside: up to 20 times, at least 25 ms apart, and less
 * often if there are many tasks, because all CPUs stop during a check. It waits for no more
 * than 10 s in all, and for no grace period if all checks fail. Between the checks, other
 * hooks can be changed.
 *
 * Without reliable stack traces (arm64 in Linux 6.12), modules with replacements stay
 * loaded forever once this has returned 0. As with klp_enable_patch(), the counterpart in
 * mainline, the init function of such a module must not fail after that.
 *
 * Return: 0; -EINVAL for a patch or a redirect that makes no sense, -ELOOP if it leads
 * back; -ENOENT if there is no such function; -EOPNOTSUPP if it has no slot, or if this
 * architecture does not support consistent patches; -EBUSY if the patch is enabled
 * already, if someone else has redirected or live-patched the function, if its calls are
 * being traced, or if a task was inside at each try; -EFAULT if a slot does not have the
 * expected contents; -ENODEV if fhook is switched off; -ENOMEM or -ENOSPC.
 */
int fhook_redirect(struct fhook_patch *patch)
{
	struct fhook_looks looks = {};
	struct fhook_report report;
	int err;

	do {
		mutex_lock(&fhook_mutex);
		err = check_patch(patch, &report) ?: enable_patch(patch, &looks, &report);
		mutex_unlock(&fhook_mutex);
	} while (fhook_look_again(&looks, err, &report));
	if (err)
		report_patch(patch, &report);
	else
		pr_info("patch %s is enabled\n", patch->name);

	return err;
}
EXPORT_SYMBOL_GPL(fhook_redirect);

static bool is_enabled(const struct fhook_patch *patch)
{
	const struct fhook_patch *other;

	list_for_each_entry(other, &fhook_patches, list) {
		if (other == patch)
			return true;
	}

	return false;
}

/* Without @looks, one function after the other. On error the patch stays enabled. */
static int take_back(struct fhook_patch *patch, struct fhook_ranges **ranges,
		     struct fhook_looks *looks, struct fhook_report *report)
{
	int err;

	lockdep_assert_held(&fhook_mutex);
	if (!is_enabled(patch))
		return fhook_fail(report, FHOOK_ERR_NOT_REGISTERED, -EINVAL, 0,
				  "the patch is not enabled");

	*ranges = fhook_patch_ranges(patch, false, true, report);
	if (IS_ERR(*ranges))
		return PTR_ERR(*ranges);

	err = change(patch, false, looks, report);
	if (err)
		kfree(*ranges);
	else
		list_del(&patch->list);

	return err;
}

/* Wait until every task on the way to a replacement has arrived, and none is inside. */
static void leave(struct fhook_patch *patch, struct fhook_ranges *ranges)
{
	fhook_synchronize();
	fhook_wait_until_left(ranges, patch->name);
	kfree(ranges);
	release_modules(patch);
	pr_info("patch %s is disabled\n", patch->name);
}

/**
 * fhook_restore() - restore redirected functions
 * @patch: the patch that redirected them
 *
 * When this returns, no task is in a replacement, and the patch and its module may be
 * freed. So it may take as long as a call of a replacement, and must not be called from
 * one. May sleep. Without reliable stack traces (arm64 in Linux 6.12), a task may still
 * sleep in a replacement: modules with replacements stay loaded there from the first
 * fhook_redirect() on.
 *
 * The counterpart in mainline is writing to a live patch's file "enabled".
 *
 * Return: 0; or, with all functions still redirected, -EINVAL if the patch is not enabled;
 * -EBUSY if it has %FHOOK_PATCH_CONSISTENT and a task was inside at each try; -ENOMEM or
 * -ENOSPC.
 */
int fhook_restore(struct fhook_patch *patch)
{
	struct fhook_looks looks = {};
	struct fhook_ranges *ranges;
	struct fhook_report report;
	int err;

	do {
		mutex_lock(&fhook_mutex);
		err = take_back(patch, &ranges, &looks, &report);
		mutex_unlock(&fhook_mutex);
	} while (fhook_look_again(&looks, err, &report));
	if (err)
		report_patch(patch, &report);
	else
		leave(patch, ranges);

	return err;
}
EXPORT_SYMBOL_GPL(fhook_restore);

/**
 * fhook_refuse_livepatch() - check whether a function may be live-patched
 * @func: address of the function
 *
 * For livepatch, which would silently disable a redirect of the function. It calls this
 * after klp_replacement() already reports its patch, so that if both sides come at the same
 * time, at least one of them sees the other.
 *
 * Return: 0, or -EBUSY, which the log explains.
 */
int fhook_refuse_livepatch(unsigned long func)
{
	const struct fhook_table *table;
	const struct fhook_patch *patch;
	int site;

	guard(mutex)(&fhook_mutex);
	table = fhook_table_of(func);
	site = table ? fhook_table_find(table, func) : -ENOENT;
	patch = site < 0 ? NULL : fhook_patch_of(table, site);
	if (!patch)
		return 0;

	pr_err("%ps is redirected by %s, and cannot be live-patched until that ends\n",
	       (void *)func, patch->name);

	return -EBUSY;
}

/**
 * fhook_patches_attach() - redirect functions of a module that is being loaded
 * @mod: the module
 * @report: report of the error
 *
 * While fhook is switched off, the patches only claim the functions, so that nothing else
 * that excludes a redirect comes before fhook_patches_on().
 *
 * Return: 0 or an error.
 */
int fhook_patches_attach(struct module *mod, struct fhook_report *report)
{
	struct fhook_patch *patch;
	int err;

	lockdep_assert_held(&fhook_mutex);
	list_for_each_entry(patch, &fhook_patches, list) {
		err = find_all(patch, mod, report) ?: check_all(patch, report);
		if (!err && !fhook_switched_off)
			err = change_all(patch, true, report);
		if (err) {
			forget_new(patch);
			return err;
		}
		set_enabled(patch);
	}

	return 0;
}

/**
 * fhook_patches_on() - redirect the functions of all patches when fhook is switched on
 * @report: report of the error
 *
 * Return: 0 or an error.
 */
int fhook_patches_on(struct fhook_report *report)
{
	struct fhook_patch *patch;
	int err = 0;

	lockdep_assert_held(&fhook_mutex);
	list_for_each_entry(patch, &fhook_patches, list) {
		err = change_all(patch, true, report);
		if (err)
			break;
	}

	return err;
}

static bool is_of(const struct fhook_redirect *r,
		  const struct fhook_table *table)
{
	if (!r->module || !table->mod)
		return !r->module && !table->mod;

	return !strcmp(r->module, table->mod->name);
}

/**
 * fhook_patches_forget() - forget sites that are going away
 * @table: the table of the sites
 * @first: index of the first site
 * @last: index after the last site
 * @init: the sites are in init text, and the rest of the table stays
 */
void fhook_patches_forget(struct fhook_table *table, u32 first, u32 last,
			  bool init)
{
	struct fhook_patch *patch;
	struct fhook_redirect *r;

	lockdep_assert_held(&fhook_mutex);
	list_for_each_entry(patch, &fhook_patches, list) {
		for (r = patch->redirects; r < end_of(patch); r++) {
			/* Do not look for it until the module is loaded again. */
			if (!init && is_of(r, table))
				r->gone = false;
			if (r->table != table || r->site < first ||
			    r->site >= last)
				continue;
			r->table = NULL;
			r->enabled = false;
			r->gone = init;
		}
	}
}

static struct fhook_patch *patch_owned_by(const struct module *mod)
{
	struct fhook_patch *patch;

	list_for_each_entry(patch, &fhook_patches, list) {
		if (patch->owner == mod)
			return patch;
	}

	return NULL;
}

/**
 * fhook_patches_of_going() - restore the enabled patches of a module that is being unloaded
 * @mod: the module
 *
 * If it has replacements, no task is in its functions afterwards. Cannot fail. Without
 * memory it tries again, and releases the lock between the tries, because other tasks may
 * need it to free memory.
 */
void fhook_patches_of_going(struct module *mod)
{
	struct fhook_ranges *ranges;
	struct fhook_report report;
	struct fhook_patch *patch;
	int err;

	for (;;) {
		mutex_lock(&fhook_mutex);
		patch = patch_owned_by(mod);
		err = patch ? take_back(patch, &ranges, NULL, &report) : 0;
		mutex_unlock(&fhook_mutex);
		if (!patch)
			break;
		if (err) {
			pr_warn_ratelimited("%s: %s; trying again\n", patch->name, report.text);
			msleep(100);
			continue;
		}
		pr_err("module %s goes without restoring what %s replaces: restored\n",
		       mod->name, patch->name);
		leave(patch, ranges);
	}
	fhook_replacer_forget(mod);
}
