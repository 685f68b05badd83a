// SPDX-License-Identifier: GPL-2.0
/*
 * Benchmark of fhook: the effect of many hooks on what does not use them
 *
 *	# echo 1 > /sys/module/fhook_bench/parameters/named		or 0: by address
 *	# echo 10000 > /sys/module/fhook_bench/parameters/hooks		one function each
 *	# cat /sys/module/fhook_bench/parameters/trace_cost		a stack trace in a hook
 *	# cat /sys/module/fhook_bench/parameters/clock			before and after insmod
 *	# echo 0 > /sys/module/fhook_bench/parameters/hooks
 *
 * Parameters are read and written one at a time (kernel_param_lock()), which protects all
 * variables here.
 */
#define pr_fmt(fmt) "fhook_bench: " fmt

#include <linux/fhook.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>

#include "fhook_bench.h"

#define MAX_HOOKS	20000
#define TRACES		1000

static bool named = true;
module_param(named, bool, 0600);
MODULE_PARM_DESC(named, "hooks are by name, and looked for in modules that are loaded later");

static struct fhook_ops *hooks;
static unsigned int hooks_num;

static notrace int hook_callback(struct fhook_ops *ops, unsigned long ip,
				 unsigned long parent_ip, struct fhook_regs *fregs,
				 void *data)
{
	return 0;
}

/* The start of the function of vmlinux that contains an address, or 0; and its name */
static unsigned long function_at(unsigned long addr, char *symbol, unsigned long *size)
{
	unsigned long offset;
	char *numbers;

	sprint_symbol(symbol, addr);
	numbers = strrchr(symbol, '+');
	if (!numbers || sscanf(numbers, "+0x%lx/0x%lx", &offset, size) != 2)
		return 0;
	*numbers = '\0';

	return addr - offset;
}

/**
 * fhook_bench_next_function() - the function after another one in vmlinux
 * @addr: an address in a function of vmlinux
 *
 * Return: the address of the next function, or 0 at the end.
 */
unsigned long fhook_bench_next_function(unsigned long addr)
{
	char symbol[KSYM_SYMBOL_LEN];
	unsigned long size;

	addr = function_at(addr, symbol, &size);

	return addr ? addr + size : 0;
}

static unsigned long first_function(void)
{
	unsigned long func, size, before = (unsigned long)sprint_symbol;
	char symbol[KSYM_SYMBOL_LEN];

	do {
		func = before;
		before = function_at(func - 1, symbol, &size);
	} while (before);

	return func;
}

static void hooks_remove(void)
{
	while (hooks_num)
		fhook_unregister_async(&hooks[--hooks_num], NULL);
	fhook_barrier();
	kvfree(hooks);
	hooks = NULL;
}

/* Both kinds slow down the hooked functions that loading a module calls. */
static int hooks_add(unsigned int num)
{
	struct fhook_report report;
	char symbol[KSYM_SYMBOL_LEN];
	unsigned long func, size;

	hooks = kvcalloc(num, sizeof(*hooks), GFP_KERNEL);
	if (!hooks)
		return -ENOMEM;

	for (func = first_function(); func && hooks_num < num;
	     func = fhook_bench_next_function(func)) {
		struct fhook_ops *ops = &hooks[hooks_num];

		function_at(func, symbol, &size);
		*ops = (struct fhook_ops) {
			.name	= "bench",
			.entry	= hook_callback,
			.report	= &report,
		};
		if (!(named ? fhook_register(ops, symbol, NULL) :
			      fhook_register_ips(ops, &func, 1)))
			hooks_num++;
		cond_resched();
	}
	if (hooks_num == num)
		return 0;

	pr_err("only %u functions can be hooked, not %u\n", hooks_num, num);
	hooks_remove();

	return -ERANGE;
}

static int hooks_set(const char *value, const struct kernel_param *kp)
{
	unsigned int num;
	int err = kstrtouint(value, 0, &num);

	if (err)
		return err;
	if (num > MAX_HOOKS)
		return -EINVAL;

	hooks_remove();

	return num ? hooks_add(num) : 0;
}

static int hooks_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u\n", hooks_num);
}

static const struct kernel_param_ops hooks_ops = {
	.set	= hooks_set,
	.get	= hooks_get,
};

module_param_cb(hooks, &hooks_ops, NULL, 0600);
MODULE_PARM_DESC(hooks, "number of hooks, on one function of vmlinux each");

static notrace int trace_callback(struct fhook_ops *ops, unsigned long ip,
				  unsigned long parent_ip, struct fhook_regs *fregs,
				  void *data)
{
	unsigned long entries[16];

	stack_trace_save(entries, ARRAY_SIZE(entries), 0);

	return 0;
}

/* A call of a function whose hook takes a stack trace, across its trampoline */
static u64 trace_cost(void)
{
	struct fhook_ops ops = { .name = "bench", .entry = trace_callback };
	unsigned long func = (unsigned long)bench_target;
	u64 begin, end;
	int i;

	if (fhook_register_ips(&ops, &func, 1))
		return 0;
	bench_target(0);
	begin = fhook_bench_now();
	for (i = 0; i < TRACES; i++)
		bench_target(i);
	end = fhook_bench_now();
	fhook_unregister(&ops);

	return div_u64(fhook_bench_units(end - begin), TRACES);
}

module_param_cb(trace_cost, &fhook_bench_cost_ops, trace_cost, 0400);
MODULE_PARM_DESC(trace_cost, "cost of a call whose hook takes a stack trace");

static u64 clock_now(void)
{
	return fhook_bench_units(fhook_bench_now());
}

module_param_cb(clock, &fhook_bench_cost_ops, clock_now, 0400);
MODULE_PARM_DESC(clock, "the clock of the benchmark, in its unit");

/**
 * fhook_bench_scale_stop() - remove the hooks that are still there
 */
void fhook_bench_scale_stop(void)
{
	hooks_remove();
}
