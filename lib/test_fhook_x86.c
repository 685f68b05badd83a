// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of fhook on x86_64: every register through both trampolines, and
 * unwinding from every instruction of a trampoline.
 */
#include <linux/fhook_redirect.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kernel.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <asm/apic.h>
#include <asm/debugreg.h>
#include <asm/insn.h>
#include <asm/nmi.h>
#include <asm/processor-flags.h>
#include <asm/ptrace-abi.h>
#include <asm/text-patching.h>

#include "test_fhook.h"

/*
 * Registers
 */

/* The registers that a program may set freely, in the order of pt_regs. */
enum {
	R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI,
	RDI, GPRS
};

static_assert(GPRS * sizeof(long) == offsetof(struct pt_regs, orig_ax));

/**
 * struct cpu_state - registers that test_fhook_call_empty() loads and stores
 * @gpr: the registers, in the order of pt_regs
 * @flags: the flags
 * @sp: stack pointer at the entry of the called function
 */
struct cpu_state {
	unsigned long	gpr[GPRS];
	unsigned long	flags;
	unsigned long	sp;
};

/* Registers before and after the call. */
struct cpu_state test_fhook_in, test_fhook_out;

asmlinkage void test_fhook_call_empty(void);

/*
 * Call fhook_target_empty() with known registers, and store the registers after
 * it. The function itself changes none of them.
 */
asm("	.pushsection .text, \"ax\", @progbits\n"
	"	.type test_fhook_call_empty, @function\n"
	"	.globl test_fhook_call_empty\n"
	"test_fhook_call_empty:\n"
	"	" ASM_ENDBR
	"	pushq	%rbp\n"
	"	pushq	%rbx\n"
	"	pushq	%r12\n"
	"	pushq	%r13\n"
	"	pushq	%r14\n"
	"	pushq	%r15\n"
	"	leaq	-8(%rsp), %rax\n"
	"	movq	%rax, test_fhook_in + 8 * 16(%rip)\n"
	"	pushq	test_fhook_in + 8 * 15(%rip)\n"
	"	popfq\n"
	"	movq	test_fhook_in + 8 * 0(%rip), %r15\n"
	"	movq	test_fhook_in + 8 * 1(%rip), %r14\n"
	"	movq	test_fhook_in + 8 * 2(%rip), %r13\n"
	"	movq	test_fhook_in + 8 * 3(%rip), %r12\n"
	"	movq	test_fhook_in + 8 * 4(%rip), %rbp\n"
	"	movq	test_fhook_in + 8 * 5(%rip), %rbx\n"
	"	movq	test_fhook_in + 8 * 6(%rip), %r11\n"
	"	movq	test_fhook_in + 8 * 7(%rip), %r10\n"
	"	movq	test_fhook_in + 8 * 8(%rip), %r9\n"
	"	movq	test_fhook_in + 8 * 9(%rip), %r8\n"
	"	movq	test_fhook_in + 8 * 10(%rip), %rax\n"
	"	movq	test_fhook_in + 8 * 11(%rip), %rcx\n"
	"	movq	test_fhook_in + 8 * 12(%rip), %rdx\n"
	"	movq	test_fhook_in + 8 * 13(%rip), %rsi\n"
	"	movq	test_fhook_in + 8 * 14(%rip), %rdi\n"
	"	call	fhook_target_empty\n"
	"	movq	%r15, test_fhook_out + 8 * 0(%rip)\n"
	"	movq	%r14, test_fhook_out + 8 * 1(%rip)\n"
	"	movq	%r13, test_fhook_out + 8 * 2(%rip)\n"
	"	movq	%r12, test_fhook_out + 8 * 3(%rip)\n"
	"	movq	%rbp, test_fhook_out + 8 * 4(%rip)\n"
	"	movq	%rbx, test_fhook_out + 8 * 5(%rip)\n"
	"	movq	%r11, test_fhook_out + 8 * 6(%rip)\n"
	"	movq	%r10, test_fhook_out + 8 * 7(%rip)\n"
	"	movq	%r9, test_fhook_out + 8 * 8(%rip)\n"
	"	movq	%r8, test_fhook_out + 8 * 9(%rip)\n"
	"	movq	%rax, test_fhook_out + 8 * 10(%rip)\n"
	"	movq	%rcx, test_fhook_out + 8 * 11(%rip)\n"
	"	movq	%rdx, test_fhook_out + 8 * 12(%rip)\n"
	"	movq	%rsi, test_fhook_out + 8 * 13(%rip)\n"
	"	movq	%rdi, test_fhook_out + 8 * 14(%rip)\n"
	"	pushfq\n"
	"	popq	test_fhook_out + 8 * 15(%rip)\n"
	"	leaq	-8(%rsp), %rax\n"
	"	movq	%rax, test_fhook_out + 8 * 16(%rip)\n"
	"	popq	%r15\n"
	"	popq	%r14\n"
	"	popq	%r13\n"
	"	popq	%r12\n"
	"	popq	%rbx\n"
	"	popq	%rbp\n"
	"	" ASM_RET
	"	.size test_fhook_call_empty, . - test_fhook_call_empty\n"
	"	.popsection\n");

#define ARITHMETIC	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | \
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF)

/* Fill the registers with values that none of them has by accident. */
static void call_empty(unsigned long arithmetic)
{
	int i;

	for (i = 0; i < GPRS; i++)
		test_fhook_in.gpr[i] = 0x5a5a000000000000UL + 0x0101010101UL * i;
	test_fhook_in.flags = (native_save_fl() & ~ARITHMETIC) | arithmetic;
	memset(&test_fhook_out, 0, sizeof(test_fhook_out));
	test_fhook_call_empty();
}

/* A caller may rely on these registers, whatever the trampoline does. */
static void expect_preserved(struct kunit *test)
{
	int i;

	for (i = 0; i < GPRS; i++) {
		/* Scratch registers that carry no arguments. */
		if (i == R10 || i == R11)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, test_fhook_in.gpr[i],
				    test_fhook_out.gpr[i], "register %d", i);
	}
	KUNIT_EXPECT_EQ(test, test_fhook_in.sp, test_fhook_out.sp);
}

static void test_preserved(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "preserved");

	call_empty(0);
	expect_preserved(test);

	fhook_probe_register(probe, "fhook_target_empty");
	call_empty(ARITHMETIC);
	KUNIT_EXPECT_EQ(test, 1, probe->calls);
	expect_preserved(test);
	KUNIT_EXPECT_EQ(test, test_fhook_in.gpr[RDI], probe->args[0]);
	KUNIT_EXPECT_EQ(test, test_fhook_in.gpr[RSI], probe->args[1]);
	KUNIT_EXPECT_EQ(test, test_fhook_in.gpr[RDX], probe->args[2]);
	KUNIT_EXPECT_EQ(test, test_fhook_in.gpr[RCX], probe->args[3]);
	KUNIT_EXPECT_EQ(test, test_fhook_in.gpr[R8], probe->args[4]);
	KUNIT_EXPECT_EQ(test, test_fhook_in.gpr[R9], probe->args[5]);
	KUNIT_EXPECT_EQ(test, test_fhook_in.gpr[RBP], probe->regs_fp);
	KUNIT_EXPECT_EQ(test, test_fhook_in.sp, probe->regs_sp);
	fhook_probe_unregister(probe);
}

static void try_regs(struct kunit *test, unsigned int flags,
		     unsigned long arithmetic)
{
	struct fhook_probe *probe = fhook_probe(test, "regs");
	const unsigned long *gpr = (unsigned long *)&probe->regs;
	int i;

	probe->ops.flags = flags | FHOOK_FL_REGS;
	fhook_probe_register(probe, "fhook_target_empty");
	call_empty(arithmetic);
	KUNIT_ASSERT_EQ(test, 1, probe->calls);
	KUNIT_ASSERT_TRUE(test, probe->has_regs);

	expect_preserved(test);
	KUNIT_EXPECT_EQ(test, arithmetic, test_fhook_out.flags & ARITHMETIC);
	KUNIT_EXPECT_EQ(test, test_fhook_in.gpr[R10], test_fhook_out.gpr[R10]);
	KUNIT_EXPECT_EQ(test, test_fhook_in.gpr[R11], test_fhook_out.gpr[R11]);

	for (i = 0; i < GPRS; i++)
		KUNIT_EXPECT_EQ_MSG(test, test_fhook_in.gpr[i], gpr[i],
				    "register %d", i);
	KUNIT_EXPECT_EQ(test, test_fhook_in.flags | X86_EFLAGS_FIXED,
			probe->regs.flags | X86_EFLAGS_FIXED);
	KUNIT_EXPECT_EQ(test, test_fhook_in.sp, probe->regs.sp);
	KUNIT_EXPECT_EQ(test, probe->regs_ip, probe->regs.ip);
	KUNIT_EXPECT_EQ(test, __KERNEL_CS, probe->regs.cs);
	KUNIT_EXPECT_EQ(test, __KERNEL_DS, probe->regs.ss);
	KUNIT_EXPECT_EQ(test, -1L, (long)probe->regs.orig_ax);
	KUNIT_EXPECT_FALSE(test, user_mode(&probe->regs));
	fhook_probe_unregister(probe);
}

static void test_regs(struct kunit *test)
{
	try_regs(test, 0, 0);
	try_regs(test, 0, ARITHMETIC);
	try_regs(test, FHOOK_FL_UNGUARDED, X86_EFLAGS_CF | X86_EFLAGS_SF);
	try_regs(test, FHOOK_FL_UNGUARDED, X86_EFLAGS_ZF | X86_EFLAGS_PF);
}

static void act_change_regs(struct fhook_probe *probe, struct fhook_regs *fregs)
{
	unsigned long *gpr = (unsigned long *)fhook_get_regs(fregs);
	int i;

	for (i = 0; i < GPRS; i++)
		gpr[i] += 1;
	fhook_get_regs(fregs)->flags ^= X86_EFLAGS_CF;
}

/* The function gets the values that a callback writes to the full registers. */
static void test_change_regs(struct kunit *test)
{
	struct fhook_probe *probe = fhook_probe(test, "change");
	int i;

	probe->ops.flags = FHOOK_FL_REGS;
	probe->act = act_change_regs;
	fhook_probe_register(probe, "fhook_target_empty");
	call_empty(X86_EFLAGS_CF);
	for (i = 0; i < GPRS; i++)
		KUNIT_EXPECT_EQ_MSG(test, test_fhook_in.gpr[i] + 1,
				    test_fhook_out.gpr[i], "register %d", i);
	KUNIT_EXPECT_EQ(test, 0, test_fhook_out.flags & ARITHMETIC);
	fhook_probe_unregister(probe);
}

/*
 * Unwinding from each instruction
 *
 * A hooked function is called with the trap flag set. After each instruction the
 * debug exception takes a stack trace. From the outside, it must have: the
 * Caller; the hooked Function, unless it has not begun; the Trampoline and the
 * callBack, as far as they have been entered; after the return, the Caller and
 * the stub that the function has Returned to. Functions that the callback or one
 * of the others calls, or jumps to at its end, come first and are shown as 'x'.
 */

#define MAX_FRAMES	64
#define MAX_STEPS	5000

static struct {
	struct kunit	*test;
	unsigned long	frames[MAX_FRAMES];
	unsigned int	num;
	unsigned long	outer[MAX_FRAMES];	/* of the caller */
	unsigned int	outer_num;
	unsigned int	steps;
	unsigned int	in_trampoline;
	unsigned int	in_callback;
	unsigned int	in_return;
	int		noted;		/* calls, less returns */
	unsigned int	wrong;
	unsigned long	wrong_ip;
	char		wrong_frames[MAX_FRAMES + 1];
} steps;

static bool within(unsigned long addr, const char *name)
{
	char symbol[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(symbol, addr);

	return !strncmp(symbol, name, strlen(name));
}

static bool is_in(unsigned long addr, const char *name)
{
	char symbol[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(symbol, addr);

	return !strncmp(symbol, name, strlen(name)) &&
	       (!symbol[strlen(name)] || symbol[strlen(name)] == ' ');
}

/* The replacement; a redirected trampoline returns to it. */
static noinline u32 step_instead(u32 value)
{
	return value + 1;
}

static char frame_kind(unsigned long addr)
{
	if (within(addr, "step_entry"))
		return 'B';
	if (within(addr, "step_instead"))
		return 'F';
	if (within(addr, "fhook_trampoline_"))
		return 'T';
	if (within(addr, "fhook_target_c"))
		return 'F';
	if (is_in(addr, "fhook_return") || is_in(addr, "fhook_regs_return"))
		return 'R';
	if (within(addr, "step_caller"))
		return 'C';

	return 'x';
}

static bool is_end_of(const char *full, const char *kinds)
{
	size_t len = strlen(kinds);

	return len && len <= strlen(full) &&
	       !strcmp(kinds, full + strlen(full) - len);
}

static bool frames_are_right(const char *kinds, unsigned int num)
{
	unsigned int x;

	/*
	 * From the caller outwards, the trace must be the same as in the caller.
	 */
	if (num + steps.outer_num - 1 != steps.num ||
	    memcmp(steps.frames + num, steps.outer + 1,
		   (steps.outer_num - 1) * sizeof(*steps.outer)))
		return false;

	for (x = 0; x < num && kinds[x] == 'x'; x++)
		;

	return is_end_of("BTFC", kinds + x) || is_end_of("RC", kinds + x);
}

static void look_at_stack(struct pt_regs *regs)
{
	char kinds[MAX_FRAMES + 1];
	unsigned int i;

	steps.num = fhook_test_trace_regs(regs, steps.frames, MAX_FRAMES);
	for (i = 0; i < steps.num; i++) {
		kinds[i] = frame_kind(steps.frames[i]);
		if (kinds[i] == 'C') {
			i++;
			break;
		}
	}
	kinds[i] = '\0';

	steps.in_trampoline += kinds[0] == 'T';
	steps.in_callback += kinds[0] == 'B';
	steps.in_return += kinds[0] == 'R';
	if (frames_are_right(kinds, i))
		return;
	if (!steps.wrong++) {
		steps.wrong_ip = regs->ip;
		strscpy(steps.wrong_frames, kinds, sizeof(steps.wrong_frames));
	}
}

/* The change of the number of entries in the processor's return stack by an instruction. */
static int noted_by(const u8 *insn)
{
	/* Prefixes of calls by thunks and of returns */
	while (*insn == 0x2e || *insn == 0x66 || *insn == 0xf3 ||
	       (*insn & 0xf0) == 0x40)
		insn++;
	if (*insn == CALL_INSN_OPCODE ||
	    (*insn == 0xff && X86_MODRM_REG(insn[1]) == 2))
		return 1;
	if (*insn == RET_INSN_OPCODE || *insn == 0xc2)
		return -1;

	return 0;
}

static int step_notify(struct notifier_block *nb, unsigned long event,
		       void *data)
{
	struct die_args *args = data;
	unsigned long *dr6 = (unsigned long *)ERR_PTR(args->err);

	if (event != DIE_DEBUG || !steps.test || user_mode(args->regs) ||
	    !(*dr6 & DR_STEP))
		return NOTIFY_DONE;

	*dr6 &= ~DR_STEP;
	steps.noted += noted_by((const u8 *)args->regs->ip);
	look_at_stack(args->regs);
	if (++steps.steps == MAX_STEPS)
		args->regs->flags &= ~X86_EFLAGS_TF;

	return NOTIFY_STOP;
}

static struct notifier_block step_notifier = {
	.notifier_call	= step_notify,
	.priority	= INT_MAX,
};

/* Short, to keep the number of steps small. */
static int step_entry(struct fhook_ops *ops, unsigned long ip,
		      unsigned long parent_ip, struct fhook_regs *fregs,
		      void *data)
{
	return 0;
}

static void step_exit(struct fhook_ops *ops, unsigned long ip,
		      unsigned long ret_ip, struct fhook_regs *fregs,
		      void *data)
{
}

static noinline u32 step_caller(struct kunit *test, u32 value)
{
	unsigned long flags;
	u32 result;

	steps.outer_num = stack_trace_save(steps.outer, MAX_FRAMES, 0);

	local_irq_save(flags);
	steps.test = test;
	/* The instruction that follows is not yet a step. */
	asm volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq\n\tnop"
		     : : "i" (X86_EFLAGS_TF) : "memory", "cc");
	result = fhook_target_c(value);
	asm volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq"
		     : : "i" (~X86_EFLAGS_TF) : "memory", "cc");
	steps.test = NULL;
	local_irq_restore(flags);

	return result;
}

static struct fhook_redirect step_redirect = {
	.func		= "fhook_target_c",
	.replacement	= step_instead,
#ifdef MODULE
	.module		= KBUILD_MODNAME,
#endif
};

static struct fhook_patch step_patch = {
	.name		= "steps",
	.owner		= THIS_MODULE,
	.redirects	= &step_redirect,
	.num		= 1,
};

static void try_steps(struct kunit *test, unsigned int flags,
		      fhook_exit_t exit, u32 result)
{
	struct fhook_probe *first = fhook_probe(test, "first");
	struct fhook_probe *second = fhook_probe(test, "second");

	first->ops.entry = step_entry;
	first->ops.flags = flags;
	second->ops.entry = step_entry;
	second->ops.exit = exit;
	second->ops.data_size = exit ? sizeof(long) : 0;
	second->ops.flags = flags;
	fhook_probe_register(first, "fhook_target_c");
	fhook_probe_register(second, "fhook_target_c");

	memset(&steps, 0, sizeof(steps));
	KUNIT_ASSERT_EQ(test, 0, register_die_notifier(&step_notifier));
	KUNIT_EXPECT_EQ(test, result, step_caller(test, 3));
	unregister_die_notifier(&step_notifier);

	KUNIT_EXPECT_LT(test, steps.steps, MAX_STEPS);
	KUNIT_EXPECT_GT(test, steps.in_trampoline, 30);
	KUNIT_EXPECT_GT(test, steps.in_callback, 2);
	KUNIT_EXPECT_EQ(test, !!exit, steps.in_return > 8);
	/* Otherwise all later returns would be mispredicted. */
	KUNIT_EXPECT_EQ(test, 0, steps.noted);
	KUNIT_EXPECT_EQ_MSG(test, 0, steps.wrong,
			    "flags %#x: the first of %u steps: %s at %pS",
			    flags, steps.steps, steps.wrong_frames,
			    (void *)steps.wrong_ip);
	fhook_probe_unregister(first);
	fhook_probe_unregister(second);
}

static void try_all_steps(struct kunit *test, fhook_exit_t exit, u32 result)
{
	try_steps(test, 0, exit, result);
	try_steps(test, FHOOK_FL_REGS, exit, result);
	try_steps(test, FHOOK_FL_UNGUARDED, exit, result);
	try_steps(test, FHOOK_FL_REGS | FHOOK_FL_UNGUARDED, exit, result);
}

static void test_unwind_each_instruction(struct kunit *test)
{
	try_all_steps(test, NULL, FHOOK_C(3));
}

static void test_unwind_each_instruction_exit(struct kunit *test)
{
	try_all_steps(test, step_exit, FHOOK_C(3));
}

static void test_unwind_each_instruction_redirected(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, fhook_redirect(&step_patch));
	try_all_steps(test, NULL, step_instead(3));
	try_all_steps(test, step_exit, step_instead(3));
	KUNIT_EXPECT_EQ(test, 0, fhook_restore(&step_patch));
}

#ifdef CONFIG_X86_LOCAL_APIC
static bool (*nmi_handler)(void);

static int nmi_fn(unsigned int cmd, struct pt_regs *regs)
{
	return nmi_handler() ? NMI_HANDLED : NMI_DONE;
}

/**
 * fhook_test_nmi_on() - start handling NMIs
 * @handler: called for each NMI; returns whether it was the expected one
 *
 * Return: whether fhook_test_nmi_send() can send NMIs.
 */
bool fhook_test_nmi_on(bool (*handler)(void))
{
	nmi_handler = handler;

	return !register_nmi_handler(NMI_LOCAL, nmi_fn, 0, "test_fhook");
}

/**
 * fhook_test_nmi_send() - send an NMI to this CPU
 *
 * Return: true.
 */
bool fhook_test_nmi_send(void)
{
	__apic_send_IPI_mask(cpumask_of(smp_processor_id()), NMI_VECTOR);

	return true;
}

/**
 * fhook_test_nmi_off() - stop handling NMIs
 */
void fhook_test_nmi_off(void)
{
	unregister_nmi_handler(NMI_LOCAL, "test_fhook");
}
#endif

/* N hooks are N direct calls, independent of other hooks. */
static void test_direct_calls(struct kunit *test)
{
	struct fhook_probe *probes[10], *others[8];
	unsigned long slot = fhook_test_slot(test, fhook_target_a);
	unsigned int i, indirect;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i] = fhook_probe(test, "probe");
		fhook_probe_register(probes[i], "fhook_target_a");
		KUNIT_EXPECT_EQ(test, i + 1,
				fhook_test_calls(slot, fhook_probe_entry,
						 &indirect));
		KUNIT_EXPECT_EQ(test, 0, indirect);
	}
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = fhook_probe(test, "other");
		fhook_probe_register(others[i], "fhook_target_b");
	}
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(probes),
			fhook_test_calls(slot, fhook_probe_entry, &indirect));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		fhook_probe_unregister(others[i]);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		fhook_probe_unregister(probes[i]);
}

static struct kunit_case fhook_x86_cases[] = {
	KUNIT_CASE(test_preserved),
	KUNIT_CASE(test_regs),
	KUNIT_CASE(test_change_regs),
	KUNIT_CASE(test_direct_calls),
	KUNIT_CASE(test_unwind_each_instruction),
	KUNIT_CASE(test_unwind_each_instruction_exit),
	KUNIT_CASE(test_unwind_each_instruction_redirected),
	{}
};

static struct kunit_suite fhook_x86_suite = {
	.name = "fhook_x86",
	.test_cases = fhook_x86_cases,
};

kunit_test_suite(fhook_x86_suite);
