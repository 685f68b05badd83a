// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the costs of hooks: fhook and its counterparts in mainline, one after
 * the other in the same boot and on the same function.
 *
 *	# insmod fhook_bench.ko
 *	# dmesg | grep BENCH
 *
 * By default it is meant for QEMU with -icount shift=0,sleep=off and one CPU,
 * where the cycle counter advances by one an instruction (or by a fixed fraction
 * of it, which a loop of known length tells); on other machines the log says
 * that the figures are of no use. There, the parameter "count" asks for
 * instructions or cycles, by the processor's counters, or for ps, picoseconds.
 *
 * Each figure is one line, "BENCH", case, unit, mainline, fhook, separated by
 * tabs, "-" where there is nothing to measure. When insmod returns, all is
 * printed.
 */
#define pr_fmt(fmt) "fhook_bench: " fmt

#include <linux/fhook.h>
#include <linux/hook_base.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/vmstat.h>

#include "fhook_bench.h"

#define CALLS		100000
#define MAX_OPS		10
#define RUNS		3

/* The measured function, and another one. Empty, but not to be inlined. */
noinline __noclone int bench_target(int arg)
{
	asm volatile("");
	return arg + 1;
}

static noinline int bench_other(int arg)
{
	asm volatile("");
	return arg + 2;
}

static int (*call_other)(int arg) = bench_other;
static int sink;

/* Cost of one round of the loop, with its present hooks. */
u64 fhook_bench_calls(void)
{
	unsigned long flags;
	u64 begin, end;
	int i;

	/* Let one-time work be done first. */
	WRITE_ONCE(sink, bench_target(0));
	begin = fhook_bench_now();
	local_irq_save(flags);
	for (i = 0; i < CALLS; i++)
		WRITE_ONCE(sink, bench_target(i));
	local_irq_restore(flags);
	end = fhook_bench_now();

	return div_u64(fhook_bench_units(end - begin) + CALLS / 2, CALLS);
}

static int cost_get(char *buffer, const struct kernel_param *kp)
{
	u64 (*measure)(void) = kp->arg;

	return sysfs_emit(buffer, "%llu\n", measure());
}

const struct kernel_param_ops fhook_bench_cost_ops = {
	.get	= cost_get,
};

/* With hooks that others have put there: events, and patches. */
module_param_cb(call_cost, &fhook_bench_cost_ops, fhook_bench_calls, 0400);
MODULE_PARM_DESC(call_cost, "cost of a call of bench_target(), as it is hooked now");

/*
 * Both sides offer the same few operations
 */

/**
 * struct side - mainline or fhook
 * @hook: hook the function @func with ops @nr
 * @hook_name: hook the functions of a name or glob with ops 0, NULL for all
 * @unhook: remove ops @nr; returns as soon as the caller may continue
 * @wait: wait until everything that @unhook began has ended
 */
struct side {
	int	(*hook)(int nr, unsigned long func);
	int	(*hook_name)(const char *name);
	void	(*unhook)(int nr);
	void	(*wait)(void);
};

static unsigned long mainline_flags;
static unsigned int fhook_flags;

#ifdef CONFIG_DYNAMIC_FTRACE

/* All callbacks are notrace: their own no-ops are not to be measured. */
static notrace void ftrace_callback(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops,
				    struct ftrace_regs *fregs)
{
}

static struct ftrace_ops ftrace_ops[MAX_OPS];

static int mainline_hook(int nr, unsigned long func)
{
	struct ftrace_ops *ops = &ftrace_ops[nr];
	int err;

	*ops = (struct ftrace_ops) {
		.func	= ftrace_callback,
		.flags	= mainline_flags,
	};
	err = ftrace_set_filter_ip(ops, func, 0, 0);

	return err ?: register_ftrace_function(ops);
}

static int mainline_hook_name(const char *name)
{
	struct ftrace_ops *ops = &ftrace_ops[0];
	char text[KSYM_NAME_LEN];
	int err = 0;

	*ops = (struct ftrace_ops) {
		.func	= ftrace_callback,
		.flags	= mainline_flags,
	};
	if (name) {
		strscpy(text, name, sizeof(text));
		err = ftrace_set_filter(ops, text, strlen(text), 1);
	}

	return err ?: register_ftrace_function(ops);
}

static void mainline_unhook(int nr)
{
	unregister_ftrace_function(&ftrace_ops[nr]);
	ftrace_free_filter(&ftrace_ops[nr]);
}

#else /* !CONFIG_DYNAMIC_FTRACE */

static int mainline_hook(int nr, unsigned long func)
{
	return -EOPNOTSUPP;
}

static int mainline_hook_name(const char *name)
{
	return -EOPNOTSUPP;
}

static void mainline_unhook(int nr) { }

#endif /* CONFIG_DYNAMIC_FTRACE */

/* It has waited already. */
static void mainline_wait(void) { }

static const struct side mainline = {
	.hook		= mainline_hook,
	.hook_name	= mainline_hook_name,
	.unhook		= mainline_unhook,
	.wait		= mainline_wait,
};

static notrace int fhook_callback(struct fhook_ops *ops, unsigned long ip,
				  unsigned long parent_ip,
				  struct fhook_regs *fregs, void *data)
{
	return 0;
}

static struct fhook_ops fhook_ops[MAX_OPS];

static void fhook_prepare(int nr)
{
	fhook_ops[nr] = (struct fhook_ops) {
		.name	= "bench",
		.entry	= fhook_callback,
		.flags	= fhook_flags,
	};
}

static int fhook_hook(int nr, unsigned long func)
{
	fhook_prepare(nr);

	return fhook_register_ips(&fhook_ops[nr], &func, 1);
}

static int fhook_hook_name(const char *name)
{
	fhook_prepare(0);

	return fhook_register(&fhook_ops[0], name ?: "*", NULL);
}

static void fhook_unhook(int nr)
{
	fhook_unregister_async(&fhook_ops[nr], NULL);
}

static const struct side fhook = {
	.hook		= fhook_hook,
	.hook_name	= fhook_hook_name,
	.unhook		= fhook_unhook,
	.wait		= fhook_barrier,
};

/*
 * Costs of a call
 */

/**
 * struct call_case - a row of costs of calls
 * @name: of the row
 * @on_target: how many ops are on the function that is called
 * @on_other: how many are on another function
 * @mainline: flags of mainline's ops
 * @fhook: flags of fhook's
 */
struct call_case {
	const char	*name;
	int		on_target;
	int		on_other;
	unsigned long	mainline;
	unsigned int	fhook;
};

/*
 * FTRACE_OPS_FL_RECURSION asks ftrace to take care of recursion, and the lack
 * of FHOOK_FL_UNGUARDED asks fhook.
 */
static const struct call_case call_cases[] = {
	{ "not hooked", 0, 0, 0, 0 },
	{ "1 ops, caller takes care of recursion", 1, 0,
	  0, FHOOK_FL_UNGUARDED },
	{ "1 ops, protected", 1, 0,
	  FTRACE_OPS_FL_RECURSION, 0 },
	{ "1 ops, full registers, protected", 1, 0,
	  FTRACE_OPS_FL_RECURSION | FTRACE_OPS_FL_SAVE_REGS, FHOOK_FL_REGS },
	{ "2 ops, protected", 2, 0, FTRACE_OPS_FL_RECURSION, 0 },
	{ "2 ops + 8 on other functions", 2, 8, FTRACE_OPS_FL_RECURSION, 0 },
	{ "10 ops", 10, 0, FTRACE_OPS_FL_RECURSION, 0 },
};

static u64 measure_side(const struct side *side, const struct call_case *c)
{
	int i, err = 0, num = c->on_target + c->on_other;
	u64 result = 0;

	for (i = 0; i < num; i++) {
		unsigned long func = (unsigned long)bench_target;

		if (i >= c->on_target)
			func = (unsigned long)bench_other;
		err = side->hook(i, func);
		if (err)
			break;
	}

	if (!err)
		result = fhook_bench_calls();
	else
		pr_err("%s: ops %d is refused: %d\n", c->name, i, err);

	while (--i >= 0)
		side->unhook(i);
	side->wait();

	return result;
}

static void bench_calls(void)
{
	const struct call_case *c;
	struct figures f;

	for (c = call_cases; c < call_cases + ARRAY_SIZE(call_cases); c++) {
		mainline_flags = c->mainline;
		fhook_flags = c->fhook;
		f.mainline = 0;
		if (IS_ENABLED(CONFIG_DYNAMIC_FTRACE))
			f.mainline = measure_side(&mainline, c);
		f.fhook = measure_side(&fhook, c);
		fhook_bench_print(c->name, fhook_bench_unit(), f);
	}
}

/*
 * Calls whose return is hooked as well
 */

static notrace void fhook_exit_callback(struct fhook_ops *ops, unsigned long ip,
					unsigned long ret_ip,
					struct fhook_regs *fregs, void *data)
{
}

static u64 measure_fhook_exit(void)
{
	unsigned long func = (unsigned long)bench_target;
	u64 result;

	fhook_flags = 0;
	fhook_prepare(0);
	fhook_ops[0].exit = fhook_exit_callback;
	fhook_ops[0].data_size = sizeof(long);
	if (fhook_register_ips(&fhook_ops[0], &func, 1))
		return 0;
	result = fhook_bench_calls();
	fhook_unregister(&fhook_ops[0]);

	return result;
}

/* Where there is no fprobe, beside a kretprobe with an entry handler. */
static void bench_returns(void)
{
	u64 kretprobe = fhook_bench_kretprobe(true), fprobe = fhook_bench_fprobe(true);
	u64 fhook = measure_fhook_exit();

	fhook_bench_print("entry + exit", fhook_bench_unit(),
			  (struct figures) { fprobe ?: kretprobe, fhook });
}

/*
 * Costs of attaching and detaching
 */

/**
 * struct whole_case - a row of whole operations
 * @attach: name of the row for attaching
 * @detach: name of the row for detaching, until the caller can continue
 * @gone: name of the row for detaching until all is freed
 * @func: address of the function to hook, the fastest way for mainline; or NULL
 * @name: name of the functions to hook; NULL for all
 */
struct whole_case {
	const char	*attach;
	const char	*detach;
	const char	*gone;
	void		*func;
	const char	*name;
};

/*
 * The one function is known to mainline by address, without looking up its
 * name, which makes mainline faster than a user by name would find it.
 */
static const struct whole_case whole_cases[] = {
	{ "attach to 1 function by name", "detach from 1 function, asynchronous",
	  "detach from 1 function, and wait", vfs_fsync, "vfs_fsync" },
	{ "filter `vfs_*` and register", "detach from `vfs_*`, asynchronous",
	  "detach from `vfs_*`, and wait", NULL, "vfs_*" },
	{ "register on all functions", "detach from all, asynchronous",
	  "detach from all, and wait", NULL, NULL },
};

struct whole_figures {
	u64	attach;
	u64	detach;
	u64	gone;
};

static int measure_whole_once(const struct side *side,
			      const struct whole_case *c, bool by_address,
			      struct whole_figures *f)
{
	u64 begin, attached, detached, gone;
	int err;

	begin = fhook_bench_now();
	if (by_address && c->func)
		err = side->hook(0, (unsigned long)c->func);
	else
		err = side->hook_name(c->name);
	attached = fhook_bench_now();
	if (err) {
		pr_err("%s: %d\n", c->attach, err);
		return err;
	}
	attached -= begin;

	begin = fhook_bench_now();
	side->unhook(0);
	detached = fhook_bench_now() - begin;
	side->wait();
	gone = fhook_bench_now() - begin;

	f->attach = min(f->attach, fhook_bench_units(attached));
	f->detach = min(f->detach, fhook_bench_units(detached));
	f->gone = min(f->gone, fhook_bench_units(gone));

	return 0;
}

/* The best of some: timers and the idle of waiting make single ones vary. */
static struct whole_figures measure_whole(const struct side *side,
					  const struct whole_case *c,
					  bool by_address)
{
	struct whole_figures f = { U64_MAX, U64_MAX, U64_MAX };
	int i;

	for (i = 0; i < RUNS; i++) {
		if (measure_whole_once(side, c, by_address, &f))
			return (struct whole_figures) { };
	}

	return f;
}

static void bench_whole(void)
{
	struct whole_figures m = { }, f;
	const struct whole_case *c;

	if (IS_ENABLED(CONFIG_DYNAMIC_FTRACE))
		mainline_flags = FTRACE_OPS_FL_RECURSION;
	fhook_flags = 0;

	for (c = whole_cases; c < whole_cases + ARRAY_SIZE(whole_cases); c++) {
		if (IS_ENABLED(CONFIG_DYNAMIC_FTRACE))
			m = measure_whole(&mainline, c, true);
		f = measure_whole(&fhook, c, false);
		fhook_bench_print(c->attach, fhook_bench_unit(),
				  (struct figures) { m.attach, f.attach });
		fhook_bench_print(c->detach, fhook_bench_unit(),
				  (struct figures) { m.detach, f.detach });
		fhook_bench_print(c->gone, fhook_bench_unit(),
				  (struct figures) { m.gone, f.gone });
	}
}

/*
 * Memory
 */

#define MANY		1024

/* Those in the lists of the CPUs are free as well, but counted elsewhere. */
static unsigned long pages_free(void)
{
	unsigned long pages = global_zone_page_state(NR_FREE_PAGES);
	struct zone *zones = NODE_DATA(first_online_node)->node_zones;
	int i, cpu;

	for (i = 0; i < MAX_NR_ZONES; i++) {
		if (!populated_zone(&zones[i]))
			continue;
		for_each_online_cpu(cpu)
			pages += per_cpu_ptr(zones[i].per_cpu_pageset,
					     cpu)->count;
	}

	return pages;
}

static u64 bytes_each(unsigned long before, unsigned long after,
		      unsigned int num)
{
	return before > after ? (before - after) * PAGE_SIZE / num : 0;
}

#ifdef CONFIG_DYNAMIC_FTRACE
#define MANY_MAINLINE	128

/* Fewer than of fhook's: each waits when it goes, and takes whole pages. */
static u64 many_mainline(void)
{
	static struct ftrace_ops ops[MANY_MAINLINE];
	unsigned long func = (unsigned long)vfs_fsync;
	unsigned long before = pages_free();
	unsigned int num = 0;
	u64 bytes;

	for (; func && num < MANY_MAINLINE; func = fhook_bench_next_function(func)) {
		ops[num].func = ftrace_callback;
		ops[num].flags = FTRACE_OPS_FL_RECURSION;
		if (!ftrace_set_filter_ip(&ops[num], func, 0, 0) &&
		    !register_ftrace_function(&ops[num]))
			num++;
	}
	bytes = bytes_each(before, pages_free(), num);
	while (num--) {
		unregister_ftrace_function(&ops[num]);
		ftrace_free_filter(&ops[num]);
	}

	return bytes;
}

static u64 mainline_site_size(void)
{
	return sizeof(struct dyn_ftrace);
}

static u64 mainline_ops_size(void)
{
	return sizeof(struct ftrace_ops);
}
#else
static u64 many_mainline(void)
{
	return 0;
}

static u64 mainline_site_size(void)
{
	return 0;
}

static u64 mainline_ops_size(void)
{
	return 0;
}
#endif

/* The first ones pay for one-time allocations. */
static u64 many_fhook(void)
{
	unsigned long func = (unsigned long)vfs_fsync, before = 0;
	static struct fhook_ops ops[MANY];
	struct fhook_report report;
	unsigned int num = 0;
	u64 bytes;

	for (; func && num < MANY; func = fhook_bench_next_function(func)) {
		if (num == MANY / 4)
			before = pages_free();
		ops[num].name = "bench";
		ops[num].entry = fhook_callback;
		ops[num].report = &report;
		if (!fhook_register_ips(&ops[num], &func, 1))
			num++;
	}
	bytes = bytes_each(before, pages_free(), num - MANY / 4);
	while (num--)
		fhook_unregister_async(&ops[num], NULL);
	fhook_barrier();

	return bytes;
}

/* How long the trampoline is that called this, as kallsyms has it. */
static unsigned int tramp_size;

static int size_callback(struct fhook_ops *ops, unsigned long ip,
			 unsigned long parent_ip, struct fhook_regs *fregs,
			 void *data)
{
	char symbol[KSYM_SYMBOL_LEN], *size;

	sprint_symbol(symbol, (unsigned long)__builtin_return_address(0));
	size = strchr(symbol, '/');
	if (!size || sscanf(size, "/%x", &tramp_size) != 1)
		tramp_size = 0;

	return 0;
}

/* Of @num hooks, guarded: the first is the one that looks. */
static u64 measure_tramp(int num)
{
	unsigned long func = (unsigned long)bench_other;
	int i;

	fhook_flags = 0;
	tramp_size = 0;
	for (i = 0; i < num; i++) {
		fhook_prepare(i);
		if (!i)
			fhook_ops[i].entry = size_callback;
		if (fhook_register_ips(&fhook_ops[i], &func, 1))
			break;
	}
	WRITE_ONCE(sink, READ_ONCE(call_other)(0));
	while (--i >= 0)
		fhook_unhook(i);
	fhook_barrier();

	return tramp_size;
}

static void bench_memory(void)
{
	struct figures site = {
		mainline_site_size(), sizeof(*THIS_MODULE->fhook_sites)
	};
	struct figures ops = { mainline_ops_size(), sizeof(struct fhook_ops) };
	struct figures many = { many_mainline(), many_fhook() };
	struct figures tramp = { };

	fhook_bench_print("memory of an idle vmlinux site (fhook's own data)",
			  "bytes", site);
	fhook_bench_print("memory of an ops, what the user provides", "bytes",
			  ops);
	fhook_bench_print("memory of an ops on 1 function, allocated", "bytes",
			  many);
	/* Mainline's are copies that take a page each, where it has any. */
	if (IS_ENABLED(CONFIG_DYNAMIC_FTRACE) && IS_ENABLED(CONFIG_X86))
		tramp.mainline = PAGE_SIZE;
	tramp.fhook = measure_tramp(1);
	fhook_bench_print("memory of a trampoline of 1 ops", "bytes", tramp);
	tramp.mainline = 0;
	tramp.fhook = measure_tramp(MAX_OPS);
	fhook_bench_print("memory of a trampoline of 10 ops", "bytes", tramp);
}

static int __init bench_init(void)
{
	int err = fhook_bench_clock_start();

	if (err) {
		fhook_bench_clock_stop();
		return err;
	}

	bench_calls();
	bench_returns();
	bench_whole();
	bench_memory();

	return 0;
}

static void __exit bench_exit(void)
{
	fhook_bench_scale_stop();
	fhook_bench_clock_stop();
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Benchmark of fhook beside its counterparts in mainline");
MODULE_LICENSE("GPL");
