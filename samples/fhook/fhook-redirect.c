// SPDX-License-Identifier: GPL-2.0
/*
 * Redirect a function of the running kernel to another one, and restore it.
 *
 *	# cat /proc/cmdline
 *	console=ttyS0 panic=-1 oops=panic
 *	# modprobe fhook-redirect
 *	# cat /proc/cmdline
 *	fhook: this has been redirected
 *	# cut -f1 /sys/kernel/tracing/fhook/redirects
 *	cmdline_proc_show -> redirected_cmdline_show [fhook_redirect]
 *	# echo 0 > /sys/module/fhook_redirect/parameters/on
 *	# cat /proc/cmdline
 *	console=ttyS0 panic=-1 oops=panic
 *
 * Removing the module restores the function, too. In Linux 6.12 on arm64, which has no
 * reliable stack traces, the module cannot be removed.
 *
 * With consistent=1, no task is inside the function at the moment of the redirect. This
 * makes no difference for a single function, but a table of several functions needs it
 * if old and new versions do not work together. It needs reliable stack traces, too.
 *
 * samples/livepatch/livepatch-sample.c does the same by a live patch.
 */
#include <linux/fhook_redirect.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

static bool consistent;
module_param(consistent, bool, 0444);
MODULE_PARM_DESC(consistent, "at a moment when no task is in the function");

static int redirected_cmdline_show(struct seq_file *m, void *v)
{
	seq_puts(m, "fhook: this has been redirected\n");

	return 0;
}

static struct fhook_redirect redirects[] = {
	{
		.func		= "cmdline_proc_show",
		.replacement	= redirected_cmdline_show,
	},
};

static struct fhook_patch patch = {
	.name		= "fhook_redirect",
	.owner		= THIS_MODULE,
	.redirects	= redirects,
	.num		= ARRAY_SIZE(redirects),
};

static bool ready, on = true;

static int on_set(const char *text, const struct kernel_param *kp)
{
	bool want;
	int err;

	err = kstrtobool(text, &want);
	/* Before init, only keep the value. */
	if (!err && ready && want != on)
		err = want ? fhook_redirect(&patch) : fhook_restore(&patch);
	if (!err)
		on = want;

	return err;
}

static const struct kernel_param_ops on_ops = {
	.set	= on_set,
	.get	= param_get_bool,
};

module_param_cb(on, &on_ops, &on, 0644);
MODULE_PARM_DESC(on, "replace the function");

static int __init redirect_init(void)
{
	int err;

	if (consistent)
		patch.flags |= FHOOK_PATCH_CONSISTENT;

	kernel_param_lock(THIS_MODULE);
	err = on ? fhook_redirect(&patch) : 0;
	ready = !err;
	kernel_param_unlock(THIS_MODULE);

	return err;
}

static void __exit redirect_exit(void)
{
	kernel_param_lock(THIS_MODULE);
	/* The module's code will be freed: retry until no task is inside it. */
	while (on && fhook_restore(&patch))
		msleep(100);
	ready = false;
	kernel_param_unlock(THIS_MODULE);
}

module_init(redirect_init);
module_exit(redirect_exit);

MODULE_DESCRIPTION("Sample: replace a kernel function");
MODULE_LICENSE("GPL");
