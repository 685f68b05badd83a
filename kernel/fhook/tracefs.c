// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the directory fhook/ in tracefs. redirect_tracefs.c adds a file to it.
 *
 *	available_functions	functions that can be hooked, one per line
 *	enabled_functions	hooked functions, with their trampolines and hooks
 *	stat			hits and misses, one hook per line
 *	enabled			1; writing 0 detaches everything at once
 *
 * Each read takes fhook_mutex for one position at a time, so that a long listing does
 * not block registrations. ftrace's available_filter_functions and enabled_functions are
 * the counterparts.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/tracefs.h>
#include <linux/uaccess.h>

#include "../trace/trace.h"
#include "core.h"
#include "redirect.h"
#include "set.h"
#include "sites.h"
#include "span.h"
#include "switch.h"

/* Find the table of a position; positions count the sites of all tables. */
static struct fhook_table *table_at(loff_t pos, u32 *site)
{
	struct fhook_table *table;

	list_for_each_entry(table, &fhook_tables, list) {
		if (pos < table->num) {
			*site = pos;
			return table;
		}
		pos -= table->num;
	}

	return NULL;
}

/**
 * struct walk - position of a listing
 * @table: the table
 * @site: index of the site in the table
 */
struct walk {
	struct fhook_table	*table;
	u32			site;
};

static void *walk_at(struct seq_file *m, loff_t pos)
{
	struct walk *walk = m->private;

	walk->table = table_at(pos, &walk->site);

	return walk->table ? walk : NULL;
}

static void walk_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&fhook_mutex);
}

static void *available_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&fhook_mutex);

	return walk_at(m, *pos);
}

static void *available_next(struct seq_file *m, void *v, loff_t *pos)
{
	return walk_at(m, ++*pos);
}

static void show_name(struct seq_file *m, const struct walk *walk)
{
	seq_printf(m, "%ps",
		   (void *)fhook_site_func(walk->table, walk->site));
}

static int available_show(struct seq_file *m, void *v)
{
	const struct walk *walk = v;

	if (fhook_site_gone(walk->table, walk->site))
		return 0;

	show_name(m, walk);
	seq_putc(m, '\n');

	return 0;
}

static const struct seq_operations available_ops = {
	.start	= available_start,
	.next	= available_next,
	.stop	= walk_stop,
	.show	= available_show,
};

/* Advance to the first site in use at or after a position. */
static void *enabled_at(struct seq_file *m, loff_t *pos)
{
	struct walk *walk = walk_at(m, *pos);
	unsigned long site;

	while (walk) {
		site = walk->site;
		if (xa_find(&walk->table->used, &site, walk->table->num - 1,
			    XA_PRESENT)) {
			*pos += site - walk->site;
			walk->site = site;
			return walk;
		}
		*pos += walk->table->num - walk->site;
		walk = walk_at(m, *pos);
	}

	return NULL;
}

static void *enabled_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&fhook_mutex);

	return enabled_at(m, pos);
}

static void *enabled_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;

	return enabled_at(m, pos);
}

/*
 * Calls of a live-patched function leave through ftrace's slot, and never reach
 * fhook's slot.
 */
static void *bypassed_by(const struct fhook_table *table, u32 site)
{
	return klp_replacement(fhook_site_func(table, site));
}

static void show_hooks(struct seq_file *m, const struct fhook_set *set)
{
	unsigned int i;

	seq_printf(m, "\ttramp: %pS\thooks:", set->text);
	for (i = 0; i < set->num; i++) {
		if (!set->members[i].dead)
			seq_printf(m, " %s", set->members[i].hook->ops->name);
	}
}

/*
 * FUNCTION [MODULE] (COUNT) FLAGS tramp: ADDRESS hooks: NAME NAME ...
 *	redirected to FUNCTION by NAME	calls traced	bypassed by FUNCTION
 */
static int enabled_show(struct seq_file *m, void *v)
{
	const struct walk *walk = v;
	struct fhook_set *set = xa_load(&walk->table->used, walk->site);
	void *bypass = bypassed_by(walk->table, walk->site);
	const struct fhook_patch *patch;
	unsigned int i, live = 0;

	if (!set)
		return 0;

	for (i = 0; i < set->num; i++)
		live += !set->members[i].dead;

	show_name(m, walk);
	seq_printf(m, " (%u)%s%s%s", live,
		   set->num && set->flags & FHOOK_FL_REGS ? " R" : "",
		   set->num && set->flags & FHOOK_FL_UNGUARDED ? " U" : "",
		   xa_get_mark(&walk->table->used, walk->site,
			       FHOOK_SITE_FOREIGN) ? " overwritten" : "");
	if (set->num)
		show_hooks(m, set);

	patch = fhook_patch_of(walk->table, walk->site);
	if (patch && set->target)
		seq_printf(m, "\tredirected to %ps by %s", (void *)set->target,
			   patch->name);
	if (!fhook_site_stale(walk->table, walk->site) &&
	    fhook_set_is_stub(set))
		seq_puts(m, "\tcalls traced");
	if (bypass)
		seq_printf(m, "\tbypassed by %ps", bypass);
	seq_putc(m, '\n');

	return 0;
}

static const struct seq_operations enabled_ops = {
	.start	= enabled_start,
	.next	= enabled_next,
	.stop	= walk_stop,
	.show	= enabled_show,
};

static int open_walk(struct file *file, const struct seq_operations *ops)
{
	int err = security_locked_down(LOCKDOWN_TRACEFS);

	if (err)
		return err;

	return __seq_open_private(file, ops, sizeof(struct walk)) ? 0 : -ENOMEM;
}

static int available_open(struct inode *inode, struct file *file)
{
	return open_walk(file, &available_ops);
}

static const struct file_operations available_fops = {
	.open		= available_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release_private,
};

static int enabled_open(struct inode *inode, struct file *file)
{
	return open_walk(file, &enabled_ops);
}

static const struct file_operations enabled_fops = {
	.open		= enabled_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release_private,
};

/* Registered hooks come first, then the tallies of other hooks. */
static struct list_head *stat_first(struct seq_file *m)
{
	m->private = &fhook_hooks;

	return &fhook_hooks;
}

static struct list_head *stat_after(struct seq_file *m, struct list_head *at)
{
	if (m->private == &fhook_hooks) {
		if (!list_is_last(at, &fhook_hooks))
			return at->next;
		m->private = &fhook_tallies;
		at = &fhook_tallies;
	}

	return list_is_last(at, &fhook_tallies) ? NULL : at->next;
}

static void *stat_start(struct seq_file *m, loff_t *pos)
{
	struct list_head *at;
	loff_t left = *pos;

	mutex_lock(&fhook_mutex);
	for (at = stat_first(m); at && left; left--)
		at = stat_after(m, at);

	return at;
}

static void *stat_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;

	return stat_after(m, v);
}

static unsigned int count_sites(const struct fhook_hook *hook)
{
	struct fhook_span *span;
	unsigned int num = 0;

	list_for_each_entry(span, &hook->spans, list)
		num += span->num;

	return num;
}

/* Explain why a hook may have fewer hits than its functions have calls. */
static void show_bypassed(struct seq_file *m, const struct fhook_hook *hook)
{
	struct fhook_span *span;
	unsigned int i;
	void *bypass;

	list_for_each_entry(span, &hook->spans, list) {
		for (i = 0; i < span->num; i++) {
			cond_resched();
			bypass = bypassed_by(span->table, span->sites[i]);
			if (bypass)
				seq_printf(m, " %ps bypassed by %ps",
					   (void *)fhook_site_func(span->table,
								   span->sites[i]),
					   bypass);
		}
	}
}

static void show_counts(struct seq_file *m, const char *name, unsigned int sites,
			u64 hits, u64 missed)
{
	seq_printf(m, "%-32s %9u %20llu %12llu", name, sites, hits, missed);
}

static int show_tally(struct seq_file *m, const struct fhook_tally *tally)
{
	/* The hook has been shown, including these counts. */
	if (tally->hooks)
		return SEQ_SKIP;

	show_counts(m, tally->name, 0, tally->hits, tally->missed);
	seq_putc(m, '\n');

	return 0;
}

static int stat_show(struct seq_file *m, void *v)
{
	struct fhook_hook *hook = list_entry(v, struct fhook_hook, list);
	const struct fhook_tally *tally;
	u64 hits, missed;

	if (v == &fhook_hooks) {
		seq_printf(m, "%-32s %9s %20s %12s\n", "# hook", "functions",
			   "hits", "missed");
		return 0;
	}
	if (m->private == &fhook_tallies)
		return show_tally(m, list_entry(v, struct fhook_tally, list));

	fhook_hook_count(hook, &hits, &missed);
	tally = hook->ops->tally;
	if (tally) {
		hits += tally->hits;
		missed += tally->missed;
	}
	show_counts(m, hook->ops->name, count_sites(hook), hits, missed);
	show_bypassed(m, hook);
	seq_putc(m, '\n');

	return 0;
}

static const struct seq_operations stat_ops = {
	.start	= stat_start,
	.next	= stat_next,
	.stop	= walk_stop,
	.show	= stat_show,
};

static int open_list(struct file *file, const struct seq_operations *ops)
{
	int err = security_locked_down(LOCKDOWN_TRACEFS);

	return err ?: seq_open(file, ops);
}

static int stat_open(struct inode *inode, struct file *file)
{
	return open_list(file, &stat_ops);
}

static const struct file_operations stat_fops = {
	.open		= stat_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
};

static int switch_open(struct inode *inode, struct file *file)
{
	int err = security_locked_down(LOCKDOWN_TRACEFS);

	return err ?: nonseekable_open(inode, file);
}

static ssize_t switch_read(struct file *file, char __user *buf, size_t len,
			   loff_t *pos)
{
	const char *text = fhook_switched_off ? "0\n" : "1\n";

	return simple_read_from_buffer(buf, len, pos, text, 2);
}

static ssize_t switch_write(struct file *file, const char __user *buf,
			    size_t len, loff_t *pos)
{
	bool on;
	int err;

	err = kstrtobool_from_user(buf, len, &on);
	if (!err)
		err = fhook_switch(on);

	return err ?: len;
}

static const struct file_operations switch_fops = {
	.open	= switch_open,
	.read	= switch_read,
	.write	= switch_write,
};

/* The directory, for extensions; NULL if there is none. */
struct dentry *fhook_tracefs_dir;

static int __init fhook_tracefs_init(void)
{
	struct dentry *dir;
	int err;

	err = tracing_init_dentry();
	if (err)
		return 0;

	dir = tracefs_create_dir("fhook", NULL);
	if (!dir)
		return 0;
	fhook_tracefs_dir = dir;

	tracefs_create_file("available_functions", 0400, dir, NULL,
			    &available_fops);
	tracefs_create_file("enabled_functions", 0400, dir, NULL,
			    &enabled_fops);
	tracefs_create_file("stat", 0400, dir, NULL, &stat_fops);
	tracefs_create_file("enabled", 0600, dir, NULL, &switch_fops);

	return 0;
}
fs_initcall(fhook_tracefs_init);
