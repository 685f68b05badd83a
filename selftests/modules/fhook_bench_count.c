// SPDX-License-Identifier: GPL-2.0
/*
 * The benchmark of fhook: the clock that figures are measured with, which the
 * parameter "count" chooses, and how a figure is printed. See fhook_bench_main.c.
 *
 *	icount		instructions, where the cycle counter counts them, as in QEMU
 *	instructions	instructions in the kernel, by the processor's counter
 *	cycles		cycles in the kernel, by the processor's counter
 *	ps		picoseconds
 *
 * The processor's counters count for one task. Reading one may sleep.
 */
#define pr_fmt(fmt) "fhook_bench: " fmt

#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include "fhook_bench.h"

/* How many ticks a loop of KNOWN instructions takes. */
#define KNOWN_ROUNDS	500000UL
#define KNOWN		(2 * KNOWN_ROUNDS)

static char *count = "icount";
module_param(count, charp, 0400);
MODULE_PARM_DESC(count, "icount, instructions, cycles or ps");

/**
 * struct bench_clock - a clock of the benchmark
 * @name: value of the parameter "count"
 * @unit: unit of the figures
 * @now: read the clock
 * @config: event of perf, for a counter of the processor
 */
struct bench_clock {
	const char	*name;
	const char	*unit;
	u64		(*now)(void);
	u64		config;
};

static const struct bench_clock *clock;
static u64 known_ticks;

/* The counter of the processor, and the task whose work it counts */
static struct perf_event *counter;
static struct task_struct *counter_task;

static u64 now_ticks(void)
{
	return get_cycles();
}

static u64 now_ps(void)
{
	return ktime_get_ns() * 1000;
}

/* The event holds a reference to its task, so another task has another address. */
static bool open_counter(void)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.size		= sizeof(attr),
		.config		= clock->config,
		.pinned		= 1,
		.exclude_user	= 1,
	};
	struct perf_event *event;

	if (counter && counter_task == current)
		return true;
	event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	if (IS_ERR(event)) {
		pr_err("the processor's counter of %s cannot be used: %ld\n", clock->unit,
		       PTR_ERR(event));
		return false;
	}
	if (counter)
		perf_event_release_kernel(counter);
	counter = event;
	counter_task = current;

	return true;
}

static u64 now_counter(void)
{
	u64 enabled, running;

	return open_counter() ? perf_event_read_value(counter, &enabled, &running) : 0;
}

static const struct bench_clock clocks[] = {
	{ "icount", "instructions", now_ticks },
	{ "instructions", "instructions", now_counter, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cycles", "cycles", now_counter, PERF_COUNT_HW_CPU_CYCLES },
	{ "ps", "ps", now_ps },
};

/**
 * fhook_bench_now() - read the clock
 *
 * Context: process context, with interrupts enabled.
 * Return: its ticks.
 */
u64 fhook_bench_now(void)
{
	return clock->now();
}
EXPORT_SYMBOL_GPL(fhook_bench_now);

/**
 * fhook_bench_units() - convert ticks of the clock to the unit of figures
 * @ticks: ticks of the clock
 */
u64 fhook_bench_units(u64 ticks)
{
	return clock->now == now_ticks ? mul_u64_u64_div_u64(ticks, KNOWN, known_ticks) : ticks;
}
EXPORT_SYMBOL_GPL(fhook_bench_units);

/**
 * fhook_bench_unit() - the unit of figures
 */
const char *fhook_bench_unit(void)
{
	return clock->unit;
}

static u64 run_known_loop(void)
{
	unsigned long rounds = KNOWN_ROUNDS;
	unsigned long flags;
	u64 begin, end;

	begin = fhook_bench_now();
	local_irq_save(flags);
#ifdef CONFIG_X86_64
	asm volatile("1: decq %0\n\tjnz 1b" : "+r" (rounds) : : "cc");
#elif defined(CONFIG_ARM64)
	asm volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r" (rounds) : : "cc");
#else
#error "a loop of two instructions is wanted here"
#endif
	local_irq_restore(flags);
	end = fhook_bench_now();

	return end - begin;
}

/**
 * fhook_bench_clock_start() - choose the clock, and try it
 *
 * Return: 0; -EINVAL if there is no such clock, -EOPNOTSUPP if this machine does not have it.
 */
int fhook_bench_clock_start(void)
{
	u64 again;
	int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++)
		if (!strcmp(clocks[i].name, count))
			clock = &clocks[i];
	if (!clock) {
		pr_err("count=%s is none of icount, instructions, cycles and ps\n", count);
		return -EINVAL;
	}
	if (!run_known_loop())
		return -EOPNOTSUPP;
	known_ticks = run_known_loop();
	again = run_known_loop();
	pr_info("%lu instructions take %llu ticks\n", KNOWN, known_ticks);
	if (!strcmp(clock->unit, "instructions") && abs_diff(again, known_ticks) > KNOWN / 1000)
		pr_warn("and %llu the next time: this machine does not count instructions\n",
			again);

	return 0;
}

/**
 * fhook_bench_clock_stop() - release the processor's counter
 */
void fhook_bench_clock_stop(void)
{
	if (counter)
		perf_event_release_kernel(counter);
}

static void print_figure(char *text, size_t size, u64 value)
{
	if (value)
		snprintf(text, size, "%llu", value);
	else
		strscpy(text, "-", size);
}

/**
 * fhook_bench_print() - print a row of the table
 * @name: of the case
 * @unit: of its figures
 * @f: the figures
 */
void fhook_bench_print(const char *name, const char *unit, struct figures f)
{
	char mainline[24], fhook[24];

	print_figure(mainline, sizeof(mainline), f.mainline);
	print_figure(fhook, sizeof(fhook), f.fhook);
	pr_info("BENCH\t%s\t%s\t%s\t%s\n", name, unit, mainline, fhook);
}
