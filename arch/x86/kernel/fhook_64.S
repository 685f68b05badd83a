/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook_caller and fhook_regs_caller: what the trampolines of fhook are made
 * of.
 *
 * Nothing runs here. fhook.c copies the pieces, in the order in which they
 * stand, one block of call pieces an ops, and puts in addresses and branches.
 * That the two are complete functions lets objtool check them and write the
 * unwind information that the copies then borrow: a trampoline address maps to
 * the address of the same instruction here (fhook_template_ip()). So between
 * the save and the restore pieces the stack must not move.
 *
 * The frame, see also struct fhook_regs:
 *
 *	rsp + 0		the bit of the guard that this call has taken
 *	    + 8		address of the hooked function
 *	    + 16	struct pt_regs
 *	    + 184	return address into the hooked function
 *	    + 192	return address into its caller
 */
#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/fhook_pieces.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace-abi.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>

#define REGS		16
#define REG(x)		(REGS + x)(%rsp)
#define FRAME		(REGS + FRAME_SIZE)
#define RET_IP		FRAME(%rsp)
#define PARENT		(FRAME + 8)(%rsp)
#define GUARD_BIT	(%rsp)
#define FUNC_IP		8(%rsp)

/* Copied code must not address relative to itself. */
#ifdef CONFIG_SMP
#define PCPU(x)		%gs:x
#else
#define PCPU(x)		x
#endif
#define PREEMPT_COUNT	PCPU(pcpu_hot + X86_preempt_count)

.macro save_caller_saved
	movq	%rax, REG(RAX)
	movq	%rcx, REG(RCX)
	movq	%rdx, REG(RDX)
	movq	%rsi, REG(RSI)
	movq	%rdi, REG(RDI)
	movq	%r8, REG(R8)
	movq	%r9, REG(R9)
	movq	%rbp, REG(RBP)
.endm

.macro restore_caller_saved
	movq	REG(RAX), %rax
	movq	REG(RCX), %rcx
	movq	REG(RDX), %rdx
	movq	REG(RSI), %rsi
	movq	REG(RDI), %rdi
	movq	REG(R8), %r8
	movq	REG(R9), %r9
.endm

	.text

SYM_FUNC_START(fhook_caller)
	ANNOTATE_NOENDBR
	piece save
	subq	$FRAME, %rsp
	save_caller_saved
	movq	$0, REG(CS)		/* no full pt_regs */
	piece_end save

	piece preempt_in
#ifdef CONFIG_PREEMPT_COUNT
	incl	PREEMPT_COUNT
#endif
	piece_end preempt_in

	/* Which context is this? Nearly always a task. */
	piece guard_in
	movl	$FHOOK_GUARD_TASK, %eax
	testl	$FHOOK_CONTEXT_MASK, PREEMPT_COUNT
	piece_end guard_in
	jnz	.Lcontext
	piece guard_try
	testl	%eax, PCPU(fhook_guard)
	piece_end guard_try
	jnz	.Lmiss
	/* An NMI here takes another bit, and gives it back. */
	piece guard_take
	orl	%eax, PCPU(fhook_guard)
	movl	%eax, GUARD_BIT
	piece_end guard_take

	/* The address of the function, from where the slot returns to. */
	piece func_first
	movq	RET_IP, %rsi
	subq	$1, %rsi
	piece_end func_first
	piece func_keep
	movq	%rsi, FUNC_IP
	piece_end func_keep
	piece func_again
	movq	FUNC_IP, %rsi
	piece_end func_again

	piece args
	movq	PARENT, %rdx
	leaq	REGS(%rsp), %rcx
	xorl	%r8d, %r8d
	movabsq	$0, %rdi
	piece_end args

	piece count_near
	incq	PCPU(0)
	piece_end count_near
	piece count_far
	movabsq	$0, %rax
#ifdef CONFIG_SMP
	incq	%gs:(%rax)
#else
	incq	(%rax)
#endif
	piece_end count_far

	call	fhook_no_callback

	piece guard_out
	movl	GUARD_BIT, %eax
	xorl	%eax, PCPU(fhook_guard)
	piece_end guard_out
.Lmiss:
	piece preempt_out
#ifdef CONFIG_PREEMPT_COUNT
	decl	PREEMPT_COUNT
#endif
	piece_end preempt_out

	piece restore
	restore_caller_saved
	addq	$FRAME, %rsp
	piece_end restore
	/* bp was saved for callbacks to read; it still holds what it did. */
	UNWIND_HINT_FUNC
	RET

	/* Softirq, interrupt or NMI: the guard has a bit for each. */
	piece context
	addl	%eax, %eax
	testl	$(FHOOK_HARDIRQ_MASK | FHOOK_NMI_MASK), PREEMPT_COUNT
	jz	1f
	addl	%eax, %eax
	testl	$FHOOK_NMI_MASK, PREEMPT_COUNT
	jz	1f
	addl	%eax, %eax
1:
	piece_end context
	jmp	.Lguard_try
SYM_FUNC_END(fhook_caller)
_ASM_NOKPROBE(fhook_caller)	/* a breakpoint in it would be copied */

SYM_FUNC_START(fhook_regs_caller)
	ANNOTATE_NOENDBR
	piece regs_save
	leaq	-FRAME(%rsp), %rsp	/* leaves the flags alone */
	save_caller_saved
	movq	%rbx, REG(RBX)
	movq	%r10, REG(R10)
	movq	%r11, REG(R11)
	movq	%r12, REG(R12)
	movq	%r13, REG(R13)
	movq	%r14, REG(R14)
	movq	%r15, REG(R15)
	pushfq
	popq	REG(EFLAGS)
	movq	$-1, REG(ORIG_RAX)
	movq	$__KERNEL_CS, REG(CS)
	movq	$__KERNEL_DS, REG(SS)
	movq	RET_IP, %rax
	movq	%rax, REG(RIP)
	leaq	PARENT, %rax
	movq	%rax, REG(RSP)
	piece_end regs_save

	call	fhook_no_callback

	piece regs_restore
	movq	REG(RIP), %rax		/* a callback may have changed it */
	movq	%rax, RET_IP
	pushq	REG(EFLAGS)
	popfq
	movq	REG(RBX), %rbx
	movq	REG(RBP), %rbp
	movq	REG(R10), %r10
	movq	REG(R11), %r11
	movq	REG(R12), %r12
	movq	REG(R13), %r13
	movq	REG(R14), %r14
	movq	REG(R15), %r15
	restore_caller_saved
	leaq	FRAME(%rsp), %rsp
	piece_end regs_restore
	RET
SYM_FUNC_END(fhook_regs_caller)
_ASM_NOKPROBE(fhook_regs_caller)

/* Stands for the callbacks above, and for those that are out of use. */
SYM_FUNC_START(fhook_no_callback)
	ANNOTATE_NOENDBR
	RET
SYM_FUNC_END(fhook_no_callback)

	.section .rodata
	.balign	4
SYM_DATA_START(fhook_pieces)
	.irp	name, save, preempt_in, guard_in, guard_try, guard_take, \
		      func_first, func_keep, func_again, args, count_near, \
		      count_far, guard_out, preempt_out, restore, context, \
		      regs_save, regs_restore
	piece_entry	\name
	.endr
SYM_DATA_END(fhook_pieces)
