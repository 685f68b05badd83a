// SPDX-License-Identifier: GPL-2.0
/*
 * The benchmark of fhook: a function of fhook_bench.ko is replaced, by a live patch
 * of mainline or by fhook.
 *
 *	# insmod fhook_bench.ko
 *	# insmod fhook_bench_patch.ko how=livepatch
 *	# cat /sys/module/fhook_bench_patch/parameters/took
 *	# cat /sys/module/fhook_bench/parameters/call_cost
 *	# echo 0 > /sys/kernel/livepatch/fhook_bench_patch/enabled
 *	# rmmod fhook_bench_patch
 *	# insmod fhook_bench_patch.ko how=fhook
 */
#define pr_fmt(fmt) "fhook_bench_patch: " fmt

#include <linux/fhook_redirect.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "fhook_bench.h"

#define FUNCTION	"bench_target"
#define IN_MODULE	"fhook_bench"

static char *how = "fhook";
module_param(how, charp, 0400);
MODULE_PARM_DESC(how, "fhook, consistent or livepatch");

static unsigned long took;
module_param(took, ulong, 0400);
MODULE_PARM_DESC(took, "cost from asking for it until it is in force");

static noinline int replacement(int arg)
{
	asm volatile("");
	return arg + 1;
}

static struct fhook_redirect redirect = {
	.func		= FUNCTION,
	.module		= IN_MODULE,
	.replacement	= replacement,
};

static struct fhook_patch fhook_patch = {
	.name		= "bench",
	.owner		= THIS_MODULE,
	.redirects	= &redirect,
	.num		= 1,
};

#ifdef CONFIG_LIVEPATCH
static struct klp_func funcs[] = {
	{ .old_name = FUNCTION, .new_func = replacement },
	{ }
};

static struct klp_object objs[] = {
	{ .name = IN_MODULE, .funcs = funcs },
	{ }
};

static struct klp_patch klp_patch = {
	.mod	= THIS_MODULE,
	.objs	= objs,
};

static int livepatch(void)
{
	return klp_enable_patch(&klp_patch);
}

MODULE_INFO(livepatch, "Y");
#else
static int livepatch(void)
{
	return -EOPNOTSUPP;
}
#endif

static bool on;

/* To end it where the module stays loaded. */
static int on_set(const char *text, const struct kernel_param *kp)
{
	bool want;
	int err;

	err = kstrtobool(text, &want);
	if (!err && want != on)
		err = want ? -EINVAL : fhook_restore(&fhook_patch);
	if (!err)
		on = want;

	return err;
}

static const struct kernel_param_ops on_ops = {
	.set	= on_set,
	.get	= param_get_bool,
};

module_param_cb(on, &on_ops, &on, 0600);
MODULE_PARM_DESC(on, "write 0: fhook lets the function be itself");

static int __init bench_patch_init(void)
{
	u64 begin = fhook_bench_now();
	int err;

	if (!strcmp(how, "livepatch")) {
		err = livepatch();
	} else {
		if (!strcmp(how, "consistent"))
			fhook_patch.flags = FHOOK_PATCH_CONSISTENT;
		err = fhook_redirect(&fhook_patch);
		on = !err;
	}
	took = fhook_bench_units(fhook_bench_now() - begin);

	return err;
}

static void __exit bench_patch_exit(void)
{
	if (on)
		fhook_restore(&fhook_patch);
}

module_init(bench_patch_init);
module_exit(bench_patch_exit);

MODULE_DESCRIPTION("What it costs to replace a function, for the benchmark of fhook");
MODULE_LICENSE("GPL");
