// SPDX-License-Identifier: GPL-2.0
/*
 * A user of fhook that does nothing with its hooks, for tests that look at
 * the hits and misses in tracefs' fhook/stat.
 *
 *	# insmod fhook_user.ko func='vfs_*' not=vfs_read regs=1
 *	# echo 'vfs_* ksys_*' > /sys/module/fhook_user/parameters/retarget
 *	# rmmod fhook_user
 */
#define pr_fmt(fmt) "fhook_user: " fmt

#include <linux/bug.h>
#include <linux/fhook.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#define MAX_OPS		128

static char *func = "vfs_read";
module_param(func, charp, 0400);
MODULE_PARM_DESC(func, "the functions to hook");

static char *not;
module_param(not, charp, 0400);
MODULE_PARM_DESC(not, "which of them not to hook");

static unsigned int num = 1;
module_param(num, uint, 0400);
MODULE_PARM_DESC(num, "how many ops hook them");

static bool regs;
module_param(regs, bool, 0400);
MODULE_PARM_DESC(regs, "save full registers");

static bool unguarded;
module_param(unguarded, bool, 0400);
MODULE_PARM_DESC(unguarded, "do without the recursion guard");

static bool returns;
module_param(returns, bool, 0400);
MODULE_PARM_DESC(returns, "hook the returns as well");

static bool leave;
module_param(leave, bool, 0600);
MODULE_PARM_DESC(leave, "leave without unregistering, which is a mistake");

/* With '*' it would be hooked itself. */
static notrace int user_entry(struct fhook_ops *ops, unsigned long ip,
			      unsigned long parent_ip, struct fhook_regs *fregs,
			      void *data)
{
	*(unsigned long *)(data ?: &ip) = ip;

	return 0;
}

static notrace void user_exit_callback(struct fhook_ops *ops, unsigned long ip,
				       unsigned long ret_ip,
				       struct fhook_regs *fregs, void *data)
{
	WARN_ON_ONCE(*(unsigned long *)data != ip);
}

static struct fhook_ops user_ops[MAX_OPS];
static unsigned int registered;

static int retarget_set(const char *text, const struct kernel_param *kp)
{
	int err = registered ? 0 : -EINVAL;
	unsigned int i;

	for (i = 0; !err && i < registered; i++)
		err = fhook_retarget(&user_ops[i], text, not);

	return err;
}

static const struct kernel_param_ops retarget_ops = {
	.set	= retarget_set,
};

module_param_cb(retarget, &retarget_ops, NULL, 0200);
MODULE_PARM_DESC(retarget, "write: hook these instead");

static void unregister_all(void)
{
	while (registered)
		fhook_unregister_async(&user_ops[--registered], NULL);
	fhook_barrier();
}

static int __init user_init(void)
{
	unsigned int flags = 0;
	int err = 0;

	if (num > MAX_OPS)
		return -EINVAL;

	if (regs)
		flags |= FHOOK_FL_REGS;
	if (unguarded)
		flags |= FHOOK_FL_UNGUARDED;

	while (!err && registered < num) {
		user_ops[registered].name = "fhook_user";
		user_ops[registered].entry = user_entry;
		user_ops[registered].flags = flags;
		if (returns) {
			user_ops[registered].exit = user_exit_callback;
			user_ops[registered].data_size = sizeof(long);
		}
		err = fhook_register(&user_ops[registered], func, not);
		if (!err)
			registered++;
	}
	if (err)
		unregister_all();

	return err;
}

/* One that comes when the module goes, which is refused, and not for the log. */
static struct fhook_report late_report;
static struct fhook_ops late_ops = {
	.name	= "fhook_user",
	.entry	= user_entry,
	.report	= &late_report,
};

static void __exit user_exit(void)
{
	if (!leave)
		unregister_all();
	WARN_ON(fhook_register(&late_ops, func, not) != -ENODEV);
}

module_init(user_init);
module_exit(user_exit);

MODULE_DESCRIPTION("A user of fhook for its tests");
MODULE_LICENSE("GPL");
