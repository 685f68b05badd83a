// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the directory uhook/ in tracefs.
 *
 *	boost		1; with 0 every hit is stepped or emulated, as without uhook
 *	profile		numbers of hits by outcome
 *	slots		the sites that were hit, one on a line: process, address,
 *			and the slot or the reason why there is none
 *
 * slots is in show.c. uprobe_profile is the counterpart of profile.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/tracefs.h>
#include <linux/uaccess.h>
#include <linux/uhook_hooks.h>

#include "../trace/trace.h"
#include "handlers.h"
#include "sites.h"
#include "tracefs.h"

static int may_open(void)
{
	return security_locked_down(LOCKDOWN_TRACEFS);
}

static int profile_show(struct seq_file *m, void *v)
{
	seq_printf(m, "stepped      %lu\n", uhook_hits_of(UHOOK_STEPPED));
	seq_printf(m, "emulated     %lu\n", uhook_hits_of(UHOOK_EMULATED));
	seq_printf(m, "boosted      %lu\n", uhook_hits_of(UHOOK_BOOSTED));
	seq_printf(m, "user         %lu\n", uhook_hits_of(UHOOK_USER));
	seq_printf(m, "jumped       %llu\n", uhook_hits_jumped());
	seq_printf(m, "interrupted  %lu\n", uhook_hits_of(UHOOK_INTERRUPTED));
	trace_uhook_show_hits(m);

	return 0;
}

static int profile_open(struct inode *inode, struct file *file)
{
	return may_open() ?: single_open(file, profile_show, NULL);
}

static const struct file_operations profile_fops = {
	.open		= profile_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int boost_open(struct inode *inode, struct file *file)
{
	return may_open() ?: nonseekable_open(inode, file);
}

static ssize_t boost_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	const char *text = READ_ONCE(uhook_boost_enabled) ? "1\n" : "0\n";

	return simple_read_from_buffer(buf, len, pos, text, 2);
}

static ssize_t boost_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	bool on;
	int err;

	err = kstrtobool_from_user(buf, len, &on);
	if (err)
		return err;

	WRITE_ONCE(uhook_boost_enabled, on);

	return len;
}

static const struct file_operations boost_fops = {
	.open	= boost_open,
	.read	= boost_read,
	.write	= boost_write,
};

static int __init uhook_tracefs_init(void)
{
	struct dentry *dir;

	if (tracing_init_dentry())
		return 0;

	dir = tracefs_create_dir("uhook", NULL);
	if (!dir)
		return 0;

	tracefs_create_file("boost", 0600, dir, NULL, &boost_fops);
	tracefs_create_file("profile", 0400, dir, NULL, &profile_fops);
	tracefs_create_file("slots", 0400, dir, NULL, &uhook_slots_fops);

	return 0;
}
fs_initcall(uhook_tracefs_init);
