// SPDX-License-Identifier: GPL-2.0
/*
 * A patch that replaces any function by one that only counts, for tests.
 *
 *	# insmod fhook_patch.ko func=fhook_mod_hit in=fhook_target value=7
 *	# cat /sys/module/fhook_patch/parameters/calls
 *	# rmmod fhook_patch
 *
 * With a second function, both are replaced or none is. by=SYMBOL replaces the first
 * by what another module exports.
 */
#define pr_fmt(fmt) "fhook_patch: " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/fhook_redirect.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>

static char *func = "cmdline_proc_show";
module_param(func, charp, 0400);
MODULE_PARM_DESC(func, "the function to replace");

static char *in;
module_param(in, charp, 0400);
MODULE_PARM_DESC(in, "the module that it is in");

static char *also;
module_param(also, charp, 0400);
MODULE_PARM_DESC(also, "another function to replace");

static char *by;
module_param(by, charp, 0400);
MODULE_PARM_DESC(by, "an exported function that replaces it, instead of the one that counts");

static long value;
module_param(value, long, 0600);
MODULE_PARM_DESC(value, "what the replacement returns");

static unsigned int sleep;
module_param(sleep, uint, 0600);
MODULE_PARM_DESC(sleep, "how long it sleeps, in ms");

static bool consistent;
module_param(consistent, bool, 0400);
MODULE_PARM_DESC(consistent, "at a moment when no task is in the function");

static bool leave;
module_param(leave, bool, 0600);
MODULE_PARM_DESC(leave, "leave without restoring, which is a mistake");

static atomic_t calls;

static int calls_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&calls));
}

static const struct kernel_param_ops calls_ops = {
	.get	= calls_get,
};

module_param_cb(calls, &calls_ops, NULL, 0400);
MODULE_PARM_DESC(calls, "how often the replacement was called");

static noinline long replacement(void)
{
	atomic_inc(&calls);
	if (sleep)
		msleep(sleep);

	return value;
}

static noinline long other_replacement(void)
{
	return value + 1;
}

static struct fhook_redirect redirects[2];

static struct fhook_patch patch = {
	.name		= "fhook_patch",
	.owner		= THIS_MODULE,
	.redirects	= redirects,
	.num		= 1,
};

static int __init patch_init(void)
{
	int err;

	redirects[0].func = func;
	redirects[0].module = in;
	redirects[0].replacement = replacement;
	if (also) {
		redirects[1].func = also;
		redirects[1].module = in;
		redirects[1].replacement = other_replacement;
		patch.num = 2;
	}
	if (consistent)
		patch.flags |= FHOOK_PATCH_CONSISTENT;
	if (by) {
		redirects[0].replacement = __symbol_get(by);
		if (!redirects[0].replacement)
			return -ENOENT;
	}

	err = fhook_redirect(&patch);
	/* From now on the patch alone holds the module. */
	if (by)
		__symbol_put(by);

	return err;
}

static void __exit patch_exit(void)
{
	while (!leave && fhook_restore(&patch))
		cond_resched();
}

module_init(patch_init);
module_exit(patch_exit);

MODULE_DESCRIPTION("Replaces functions, for the tests of fhook");
MODULE_LICENSE("GPL");
