// SPDX-License-Identifier: GPL-2.0
/*
 * A patch that replaces any function by one that only counts, for tests.
 *
 *	# insmod fhook_patch.ko func=fhook_mod_hit in=fhook_target value=7
 *	# cat /sys/module/fhook_patch/parameters/calls
 *	# rmmod fhook_patch
 *
 * With a second function, both are replaced or none is. by=SYMBOL replaces the first
 * by what another module exports. Where the module stays loaded, because stack traces
 * are not reliable, it is used again by way of its parameters:
 *
 *	# echo 0 > /sys/module/fhook_patch/parameters/on
 *	# echo vfs_read > /sys/module/fhook_patch/parameters/func
 *	# echo 1 > /sys/module/fhook_patch/parameters/on
 */
#define pr_fmt(fmt) "fhook_patch: " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/fhook_redirect.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/string.h>

#define NAME_LEN	64

static char func[NAME_LEN] = "cmdline_proc_show";
module_param_string(func, func, NAME_LEN, 0600);
MODULE_PARM_DESC(func, "the function to replace");

static char in[NAME_LEN];
module_param_string(in, in, NAME_LEN, 0600);
MODULE_PARM_DESC(in, "the module that it is in");

static char also[NAME_LEN];
module_param_string(also, also, NAME_LEN, 0600);
MODULE_PARM_DESC(also, "another function to replace");

static char by[NAME_LEN];
module_param_string(by, by, NAME_LEN, 0600);
MODULE_PARM_DESC(by, "an exported function that replaces it, instead of the one that counts");

static long value;
module_param(value, long, 0600);
MODULE_PARM_DESC(value, "what the replacement returns");

static unsigned int sleep;
module_param(sleep, uint, 0600);
MODULE_PARM_DESC(sleep, "how long it sleeps, in ms");

static bool consistent;
module_param(consistent, bool, 0600);
MODULE_PARM_DESC(consistent, "at a moment when no task is in the function");

static bool tail;
module_param(tail, bool, 0600);
MODULE_PARM_DESC(tail, "the replacement ends in a jump to the function that sleeps");

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

static noinline long sleeper(void)
{
	if (sleep)
		msleep(sleep);

	return value;
}

static noinline long replacement(void)
{
	atomic_inc(&calls);
	if (sleep)
		msleep(sleep);

	return value;
}

/* Ends in a jump to another function, so that no stack shows that this one ran. */
static noinline long jumping_replacement(void)
{
	atomic_inc(&calls);

	return sleeper();
}

static noinline long other_replacement(void)
{
	return value + 1;
}

/* The parameters may be written while the patch is enabled. */
static char names[3][NAME_LEN];

static struct fhook_redirect redirects[2];

static struct fhook_patch patch = {
	.name		= "fhook_patch",
	.owner		= THIS_MODULE,
	.redirects	= redirects,
};

/* The name, without the newline of echo. */
static const char *name_of(char *name, const char *param)
{
	strscpy(name, param, NAME_LEN);
	strim(name);

	return *name ? name : NULL;
}

static int enable(void)
{
	char by_name[NAME_LEN];
	int err;

	redirects[0].func = name_of(names[0], func);
	redirects[0].module = name_of(names[1], in);
	redirects[0].replacement = tail ? jumping_replacement : replacement;
	redirects[1].func = name_of(names[2], also);
	redirects[1].module = redirects[0].module;
	redirects[1].replacement = other_replacement;
	patch.num = redirects[1].func ? 2 : 1;
	patch.flags = consistent ? FHOOK_PATCH_CONSISTENT : 0;
	atomic_set(&calls, 0);
	if (name_of(by_name, by)) {
		redirects[0].replacement = __symbol_get(by_name);
		if (!redirects[0].replacement)
			return -ENOENT;
	}

	err = fhook_redirect(&patch);
	/* From now on the patch alone holds the module. */
	if (*by_name)
		__symbol_put(by_name);

	return err;
}

static bool ready, on = true;

static int on_set(const char *text, const struct kernel_param *kp)
{
	bool want;
	int err;

	err = kstrtobool(text, &want);
	if (!err && ready && want != on)
		err = want ? enable() : fhook_restore(&patch);
	if (!err)
		on = want;

	return err;
}

static const struct kernel_param_ops on_ops = {
	.set	= on_set,
	.get	= param_get_bool,
};

module_param_cb(on, &on_ops, &on, 0600);
MODULE_PARM_DESC(on, "replace the functions");

static int __init patch_init(void)
{
	int err;

	kernel_param_lock(THIS_MODULE);
	err = on ? enable() : 0;
	ready = !err;
	kernel_param_unlock(THIS_MODULE);

	return err;
}

static void __exit patch_exit(void)
{
	kernel_param_lock(THIS_MODULE);
	while (on && !leave && fhook_restore(&patch))
		cond_resched();
	ready = false;
	kernel_param_unlock(THIS_MODULE);
}

module_init(patch_init);
module_exit(patch_exit);

MODULE_DESCRIPTION("Replaces functions, for the tests of fhook");
MODULE_LICENSE("GPL");
