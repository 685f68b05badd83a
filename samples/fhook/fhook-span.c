// SPDX-License-Identifier: GPL-2.0
/*
 * Print a histogram of the duration of a function's calls, in powers of two.
 *
 *	# modprobe fhook-span func=vfs_read
 *	# cat /proc/uptime
 *	4.55 3.46
 *	# cat /sys/module/fhook_span/parameters/histogram
 *	        ns     calls
 *	      2048         2
 *	...
 *	# rmmod fhook-span
 *
 * Each line counts the calls that took at least that long, and less than the next line.
 * The time of the entry is stored with the call, in data that the ops requests.
 */
#define pr_fmt(fmt) "fhook_span: " fmt

#include <linux/atomic.h>
#include <linux/fhook.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/sysfs.h>

static char *func = "vfs_read";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "the functions to measure (default: vfs_read)");

static atomic_long_t calls[64];

static int span_entry(struct fhook_ops *ops, unsigned long ip,
		      unsigned long parent_ip, struct fhook_regs *fregs,
		      void *data)
{
	*(u64 *)data = local_clock();

	return 0;
}

static void span_exit(struct fhook_ops *ops, unsigned long ip,
		      unsigned long ret_ip, struct fhook_regs *fregs,
		      void *data)
{
	s64 took = local_clock() - *(u64 *)data;

	atomic_long_inc(&calls[took > 0 ? ilog2(took) : 0]);
}

static struct fhook_ops span_ops = {
	.name		= "fhook_span",
	.entry		= span_entry,
	.exit		= span_exit,
	.data_size	= sizeof(u64),
};

static int histogram_get(char *buffer, const struct kernel_param *kp)
{
	int i, len;
	long num;

	len = sysfs_emit(buffer, "%10s %9s\n", "ns", "calls");
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		num = atomic_long_read(&calls[i]);
		if (num)
			len += sysfs_emit_at(buffer, len, "%10llu %9ld\n",
					     i ? BIT_ULL(i) : 0, num);
	}

	return len;
}

static const struct kernel_param_ops histogram_ops = {
	.get	= histogram_get,
};

module_param_cb(histogram, &histogram_ops, NULL, 0444);
MODULE_PARM_DESC(histogram, "read: how many calls took how long");

static int __init span_init(void)
{
	return fhook_register(&span_ops, func, NULL);
}

static void __exit span_exit_module(void)
{
	fhook_unregister(&span_ops);
}

module_init(span_init);
module_exit(span_exit_module);

MODULE_DESCRIPTION("Sample: how long calls of a function take");
MODULE_LICENSE("GPL");
