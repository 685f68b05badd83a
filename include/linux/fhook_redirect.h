/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: redirecting functions, which is what live patches are made of.
 *
 * A table says which functions are replaced by which; one call puts all of it in
 * force, and another takes it back:
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
 * A replaced function is left by its first instructions, with a jump: what called
 * it calls the replacement, with the same arguments. Copies of the function that
 * the compiler made, inlined into others, are not replaced. Hooks of the function
 * are called as before, and then the replacement.
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
 * struct fhook_redirect - one function, and what runs instead of it
 * @func: its name; where several functions have it, "name,2" is the second of
 *	them in the order of kallsyms (livepatch: old_name and old_sympos)
 * @module: the module that it is in, as lsmod has it, NULL for the kernel. It need
 *	not be loaded: whenever it is, the function is redirected before its init
 *	runs
 * @replacement: the function that runs instead, of the same type
 */
struct fhook_redirect {
	const char		*func;
	const char		*module;
	void			*replacement;
	/* private: under fhook's mutex; no table while there is no site */
	struct fhook_table	*table;
	u32			site;
	bool			in_force;
	bool			gone;
	struct module		*held;
};

/**
 * enum fhook_patch_flags - what a patch asks for
 * @FHOOK_PATCH_CONSISTENT: put the whole table in force, and take it back, at one
 *	moment, when no task is inside a function that it replaces (or in a
 *	replacement). Needs reliable stack traces, which x86_64 has. What modules
 *	bring later is redirected before it has run.
 */
enum fhook_patch_flags {
	FHOOK_PATCH_CONSISTENT	= BIT(0),
};

/**
 * struct fhook_patch - redirects that are put in force together
 * @name: names it in tracefs, in the log and in reports
 * @owner: the module that has it, NULL if it is built in. It may have
 *	replacements, and calls fhook_restore() before it goes; other modules that
 *	have some are held. Without reliable stack traces, as on arm64, a module with
 *	replacements stays loaded for ever
 * @redirects: the table
 * @num: how many there are
 * @flags: of &enum fhook_patch_flags
 * @report: if not NULL, a call that fails fills it and leaves the log alone
 *
 * From the call of fhook_redirect() until that has failed, or fhook_restore() has
 * returned 0, all of it stays in place and only @report may be changed. The
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
	bool			in_force;
	time64_t		since;
};

#ifdef CONFIG_FHOOK

int fhook_redirect(struct fhook_patch *patch);
int fhook_restore(struct fhook_patch *patch);

/* For livepatch. */
int fhook_refuse_livepatch(unsigned long func);

#else /* !CONFIG_FHOOK */

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

#endif /* CONFIG_FHOOK */

#endif /* _LINUX_FHOOK_REDIRECT_H */
