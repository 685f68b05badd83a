// SPDX-License-Identifier: GPL-2.0
/*
 * Benchmark of fhook: fprobes, by mainline or carried by fhook
 *
 * /sys/module/fhook/parameters/fprobes says which of them.  Reading a parameter of this
 * file registers an fprobe and measures a call, or the registration itself.
 */
#include <linux/fprobe.h>
#include <linux/hook_base.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "fhook_bench.h"

#ifdef CONFIG_FPROBE
static notrace int fprobe_entry(struct fprobe *fp, unsigned long ip,
				unsigned long ret_ip, HOOK_BASE_FPROBE_REGS *regs,
				void *data)
{
	return 0;
}

static notrace void fprobe_exit(struct fprobe *fp, unsigned long ip,
				unsigned long ret_ip, HOOK_BASE_FPROBE_REGS *regs,
				void *data)
{
}

u64 fhook_bench_fprobe(bool exit)
{
	unsigned long addr = (unsigned long)bench_target;
	struct fprobe fp = {
		.entry_handler	= fprobe_entry,
		.exit_handler	= exit ? fprobe_exit : NULL,
	};
	u64 result;

	if (register_fprobe_ips(&fp, &addr, 1))
		return 0;
	result = fhook_bench_calls();
	unregister_fprobe(&fp);

	return result;
}

/* The best of some registrations, or of the unregistrations that follow */
static u64 measure_many(bool unregister)
{
	u64 begin, registered, unregistered, best = U64_MAX;
	int i;

	for (i = 0; i < 5; i++) {
		struct fprobe fp = {
			.entry_handler	= fprobe_entry,
			.exit_handler	= fprobe_exit,
		};

		begin = fhook_bench_now();
		if (register_fprobe(&fp, "vfs_*", NULL))
			return 0;
		registered = fhook_bench_now();
		unregister_fprobe(&fp);
		unregistered = fhook_bench_now();
		best = min(best, unregister ? unregistered - registered : registered - begin);
	}

	return fhook_bench_units(best);
}
#else
u64 fhook_bench_fprobe(bool exit)
{
	return 0;
}

static u64 measure_many(bool unregister)
{
	return 0;
}
#endif

static u64 measure_entry(void)
{
	return fhook_bench_fprobe(false);
}

static u64 measure_exit(void)
{
	return fhook_bench_fprobe(true);
}

static u64 measure_register(void)
{
	return measure_many(false);
}

static u64 measure_unregister(void)
{
	return measure_many(true);
}

module_param_cb(fprobe_cost, &fhook_bench_cost_ops, measure_entry, 0400);
MODULE_PARM_DESC(fprobe_cost, "instructions of a call of bench_target() with an fprobe");

module_param_cb(fprobe_exit_cost, &fhook_bench_cost_ops, measure_exit, 0400);
MODULE_PARM_DESC(fprobe_exit_cost, "the same, with a handler at the exit, too");

module_param_cb(fprobe_register, &fhook_bench_cost_ops, measure_register, 0400);
MODULE_PARM_DESC(fprobe_register, "instructions to register an fprobe on vfs_*");

module_param_cb(fprobe_unregister, &fhook_bench_cost_ops, measure_unregister, 0400);
MODULE_PARM_DESC(fprobe_unregister, "instructions to unregister an fprobe on vfs_*");
