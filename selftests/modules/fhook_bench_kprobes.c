// SPDX-License-Identifier: GPL-2.0
/*
 * Benchmark of fhook: kprobes and kretprobes, by mainline or carried by fhook
 *
 * /sys/module/fhook/parameters/kprobes says which of them.  Reading a parameter of this
 * file registers a probe and measures a call.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "fhook_bench.h"

#ifdef CONFIG_KPROBES
static notrace int kprobe_callback(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

static u64 measure_kprobe(void)
{
	struct kprobe kp = {
		.addr		= (kprobe_opcode_t *)bench_target,
		.pre_handler	= kprobe_callback,
	};
	u64 result;

	if (register_kprobe(&kp))
		return 0;
	result = fhook_bench_calls();
	unregister_kprobe(&kp);

	return result;
}
#else
static u64 measure_kprobe(void)
{
	return 0;
}
#endif

#ifdef CONFIG_KRETPROBES
static notrace int kretprobe_callback(struct kretprobe_instance *instance,
				      struct pt_regs *regs)
{
	return 0;
}

u64 fhook_bench_kretprobe(bool entry)
{
	struct kretprobe kp = {
		.kp.addr	= (kprobe_opcode_t *)bench_target,
		.entry_handler	= entry ? kretprobe_callback : NULL,
		.handler	= kretprobe_callback,
		.maxactive	= 4,
	};
	u64 result;

	if (register_kretprobe(&kp))
		return 0;
	result = fhook_bench_calls();
	unregister_kretprobe(&kp);

	return result;
}
#else
u64 fhook_bench_kretprobe(bool entry)
{
	return 0;
}
#endif

static u64 measure_kretprobe_entry(void)
{
	return fhook_bench_kretprobe(true);
}

static u64 measure_kretprobe_exit(void)
{
	return fhook_bench_kretprobe(false);
}

module_param_cb(kprobe_cost, &fhook_bench_cost_ops, measure_kprobe, 0400);
MODULE_PARM_DESC(kprobe_cost, "instructions of a call of bench_target() with a kprobe");

module_param_cb(kretprobe_cost, &fhook_bench_cost_ops, measure_kretprobe_entry, 0400);
MODULE_PARM_DESC(kretprobe_cost, "instructions of a call of bench_target() with a kretprobe");

module_param_cb(kretprobe_exit_cost, &fhook_bench_cost_ops, measure_kretprobe_exit, 0400);
MODULE_PARM_DESC(kretprobe_exit_cost,
		 "the same, without an entry handler, as kretprobe events and BPF have it");
