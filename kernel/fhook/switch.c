// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: switching everything off, and on again.
 *
 * Off takes every hook from every site in one transaction; hooks keep their
 * spans, so that on gives them back, in their order. While it is off nothing
 * can be registered, but unregistered; modules that are loaded meanwhile get
 * their hooks when it is switched on. Mainline has ftrace_enabled for this.
 *
 * fhook_switched_off is written under fhook_mutex.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/init.h>
#include <linux/string.h>

#include "internal.h"

bool fhook_switched_off;

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

static int switch_off(struct fhook_report *report)
{
	struct fhook_txn txn = { .report = report, .detach = true };
	struct fhook_table *table;
	struct fhook_set *set;
	unsigned long site;
	int err;

	list_for_each_entry(table, &fhook_tables, list) {
		xa_for_each(&table->used, site, set) {
			err = fhook_txn_clear(&txn, table, site);
			if (err) {
				fhook_txn_abort(&txn);
				return err;
			}
		}
	}

	return fhook_txn_commit(&txn);
}

/* What the filters mean now, which modules may have changed meanwhile. */
static int renew(struct fhook_hook *hook, struct fhook_report *report)
{
	struct fhook_txn txn = { .report = report };
	LIST_HEAD(spans);
	LIST_HEAD(none);
	int err = 0;

	if (hook->filter)
		err = fhook_spans_select(hook, &spans, report);
	else
		list_splice_init(&hook->spans, &spans);
	if (err)
		return err;

	err = fhook_spans_diff(&txn, hook, &none, &spans);
	if (err)
		fhook_txn_abort(&txn);
	else
		err = fhook_txn_commit(&txn);

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
		err = renew(hook, report);
		if (err)
			break;
	}

	return err;
}

/**
 * fhook_switch() - switch fhook off or on
 * @on: what it is to be
 *
 * Return: 0, or an error, which the log describes; then it is off.
 */
int fhook_switch(bool on)
{
	struct fhook_report report, ignored;
	int err = 0;

	mutex_lock(&fhook_mutex);
	if (on == !fhook_switched_off)
		goto out;

	err = on ? switch_on(&report) : switch_off(&report);
	if (err) {
		pr_err("cannot be switched %s: %s\n", on ? "on" : "off",
		       report.text);
		if (on)
			switch_off(&ignored);
		goto out;
	}
	fhook_switched_off = !on;
out:
	mutex_unlock(&fhook_mutex);

	return err;
}
