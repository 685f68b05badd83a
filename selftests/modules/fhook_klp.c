// SPDX-License-Identifier: GPL-2.0
/*
 * A live patch that replaces all others, and a function of a module by one that does
 * nothing, for tests.
 *
 *	# insmod fhook_klp.ko func=busymod_work_func in=livepatch_callbacks_busymod
 *
 * The function must return nothing. While a task is in it, the patch is in transition.
 */
#define pr_fmt(fmt) "fhook_klp: " fmt

#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

static char *func;
module_param(func, charp, 0400);
MODULE_PARM_DESC(func, "the function to replace");

static char *in;
module_param(in, charp, 0400);
MODULE_PARM_DESC(in, "the module that it is in");

static void replacement(void)
{
}

static struct klp_func funcs[] = { { .new_func = replacement }, { } };
static struct klp_object objs[] = { { .funcs = funcs }, { } };
static struct klp_patch patch = {
	.mod		= THIS_MODULE,
	.objs		= objs,
	.replace	= true,
};

static int __init klp_init(void)
{
	funcs[0].old_name = func;
	objs[0].name = in;

	return func && in ? klp_enable_patch(&patch) : -EINVAL;
}

/* It is removed when it is no longer enabled. */
static void __exit klp_exit(void)
{
}

module_init(klp_init);
module_exit(klp_exit);

MODULE_INFO(livepatch, "Y");
MODULE_DESCRIPTION("Replaces live patches, for the tests of fhook");
MODULE_LICENSE("GPL");
