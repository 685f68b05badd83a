// SPDX-License-Identifier: GPL-2.0
/*
 * Hook functions from a module, and say who calls them.
 *
 *	# insmod fhook-sample.ko func=vfs_read
 *	# cat /etc/hostname
 *	# dmesg | tail -3
 *	fhook_sample: hooked vfs_read
 *	fhook_sample: vfs_read+0x0/0x... by ksys_read+0x.../0x... in cat (71): arguments ...
 *	# cat /sys/kernel/tracing/fhook/enabled_functions
 *	# rmmod fhook-sample
 *
 * func= takes what fhook_events takes: a name, a glob ('vfs_*'), either with
 * ':mod:MODULE' behind it, or ':mod:MODULE' for a whole module; several with
 * spaces between them.
 */
#define pr_fmt(fmt) "fhook_sample: " fmt

#include <linux/fhook.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>

static char *func = "vfs_read";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "the functions to hook (default: vfs_read)");

/* Runs with preemption disabled: printing is all right, sleeping is not. */
static int sample_entry(struct fhook_ops *ops, unsigned long ip,
			unsigned long parent_ip, struct fhook_regs *fregs,
			void *data)
{
	pr_info_ratelimited("%pS by %pS in %s (%d): arguments %#lx %#lx %#lx\n",
			    (void *)ip, (void *)parent_ip, current->comm,
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
