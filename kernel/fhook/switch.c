// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the off switch.
 *
 * Switching off removes every hook and every redirect from every site, at once and
 * without allocating memory, and calls in progress return without exit callbacks.
 * Hooks keep their spans, and patches their sites, so that switching on restores
 * them, in their order. While fhook is off, nothing can be registered, but hooks
 * can be unregistered; modules loaded in this state get their hooks and redirects when
 * fhook is switched on, but patches that wait for them find their functions before, and
 * keep them from live patches. Extensions end their work, and do not restart it by themselves. The
 * mainline counterpart is ftrace_enabled.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/init.h>
#include <linux/memory.h>
#include <linux/string.h>

#include "change.h"
#include "core.h"
#include "extension.h"
#include "redirect.h"
#include "set.h"
#include "sites.h"
#include "span.h"
#include "switch.h"

static int __init fhook_param(char *str)
{
	if (!strcmp(str, "off"))
		fhook_switched_off = true;
	else
		pr_err("'fhook=%s' is not known; 'fhook=off' leaves every function unhooked\n",
		       str);

	return 1;
}
__setup("fhook=", fhook_param);

/* Allocates nothing, so that it works when it is needed most. */
static void switch_off(void)
{
	struct fhook_table *table;
	struct fhook_hook *hook;
	struct fhook_set *set;
	unsigned long site;
	bool all = true;

	list_for_each_entry(table, &fhook_tables, list)
		all &= fhook_table_clear(table);
	if (!all)
		fhook_set_kill(NULL);
	list_for_each_entry(hook, &fhook_hooks, list)
		WRITE_ONCE(hook->exit, NULL);

	list_for_each_entry(table, &fhook_tables, list) {
		xa_for_each(&table->used, site, set) {
			if (xa_get_mark(&table->used, site, FHOOK_SITE_FOREIGN)) {
				/* No other code removes an extension's set from the site. */
				if (fhook_set_is_stub(set))
					xa_set_mark(&table->used, site, FHOOK_SITE_STALE);
				continue;
			}
			xa_erase(&table->used, site);
			fhook_set_put(set);
		}
	}
	fhook_extensions_off();
}

/* Resolve the filters again, because modules may have been loaded or unloaded. */
static int renew(struct fhook_hook *hook, struct fhook_report *report)
{
	struct fhook_txn txn = { .report = report, .skip_foreign = true };
	LIST_HEAD(spans);
	LIST_HEAD(none);
	int err = 0;

	if (hook->filter)
		err = fhook_spans_select(hook, &spans, report);
	else
		list_splice_init(&hook->spans, &spans);
	if (err)
		return err;

	err = fhook_spans_change(&txn, hook, &none, &spans);
	if (!err || !hook->filter) {
		fhook_spans_free(&hook->spans);
		list_splice_init(&spans, &hook->spans);
	}
	fhook_spans_free(&spans);

	return err;
}

static int switch_on(struct fhook_report *report)
{
	struct fhook_hook *hook;
	int err = 0;

	list_for_each_entry(hook, &fhook_hooks, list) {
		/* Set the exit callback first, else there would be entries without exits. */
		WRITE_ONCE(hook->exit, hook->ops->exit);
		err = renew(hook, report);
		if (err)
			return err;
	}

	return fhook_patches_on(report);
}

/**
 * fhook_switch() - switch fhook off or on
 * @on: the new state
 *
 * Return: 0 or an error. Only switching on can fail; fhook then stays off, and the
 * log has the reason.
 */
int fhook_switch(bool on)
{
	struct fhook_report report;
	int err = 0;

	mutex_lock(&fhook_mutex);
	if (on == fhook_switched_off) {
		if (on)
			err = switch_on(&report);
		if (err)
			pr_err("cannot be switched on: %s\n", report.text);
		if (err || !on)
			switch_off();
		fhook_switched_off = err || !on;
	}
	mutex_unlock(&fhook_mutex);

	return err;
}
