// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: modules with replacements, whose text may be freed only when no task is in it.
 *
 * A module is recorded before a patch with functions of it is enabled. If that succeeds,
 * its whole text is checked when it is unloaded, because a replacement may have called, or
 * ended in, any function of it. Without reliable stack traces fhook cannot tell whether a
 * task sleeps there, and the module stays loaded.
 *
 * fhook_mutex protects the records. The counterpart in mainline is klp_force_transition()
 * with the references that it keeps.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/module.h>
#include <linux/slab.h>

#include "consistency.h"
#include "core.h"
#include "function.h"
#include "replacers.h"
#include "report.h"

/**
 * struct replacer - a module with replacements of functions
 * @list: link in replacers
 * @mod: the module
 * @used: whether a patch with functions of the module has been enabled
 */
struct replacer {
	struct list_head	list;
	struct module		*mod;
	bool			used;
};

/* Protected by fhook_mutex. */
static LIST_HEAD(replacers);

static struct replacer *replacer_of(const struct module *mod)
{
	struct replacer *replacer;

	lockdep_assert_held(&fhook_mutex);
	list_for_each_entry(replacer, &replacers, list) {
		if (replacer->mod == mod)
			return replacer;
	}

	return NULL;
}

static int replacer_add(struct module *mod)
{
	struct replacer *replacer = kzalloc(sizeof(*replacer), GFP_KERNEL);

	if (!replacer)
		return -ENOMEM;

	replacer->mod = mod;
	list_add(&replacer->list, &replacers);

	return 0;
}

/* The module of a replacement, which cannot be unloaded now. */
static struct module *module_of(const struct fhook_redirect *redirect)
{
	guard(preempt)();

	return __module_address((unsigned long)redirect->replacement);
}

/**
 * fhook_replacers_add() - record the modules with replacements of a patch
 * @patch: the patch; its modules are held, or are the callers
 * @report: report of the error
 *
 * The records stay until the modules are unloaded.
 *
 * Return: 0 or -ENOMEM.
 */
int fhook_replacers_add(const struct fhook_patch *patch,
			struct fhook_report *report)
{
	struct module *mod;
	unsigned int i;

	lockdep_assert_held(&fhook_mutex);
	for (i = 0; i < patch->num; i++) {
		mod = module_of(&patch->redirects[i]);
		if (mod && !replacer_of(mod) && replacer_add(mod))
			return fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM,
					  0, "no memory to enable %s",
					  patch->name);
	}

	return 0;
}

/* Forced live patches are kept in the same way (klp_force_transition()). */
static void keep_loaded(struct module *mod)
{
	if (try_module_get(mod))
		pr_info("module %s stays loaded: on this architecture no one can tell when the last task has left its functions\n",
			mod->name);
}

/**
 * fhook_replacers_use() - note that tasks may be in the replacements of a patch from now on
 * @patch: the patch, which has just been enabled
 *
 * Without reliable stack traces, fhook cannot tell whether a task sleeps in a
 * replacement, so the text can never be freed.
 */
void fhook_replacers_use(const struct fhook_patch *patch)
{
	struct replacer *replacer;
	struct module *mod;
	unsigned int i;

	lockdep_assert_held(&fhook_mutex);
	for (i = 0; i < patch->num; i++) {
		mod = module_of(&patch->redirects[i]);
		replacer = mod ? replacer_of(mod) : NULL;
		if (!replacer || replacer->used)
			continue;
		replacer->used = true;
		if (!IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE))
			keep_loaded(mod);
	}
}

/**
 * fhook_replacer_forget() - wait until no task is in a module that is about to be freed
 * @mod: the module, none of whose functions is a replacement any more
 *
 * A task may still be in a function that a replacement has called, or ended in: wait
 * until none is in the module's text. None is if no patch with its functions was ever
 * enabled. Called without fhook_mutex. May sleep.
 */
void fhook_replacer_forget(struct module *mod)
{
	DEFINE_FLEX(struct fhook_ranges, text, range, num, 1);
	struct replacer *replacer;
	bool used;

	scoped_guard(mutex, &fhook_mutex) {
		replacer = replacer_of(mod);
		if (!replacer)
			return;
		list_del(&replacer->list);
	}
	used = replacer->used;
	kfree(replacer);
	if (!used)
		return;

	/* The module was removed by force, or its init has failed. */
	if (!IS_ENABLED(CONFIG_HAVE_RELIABLE_STACKTRACE))
		pr_err("module %s is removed, but a task may be in its functions\n",
		       mod->name);

	text->range[0].start = (unsigned long)mod->mem[MOD_TEXT].base;
	text->range[0].end = text->range[0].start + mod->mem[MOD_TEXT].size;
	fhook_wait_until_left(text, mod->name);
}
