// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: loading and unloading of modules, and freeing of init text.
 *
 * The module loader calls this file at the same places where it calls ftrace, in
 * an order that notifiers could not provide: the table is made before the module
 * is formed, hooks are attached before any of its code runs, and the sites are
 * forgotten before its text is freed. Sites in init text that is about to be freed
 * are not even patched, because no task runs there any more.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/err.h>
#include <linux/fhook_arch.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "change.h"
#include "core.h"
#include "extension.h"
#include "hook.h"
#include "names.h"
#include "redirect.h"
#include "set.h"
#include "sites.h"
#include "span.h"

static struct fhook_table *table_alloc(struct module *mod)
{
	struct fhook_table *table = kzalloc(sizeof(*table), GFP_KERNEL);

	if (!table)
		return NULL;

	INIT_LIST_HEAD(&table->list);
	xa_init(&table->used);
	table->mod = mod;
	table->base = (unsigned long)mod->mem[MOD_TEXT].base;
	table->init_start = (unsigned long)mod->mem[MOD_INIT_TEXT].base;
	table->init_end = table->init_start + mod->mem[MOD_INIT_TEXT].size;

	return table;
}

/**
 * fhook_module_init() - make the table of a module
 * @mod: the module, not yet formed, so that its data and text can be written
 *
 * Without memory the module has no sites, and the log says so.
 */
void fhook_module_init(struct module *mod)
{
	struct fhook_table *table;

	mod->fhook_table = NULL;
	if (!mod->num_fhook_sites)
		return;

	table = table_alloc(mod);
	if (table) {
		table->num = fhook_arch_module_sites(mod, table->base);
		table->sites = mod->fhook_sites;
		fhook_sites_sort(table->sites, table->num);
		WRITE_ONCE(mod->fhook_table, table);
	} else {
		pr_err("no memory for the sites of module %s: its functions cannot be hooked\n",
		       mod->name);
	}
}

/* Attach one hook to the matching functions of a module. */
static int attach(struct fhook_hook *hook, struct fhook_table *table,
		  struct fhook_report *report)
{
	struct fhook_txn txn = { .report = report };
	struct fhook_span *span;
	LIST_HEAD(none);
	LIST_HEAD(spans);
	int err;

	span = fhook_span_select(hook, table, report);
	if (IS_ERR_OR_NULL(span))
		return PTR_ERR_OR_ZERO(span);

	list_add(&span->list, &spans);
	err = fhook_spans_change(&txn, hook, &none, &spans);
	if (err)
		fhook_spans_free(&spans);
	else
		list_splice_tail(&spans, &hook->spans);

	return err;
}

/* Hooks given by address, such as those of carried probes, look for no names. */
static bool several_filters(void)
{
	const struct fhook_hook *hook;
	unsigned int num = 0;

	list_for_each_entry(hook, &fhook_hooks, list) {
		if (hook->filter && ++num > 1)
			return true;
	}

	return false;
}

/* Attach all hooks to the matching functions of a module. */
static void attach_all(struct fhook_table *table)
{
	struct fhook_report report;
	struct fhook_hook *hook;

	if (several_filters())
		table->names = fhook_names_make(table->mod);
	list_for_each_entry(hook, &fhook_hooks, list) {
		if (attach(hook, table, &report))
			pr_err("%s is not attached to module %s: %s\n",
			       hook->ops->name, table->mod->name, report.text);
	}
	fhook_names_free(table->names);
	table->names = NULL;
}

/**
 * fhook_module_coming() - hook the functions of a new module
 * @mod: the module, formed, before any of its code has run
 *
 * A hook that cannot be attached is left out of this module, and the log says why;
 * the module is loaded all the same. It is not loaded if one of its functions
 * cannot be redirected: a redirected function must never run.
 *
 * Return: 0 or an error.
 */
int fhook_module_coming(struct module *mod)
{
	struct fhook_table *table = mod->fhook_table;
	struct fhook_report report;
	int err;

	mutex_lock(&fhook_mutex);
	if (table)
		list_add_tail(&table->list, &fhook_tables);
	if (table && !fhook_switched_off)
		attach_all(table);
	err = fhook_patches_attach(mod, &report);
	mutex_unlock(&fhook_mutex);
	if (err)
		pr_err("module %s is not loaded: %s\n", mod->name, report.text);

	return err;
}

/* Remove sites [first, last) of a table from a span. */
static void span_forget(struct fhook_span *span, u32 first, u32 last)
{
	unsigned int i, num = 0;

	for (i = 0; i < span->num; i++) {
		if (span->sites[i] < first || span->sites[i] >= last)
			span->sites[num++] = span->sites[i];
	}
	span->num = num;
}

/* Forget sites [first, last) of a table whose text is going away. */
static void forget(struct fhook_table *table, u32 first, u32 last, bool init)
{
	struct fhook_hook *hook;
	struct fhook_span *span;
	struct fhook_set *set;
	unsigned long site;

	list_for_each_entry(hook, &fhook_hooks, list) {
		span = fhook_span_find(&hook->spans, table);
		if (!span)
			continue;
		span_forget(span, first, last);
		if (!span->num) {
			list_del(&span->list);
			kvfree(span);
		}
	}

	fhook_patches_forget(table, first, last, init);
	if (first == last)
		return;

	xa_for_each_range(&table->used, site, set, first, last - 1) {
		xa_erase(&table->used, site);
		fhook_set_put(set);
	}
}

static void forget_init(struct fhook_table *table)
{
	u32 first, last;

	first = fhook_table_first(table, table->init_start);
	last = fhook_table_first(table, table->init_end);
	forget(table, first, last, true);
	table->init_gone = true;
}

/**
 * fhook_free_init() - handle init text that is about to be freed
 * @mod: the module of the init text, NULL for vmlinux
 */
void fhook_free_init(struct module *mod)
{
	struct fhook_table *table;

	mutex_lock(&fhook_mutex);
	list_for_each_entry(table, &fhook_tables, list) {
		if (table->mod == mod) {
			forget_init(table);
			break;
		}
	}
	mutex_unlock(&fhook_mutex);
}

/* A module that left its hooks registered would leave dangling callbacks. */
static void detach_hooks_of(struct module *mod)
{
	struct fhook_hook *hook, *tmp;

	list_for_each_entry_safe(hook, tmp, &fhook_hooks, list) {
		if (hook->owner != mod)
			continue;
		pr_err("module %s goes without unregistering %s: detached\n",
		       mod->name, hook->ops->name);
		fhook_hook_detach(hook);
	}
}

/**
 * fhook_module_going() - handle a module that is about to be freed
 * @mod: the module
 *
 * Its exit function has returned, but not all of its code has run for the last
 * time: parameters can be read and written until their files are gone, and
 * asynchronous functions are waited for later. So the slots become no-ops before
 * their trampolines go.
 */
void fhook_module_going(struct module *mod)
{
	struct fhook_table *table = mod->fhook_table;

	fhook_patches_of_going(mod);

	mutex_lock(&fhook_mutex);
	detach_hooks_of(mod);
	if (table) {
		WRITE_ONCE(mod->fhook_table, NULL);
		if (!list_empty(&table->list)) {
			/*
			 * If others have written to a slot, their bytes go away
			 * with the text.
			 */
			fhook_table_clear(table);
			forget(table, 0, table->num, false);
			list_del(&table->list);
		}
		fhook_extensions_forget(table);
		xa_destroy(&table->used);
		kfree_rcu(table, rcu);
	}
	mutex_unlock(&fhook_mutex);

	/*
	 * A callback of the module may be running, or its ops may be being
	 * retired.
	 */
	fhook_barrier();
}
