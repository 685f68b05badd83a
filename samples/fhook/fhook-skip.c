// SPDX-License-Identifier: GPL-2.0
/*
 * Make a function return a given value instead of running.
 *
 *	# modprobe fhook-skip comm=hostname value=-5
 *	# hostname elsewhere
 *	hostname: ...Input/output error
 *	# rmmod fhook-skip
 *	# hostname elsewhere
 *	# hostname
 *	elsewhere
 *
 * A module that skips a function is responsible for the effects that the function should
 * have had. System calls, such as this one, and other functions that are marked by
 * ALLOW_ERROR_INJECTION() are designed to fail for tests; most functions are not.
 */
#define pr_fmt(fmt) "fhook_skip: " fmt

#include <linux/fhook.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>

#ifdef CONFIG_ARM64
#define SYS_SETHOSTNAME	"__arm64_sys_sethostname"
#else
#define SYS_SETHOSTNAME	"__x64_sys_sethostname"
#endif

static char *func = SYS_SETHOSTNAME;
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "the function to skip (default: " SYS_SETHOSTNAME ")");

static char *comm = "hostname";
module_param(comm, charp, 0444);
MODULE_PARM_DESC(comm, "only for commands of this name (default: hostname)");

static long value = -1;
module_param(value, long, 0444);
MODULE_PARM_DESC(value, "what it returns (default: -1, which is -EPERM)");

static int skip_entry(struct fhook_ops *ops, unsigned long ip,
		      unsigned long parent_ip, struct fhook_regs *fregs,
		      void *data)
{
	if (!strcmp(current->comm, comm))
		fhook_regs_skip(fregs, value);

	return 0;
}

static struct fhook_ops skip_ops = {
	.name	= "fhook_skip",
	.entry	= skip_entry,
};

static int __init skip_init(void)
{
	return fhook_register(&skip_ops, func, NULL);
}

static void __exit skip_exit(void)
{
	fhook_unregister(&skip_ops);
}

module_init(skip_init);
module_exit(skip_exit);

MODULE_DESCRIPTION("Sample: return from a function instead of running it");
MODULE_LICENSE("GPL");
