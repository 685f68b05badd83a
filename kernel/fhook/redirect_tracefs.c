// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the file fhook/redirects in tracefs.
 *
 * Redirected functions, with replacements and owners. The list is walked with
 * fhook_mutex held. The directory /sys/kernel/livepatch is the counterpart.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/tracefs.h>

#include "core.h"
#include "redirect.h"
#include "sites.h"
#include "switch.h"

static void *redirects_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&fhook_mutex);

	return seq_list_start(&fhook_patches, *pos);
}

static void *redirects_next(struct seq_file *m, void *v, loff_t *pos)
{
	return seq_list_next(v, &fhook_patches, pos);
}

static void redirects_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&fhook_mutex);
}

/* FUNCTION [MODULE] -> FUNCTION [MODULE] by NAME since TIME */
static int redirects_show(struct seq_file *m, void *v)
{
	struct fhook_patch *patch = list_entry(v, struct fhook_patch, list);
	const struct fhook_redirect *r = patch->redirects;

	for (; r < patch->redirects + patch->num; r++) {
		if (r->table)
			seq_printf(m, "%ps",
				   (void *)fhook_site_func(r->table, r->site));
		else
			seq_printf(m, r->module ? "%s [%s]" : "%s", r->func,
				   r->module);
		seq_printf(m, " -> %ps\tby %s since %ptTs%s\n", r->replacement,
			   patch->name, &patch->since,
			   r->gone ? ", freed after init" :
			   r->table ? "" : ", waits for the module");
	}

	return 0;
}

static const struct seq_operations redirects_ops = {
	.start	= redirects_start,
	.next	= redirects_next,
	.stop	= redirects_stop,
	.show	= redirects_show,
};

static int redirects_open(struct inode *inode, struct file *file)
{
	return security_locked_down(LOCKDOWN_TRACEFS) ?: seq_open(file, &redirects_ops);
}

static const struct file_operations redirects_fops = {
	.open		= redirects_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
};

static int __init redirects_init(void)
{
	if (fhook_tracefs_dir)
		tracefs_create_file("redirects", 0400, fhook_tracefs_dir, NULL, &redirects_fops);

	return 0;
}
fs_initcall_sync(redirects_init);
