// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook on arm64: every register through both trampolines, and
 * stack traces from an interrupt in a trampoline.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hook_base.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/linkage.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <asm/irq_regs.h>
#include <asm/virt.h>

#include "test_fhook.h"

/* x0 to x28; x29 and x30 belong to the frame. */
#define GPRS	29

/**
 * struct cpu_state - registers that test_fhook_call_empty() loads and stores
 * @gpr: the registers
 * @sp: stack pointer at the entry of the called function
 */
struct cpu_state {
	unsigned long	gpr[GPRS];
	unsigned long	sp;
};

static_assert(offsetof(struct cpu_state, sp) == 232);

/* Registers before and after the call. */
static struct cpu_state test_in, test_out;

asmlinkage void test_fhook_call_empty(struct cpu_state *in,
				      struct cpu_state *out);

/*
 * Call fhook_target_empty() with known registers, and store the registers after
 * it. The function itself changes only x9, by its slots. x18 may be the shadow
 * call stack's.
 */
asm("	.pushsection .text, \"ax\", @progbits\n"
	"	.type test_fhook_call_empty, @function\n"
	"	.globl test_fhook_call_empty\n"
	"test_fhook_call_empty:\n"
	"	stp	x29, x30, [sp, #-112]!\n"
	"	mov	x29, sp\n"
	"	stp	x19, x20, [sp, #16]\n"
	"	stp	x21, x22, [sp, #32]\n"
	"	stp	x23, x24, [sp, #48]\n"
	"	stp	x25, x26, [sp, #64]\n"
	"	stp	x27, x28, [sp, #80]\n"
	"	str	x1, [sp, #96]\n"
	"	str	x29, [x0, #232]\n"
	"	ldp	x2, x3, [x0, #16]\n"
	"	ldp	x4, x5, [x0, #32]\n"
	"	ldp	x6, x7, [x0, #48]\n"
	"	ldp	x8, x9, [x0, #64]\n"
	"	ldp	x10, x11, [x0, #80]\n"
	"	ldp	x12, x13, [x0, #96]\n"
	"	ldp	x14, x15, [x0, #112]\n"
	"	ldp	x16, x17, [x0, #128]\n"
	"	ldr	x19, [x0, #152]\n"
	"	ldp	x20, x21, [x0, #160]\n"
	"	ldp	x22, x23, [x0, #176]\n"
	"	ldp	x24, x25, [x0, #192]\n"
	"	ldp	x26, x27, [x0, #208]\n"
	"	ldr	x28, [x0, #224]\n"
	"	ldp	x0, x1, [x0]\n"
	"	bl	fhook_target_empty\n"
	"	stp	x0, x1, [sp, #-16]!\n"
	"	ldr	x0, [sp, #112]\n"
	"	stp	x2, x3, [x0, #16]\n"
	"	stp	x4, x5, [x0, #32]\n"
	"	stp	x6, x7, [x0, #48]\n"
	"	stp	x8, x9, [x0, #64]\n"
	"	stp	x10, x11, [x0, #80]\n"
	"	stp	x12, x13, [x0, #96]\n"
	"	stp	x14, x15, [x0, #112]\n"
	"	stp	x16, x17, [x0, #128]\n"
	"	str	x19, [x0, #152]\n"
	"	stp	x20, x21, [x0, #160]\n"
	"	stp	x22, x23, [x0, #176]\n"
	"	stp	x24, x25, [x0, #192]\n"
	"	stp	x26, x27, [x0, #208]\n"
	"	str	x28, [x0, #224]\n"
	"	ldp	x2, x3, [sp], #16\n"
	"	stp	x2, x3, [x0]\n"
	"	mov	x2, sp\n"
	"	str	x2, [x0, #232]\n"
	"	ldp	x19, x20, [sp, #16]\n"
	"	ldp	x21, x22, [sp, #32]\n"
	"	ldp	x23, x24, [sp, #48]\n"
	"	ldp	x25, x26, [sp, #64]\n"
	"	ldp	x27, x28, [sp, #80]\n"
	"	ldp	x29, x30, [sp], #112\n"
	"	ret\n"
	"	.size test_fhook_call_empty, . - test_fhook_call_empty\n"
	"	.popsection\n");

/* Fill the registers with values that none of them has by accident. */
static void call_empty(void)
{
	int i;

	for (i = 0; i < GPRS; i++)
		test_in.gpr[i] = 0x5a5a000000000000UL + 0x0101010101UL * i;
	memset(&test_out, 0, sizeof(test_out));
	test_fhook_call_empty(&test_in, &test_out);
}

/* Registers that a slot itself needs, or that the test does not load. */
static bool is_known(int i)
{
	return i != 9 && i != 18;
}

/* Scratch registers that carry no arguments. */
static bool is_scratch(int i)
{
	return i >= 9 && i <= 18;
}

/* A caller may rely on these registers, whatever the trampoline does. */
static void expect_preserved(struct kunit *test)
{
	int i;

	for (i = 0; i < GPRS; i++) {
		if (!is_scratch(i))
			KUNIT_EXPECT_EQ_MSG(test, test_in.gpr[i],
					    test_out.gpr[i], "x%d", i);
	}
	KUNIT_EXPECT_EQ(test, test_in.sp, test_out.sp);
}

static void try_preserved(struct kunit *test, unsigned int flags)
{
	struct fhook_probe *probe = fhook_probe(test, "preserved");
	int i;

	call_empty();
	expect_preserved(test);

	probe->ops.flags = flags;
	fhook_probe_register(probe, "fhook_target_empty");
	call_empty();
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	KUNIT_EXPECT_FALSE(test, probe->has_regs);
	expect_preserved(test);
	for (i = 0; i < FHOOK_TEST_ARGS; i++)
		KUNIT_EXPECT_EQ(test, test_in.gpr[i], probe->args[i]);
	KUNIT_EXPECT_EQ(test, test_in.sp, probe->regs_fp);
	KUNIT_EXPECT_EQ(test, test_in.sp, probe->regs_sp);
	fhook_probe_unregister(probe);
}

static void test_preserved(struct kunit *test)
{
	try_preserved(test, 0);
	try_preserved(test, FHOOK_FL_UNGUARDED);
}

static void try_regs(struct kunit *test, unsigned int flags)
{
	struct fhook_probe *probe = fhook_probe(test, "regs");
	unsigned long mode = is_kernel_in_hyp_mode() ? PSR_MODE_EL2h :
						      PSR_MODE_EL1h;
	int i;

	probe->ops.flags = flags | FHOOK_FL_REGS;
	fhook_probe_register(probe, "fhook_target_empty");
	call_empty();
	KUNIT_ASSERT_EQ(test, 1, probe->calls);
	KUNIT_ASSERT_TRUE(test, probe->has_regs);

	expect_preserved(test);
	for (i = 0; i < GPRS; i++) {
		if (!is_known(i))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, test_in.gpr[i], test_out.gpr[i],
				    "x%d", i);
		KUNIT_EXPECT_EQ_MSG(test, test_in.gpr[i], probe->regs.regs[i],
				    "x%d", i);
	}
	KUNIT_EXPECT_EQ(test, test_in.sp, probe->regs.regs[29]);
	KUNIT_EXPECT_EQ(test, probe->parent, probe->regs.regs[30]);
	KUNIT_EXPECT_EQ(test, test_in.sp, probe->regs.sp);
	KUNIT_EXPECT_EQ(test, probe->regs_ip, probe->regs.pc);
	KUNIT_EXPECT_EQ(test, mode, probe->regs.pstate & PSR_MODE_MASK);
	KUNIT_EXPECT_EQ(test, NO_SYSCALL, probe->regs.syscallno);
	KUNIT_EXPECT_EQ(test, !irqs_disabled(), hook_base_irqs_enabled(&probe->regs));
	KUNIT_EXPECT_FALSE(test, user_mode(&probe->regs));
	fhook_probe_unregister(probe);
}

static void test_regs(struct kunit *test)
{
	try_regs(test, 0);
	try_regs(test, FHOOK_FL_UNGUARDED);
}

/* By the interrupt mask, or by priority if the kernel masks by priority. */
static void test_regs_irqs(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "irqs");
	unsigned long flags;

	probe->ops.flags = FHOOK_FL_REGS;
	fhook_probe_register(probe, "fhook_target_empty");
	call_empty();
	KUNIT_EXPECT_TRUE(test, hook_base_irqs_enabled(&probe->regs));
	local_irq_save(flags);
	call_empty();
	local_irq_restore(flags);
	KUNIT_EXPECT_FALSE(test, hook_base_irqs_enabled(&probe->regs));
	fhook_probe_unregister(probe);
}

static void act_change_regs(struct fhook_probe *probe, struct fhook_regs *fregs)
{
	int i;

	for (i = 0; i < GPRS; i++)
		fhook_get_regs(fregs)->regs[i] += 1;
}

/* The function gets the values that a callback writes to the full registers. */
static void test_change_regs(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "change");
	int i;

	probe->ops.flags = FHOOK_FL_REGS;
	probe->act = act_change_regs;
	fhook_probe_register(probe, "fhook_target_empty");
	call_empty();
	for (i = 0; i < GPRS; i++) {
		if (is_known(i))
			KUNIT_EXPECT_EQ_MSG(test, test_in.gpr[i] + 1,
					    test_out.gpr[i], "x%d", i);
	}
	fhook_probe_unregister(probe);
}

/*
 * Interrupts in a trampoline
 *
 * A timer interrupts a task that keeps calling a hooked function, and takes a
 * stack trace if the task was in a trampoline. The trampoline must come first,
 * then the hooked function and its caller or, if the frame records do not exist
 * yet or any more, neither of them; then the callers of these.
 */

#define MAX_FRAMES	64
#define LOOK_PERIOD	(200 * NSEC_PER_USEC)
#define LOOKS		50
#define PATIENCE	(10 * HZ)

static struct {
	struct task_struct	*task;
	unsigned long		outer[MAX_FRAMES];	/* of the caller */
	unsigned int		outer_num;
	unsigned long		frames[MAX_FRAMES];
	unsigned int		whole;
	unsigned int		cut;
	unsigned int		wrong;
	unsigned long		wrong_pc;
} look;

static bool within(unsigned long addr, const char *name)
{
	char symbol[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(symbol, addr);

	return !strncmp(symbol, name, strlen(name));
}

/* From frame @first on, the trace has the callers of the caller. */
static bool ends_outside(unsigned int first, unsigned int num)
{
	unsigned int outside = look.outer_num - 1;

	return num == first + outside &&
	       !memcmp(look.frames + first, look.outer + 1,
		       outside * sizeof(*look.outer));
}

static void look_at_stack(struct pt_regs *regs)
{
	unsigned int num;

	num = fhook_test_trace_regs(regs, look.frames, MAX_FRAMES);
	if (ends_outside(3, num) && within(look.frames[1], "fhook_target_c") &&
	    within(look.frames[2], "call_interrupted"))
		look.whole++;
	else if (ends_outside(1, num))
		look.cut++;
	else if (!look.wrong++)
		look.wrong_pc = regs->pc;
}

static enum hrtimer_restart look_fn(struct hrtimer *timer)
{
	struct pt_regs *regs = get_irq_regs();

	if (current == look.task && within(regs->pc, "fhook_trampoline_"))
		look_at_stack(regs);
	hrtimer_forward_now(timer, ns_to_ktime(LOOK_PERIOD));

	return HRTIMER_RESTART;
}

static noinline void call_interrupted(void)
{
	unsigned long end = jiffies + PATIENCE;

	look.outer_num = stack_trace_save(look.outer, MAX_FRAMES, 0);
	WRITE_ONCE(look.task, current);
	while (READ_ONCE(look.whole) + READ_ONCE(look.cut) < LOOKS &&
	       time_before(jiffies, end)) {
		fhook_target_c(1);
		cond_resched();
	}
	WRITE_ONCE(look.task, NULL);
}

static void try_interrupts(struct kunit *test, unsigned int flags)
{
	struct fhook_probe *probe = fhook_probe(test, "interrupted");
	struct hrtimer timer;

	memset(&look, 0, sizeof(look));
	probe->ops.flags = flags;
	fhook_probe_register(probe, "fhook_target_c");
	hrtimer_setup_on_stack(&timer, look_fn, CLOCK_MONOTONIC,
			       HRTIMER_MODE_REL_PINNED_HARD);

	/* The timer fires on the CPU that starts it. */
	migrate_disable();
	hrtimer_start(&timer, ns_to_ktime(LOOK_PERIOD),
		      HRTIMER_MODE_REL_PINNED_HARD);
	call_interrupted();
	hrtimer_cancel(&timer);
	migrate_enable();
	destroy_hrtimer_on_stack(&timer);

	KUNIT_EXPECT_GT(test, look.whole, 0);
	KUNIT_EXPECT_EQ_MSG(test, 0, look.wrong, "flags %#x: the first at %pS",
			    flags, (void *)look.wrong_pc);
	kunit_info(test, "flags %#x: %u whole, %u cut\n", flags, look.whole,
		   look.cut);
	fhook_probe_unregister(probe);
}

static void test_unwind_interrupts(struct kunit *test)
{
	try_interrupts(test, 0);
	try_interrupts(test, FHOOK_FL_REGS);
	try_interrupts(test, FHOOK_FL_UNGUARDED);
	try_interrupts(test, FHOOK_FL_REGS | FHOOK_FL_UNGUARDED);
}

#ifdef CONFIG_ARM64_PSEUDO_NMI
/*
 * NMIs: overflows of the cycle counter, if interrupts are masked by priority,
 * and the counter's interrupt is not.
 */

#define NMI_PERIOD	1000000
#define NMI_PATIENCE	200

static struct perf_event *nmi_event;
static bool (*nmi_handler)(void);
static bool nmi_seen, nmi_wanted;

static void nmi_overflow(struct perf_event *event,
			 struct perf_sample_data *data, struct pt_regs *regs)
{
	if (!in_nmi())
		return;

	WRITE_ONCE(nmi_seen, true);
	if (READ_ONCE(nmi_wanted) && nmi_handler())
		WRITE_ONCE(nmi_wanted, false);
}

/**
 * fhook_test_nmi_on() - start handling NMIs
 * @handler: called for each NMI that was sent; returns whether it was the
 *	expected one
 *
 * Return: whether fhook_test_nmi_send() can send NMIs.
 */
bool fhook_test_nmi_on(bool (*handler)(void))
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.config		= PERF_COUNT_HW_CPU_CYCLES,
		.size		= sizeof(attr),
		.pinned		= 1,
		.sample_period	= NMI_PERIOD,
	};
	int i;

	nmi_handler = handler;
	nmi_seen = false;
	nmi_wanted = false;
	nmi_event = perf_event_create_kernel_counter(&attr, -1, current,
						     nmi_overflow, NULL);
	if (IS_ERR(nmi_event))
		return false;

	/* They may be ordinary interrupts. */
	for (i = 0; i < NMI_PATIENCE && !READ_ONCE(nmi_seen); i++)
		mdelay(1);

	return nmi_seen;
}

/**
 * fhook_test_nmi_send() - send an NMI to this CPU
 *
 * Return: true if fhook_test_nmi_on() has returned true.
 */
bool fhook_test_nmi_send(void)
{
	WRITE_ONCE(nmi_wanted, nmi_seen);

	return nmi_seen;
}

/**
 * fhook_test_nmi_off() - stop handling NMIs
 */
void fhook_test_nmi_off(void)
{
	if (!IS_ERR(nmi_event))
		perf_event_release_kernel(nmi_event);
}
#endif

/* Otherwise all later returns would be mispredicted. */
static void test_return_balance(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, fhook_test_stub_balance(false));
	KUNIT_EXPECT_EQ(test, 0, fhook_test_stub_balance(true));
}

static struct kunit_case fhook_arm64_cases[] = {
	KUNIT_CASE(test_preserved),
	KUNIT_CASE(test_regs),
	KUNIT_CASE(test_regs_irqs),
	KUNIT_CASE(test_change_regs),
	KUNIT_CASE(test_return_balance),
	KUNIT_CASE_SLOW(test_unwind_interrupts),
	{}
};

static struct kunit_suite fhook_arm64_suite = {
	.name = "fhook_arm64",
	.test_cases = fhook_arm64_cases,
};

kunit_test_suite(fhook_arm64_suite);
