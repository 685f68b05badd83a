// SPDX-License-Identifier: GPL-2.0
/*
 * Hook functions from a module, and log their callers.
 *
 *	# modprobe fhook-sample func=version_proc_show
 *	# cat /proc/version
 *	Linux version 6.12...
 *	# dmesg -t | grep fhook_sample | tail -n 2
 *	fhook_sample: hooked version_proc_show
 *	fhook_sample: version_proc_show+0x0/0x40 by seq_read_iter+... in cat (82): arguments ...
 *	# cat /sys/kernel/tracing/fhook/enabled_functions
 *	version_proc_show (1)	tramp: fhook_trampoline_... [__builtin__fhook]	hooks: fhook_sample
 *	# rmmod fhook-sample
 *	# dmesg -t | grep fhook_sample | tail -n 1
 *	fhook_sample: unhooked version_proc_show after 1 hits, 0 missed
 *
 * func= accepts the same patterns as fhook_events: a name or a glob ('vfs_*'), optionally
 * followed by ':mod:MODULE', or ':mod:MODULE' for a whole module. Several patterns are
 * separated by spaces.
 */
#define pr_fmt(fmt) "fhook_sample: " fmt

#include <linux/fhook.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>

static char *func = "vfs_read";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "the functions to hook (default: vfs_read)");

/* Runs with preemption disabled: may print, must not sleep. */
static int sample_entry(struct fhook_ops *ops, unsigned long ip,
			unsigned long parent_ip, struct fhook_regs *fregs,
			void *data)
{
	pr_info_ratelimited("%pS by %pS in %s (%d): arguments %#lx %#lx %#lx\n",
			    (void *)ip, (void *)fhook_regs_get_parent(fregs), current->comm,
			    current->pid, fhook_regs_get_arg(fregs, 0),
			    fhook_regs_get_arg(fregs, 1),
			    fhook_regs_get_arg(fregs, 2));
	return 0;
}

static struct fhook_ops sample_ops = {
	.name	= "fhook_sample",
	.entry	= sample_entry,
};

static int __init sample_init(void)
{
	int err = fhook_register(&sample_ops, func, NULL);

	if (!err)
		pr_info("hooked %s\n", func);

	return err;
}

static void __exit sample_exit(void)
{
	u64 hits, missed;

	fhook_count(&sample_ops, &hits, &missed);
	fhook_unregister(&sample_ops);
	pr_info("unhooked %s after %llu hits, %llu missed\n", func, hits,
		missed);
}

module_init(sample_init);
module_exit(sample_exit);

MODULE_DESCRIPTION("Sample: hook functions from a module");
MODULE_LICENSE("GPL");
