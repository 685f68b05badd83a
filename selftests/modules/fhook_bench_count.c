// SPDX-License-Identifier: GPL-2.0
/*
 * The benchmark of fhook: from ticks of the cycle counter to instructions, and
 * how a figure is printed. See fhook_bench_main.c.
 */
#define pr_fmt(fmt) "fhook_bench: " fmt

#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/timex.h>

#include "fhook_bench.h"

/* How many ticks a loop of KNOWN instructions takes. */
#define KNOWN_ROUNDS	500000UL
#define KNOWN		(2 * KNOWN_ROUNDS)

static u64 known_ticks;

static u64 run_known_loop(void)
{
	unsigned long rounds = KNOWN_ROUNDS;
	unsigned long flags;
	u64 begin, end;

	local_irq_save(flags);
	begin = get_cycles();
#ifdef CONFIG_X86_64
	asm volatile("1: decq %0\n\tjnz 1b" : "+r" (rounds) : : "cc");
#elif defined(CONFIG_ARM64)
	asm volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r" (rounds) : : "cc");
#else
#error "a loop of two instructions is wanted here"
#endif
	end = get_cycles();
	local_irq_restore(flags);

	return end - begin;
}

/**
 * fhook_bench_calibrate() - find out how many ticks an instruction takes
 *
 * Return: false if there are none to count.
 */
bool fhook_bench_calibrate(void)
{
	u64 again;

	run_known_loop();
	known_ticks = run_known_loop();
	again = run_known_loop();
	pr_info("%lu instructions take %llu ticks\n", KNOWN, known_ticks);
	if (abs_diff(again, known_ticks) > KNOWN / 1000)
		pr_warn("and %llu the next time: this machine does not count instructions\n",
			again);

	return known_ticks;
}

/**
 * fhook_bench_instructions() - how many instructions take so many ticks
 * @ticks: of the cycle counter
 */
u64 fhook_bench_instructions(u64 ticks)
{
	return mul_u64_u64_div_u64(ticks, KNOWN, known_ticks);
}
EXPORT_SYMBOL_GPL(fhook_bench_instructions);

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
