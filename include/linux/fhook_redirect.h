/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: redirecting functions, which is what live patches are made of.
 *
 * A table lists functions and their replacements; one call installs all redirects,
 * and another removes them:
 *
 *	static struct fhook_redirect table[] = {
 *		{ .func = "cmdline_proc_show", .replacement = my_cmdline_show },
 *	};
 *
 *	static struct fhook_patch patch = {
 *		.name		= "demo",
 *		.owner		= THIS_MODULE,
 *		.redirects	= table,
 *		.num		= ARRAY_SIZE(table),
 *	};
 *
 *	err = fhook_redirect(&patch);
 *	...
 *	fhook_restore(&patch);
 *
 * The first instructions of a redirected function jump to the replacement, which
 * gets the same arguments. Copies of the function that the compiler has inlined into
 * others are not redirected. Hooks of the function are called as before, followed by
 * the replacement.
 *
 * The mainline counterpart is <linux/livepatch.h>.
 */
#ifndef _LINUX_FHOOK_REDIRECT_H
#define _LINUX_FHOOK_REDIRECT_H

#include <linux/bits.h>
#include <linux/fhook.h>
#include <linux/list.h>
#include <linux/types.h>

struct fhook_table;

/**
 * struct fhook_redirect - a function and its replacement
 * @func: name of the function; if several functions have it, "name,2" is the second
 *	of them in the order of kallsyms (livepatch: old_name and old_sympos)
 * @module: name of its module, as shown by lsmod; NULL for the kernel. The module
 *	need not be loaded: whenever it is, the function is redirected before the
 *	module's init runs
 * @replacement: the function that runs instead, of the same type
 */
struct fhook_redirect {
	const char		*func;
	const char		*module;
	void			*replacement;
	/* private: under fhook's mutex; no table while there is no site */
	struct fhook_table	*table;
	u32			site;
	bool			enabled;
	bool			gone;
	struct module		*held;
};

/**
 * enum fhook_patch_flags - options of a patch
 * @FHOOK_PATCH_CONSISTENT: install and remove the whole table at one moment, when no
 *	task is inside a redirected function (or a replacement). Needs reliable stack
 *	traces, which arm64 in Linux 6.12 does not have. Functions of modules that
 *	are loaded later are redirected before they have run.
 */
enum fhook_patch_flags {
	FHOOK_PATCH_CONSISTENT	= BIT(0),
};

/**
 * struct fhook_patch - redirects that are installed together
 * @name: name of the patch in tracefs, in the log and in reports
 * @owner: module of the patch, NULL if it is built in. It may contain replacements,
 *	and calls fhook_restore() before it is unloaded; other modules with
 *	replacements are held. Without reliable stack traces (arm64 in Linux
 *	6.12), a module with replacements stays loaded forever
 * @redirects: the table
 * @num: number of redirects
 * @flags: values of &enum fhook_patch_flags
 * @report: if not NULL, a failing call fills it and writes nothing to the log
 *
 * From the call of fhook_redirect() until it has failed, or fhook_restore() has
 * returned 0, the patch must stay allocated, and only @report may be changed. The
 * counterparts are struct klp_patch and struct klp_func.
 */
struct fhook_patch {
	const char		*name;
	struct module		*owner;
	struct fhook_redirect	*redirects;
	unsigned int		num;
	unsigned int		flags;
	struct fhook_report	*report;
	/* private: under fhook's mutex */
	struct list_head	list;
	bool			enabled;
	time64_t		since;
};

#ifdef CONFIG_FHOOK_REDIRECT

int fhook_redirect(struct fhook_patch *patch);
int fhook_restore(struct fhook_patch *patch);

/* For livepatch. */
int fhook_refuse_livepatch(unsigned long func);

#else /* !CONFIG_FHOOK_REDIRECT */

static inline int fhook_redirect(struct fhook_patch *patch)
{
	return -EOPNOTSUPP;
}

static inline int fhook_restore(struct fhook_patch *patch)
{
	return -EOPNOTSUPP;
}

static inline int fhook_refuse_livepatch(unsigned long func)
{
	return 0;
}

#endif /* CONFIG_FHOOK_REDIRECT */

#endif /* _LINUX_FHOOK_REDIRECT_H */
