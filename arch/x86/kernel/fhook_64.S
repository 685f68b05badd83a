/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook_caller and fhook_regs_caller: what the trampolines of fhook are made
 * of; fhook_return and fhook_regs_return: what functions return to whose exit is
 * hooked.
 *
 * Nothing of the former runs here. The pieces are copied, in the order in which they
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
 *	    + 16	struct fhook_frame of this call, or NULL
 *	    + 24	what of the registers is valid
 *	    + 32	struct pt_regs
 *	    + 200	return address into the hooked function
 *	    + 208	return address into its caller
 */
#include <linux/export.h>
#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/fhook.h>
#include <asm/fhook_pieces.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace-abi.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>

#define KIND_AT		24
#define REGS		32
#define REG(x)		(REGS + x)(%rsp)
#define FRAME		(REGS + FRAME_SIZE)
#define RETURN_FRAME	(FRAME + 8)
#define RET_IP		FRAME(%rsp)
#define PARENT		(FRAME + 8)(%rsp)
#define CALLER_SP	(FRAME + 16)(%rsp)
#define GUARD_BIT	(%rsp)
#define FUNC_IP		8(%rsp)
#define EXIT_FRAME	16(%rsp)
#define KIND		KIND_AT(%rsp)

/* Copied code must not address relative to itself. */
#ifdef CONFIG_SMP
#define PCPU(x)		%gs:x
#else
#define PCPU(x)		x
#endif
#define PREEMPT_COUNT	PCPU(pcpu_hot + X86_preempt_count)

/* To be replaced; it takes 32 bits. */
#define NUMBER		0x7fffffff

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

/* The rest of a full pt_regs, RIP apart; where the stack pointer was is at \sp. */
.macro save_others sp
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
	leaq	\sp, %rax
	movq	%rax, REG(RSP)
.endm

/* All but the caller-saved, and rip. */
.macro restore_others
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
	movq	$0, KIND
	piece_end save

	/* Go on in a replacement, perhaps only if it is time. */
	piece gate
	movabsq	$0, %rax
	cmpl	$0, (%rax)
	piece_end gate
	jz	1f
	piece redirect
	movabsq	$0, %rax
	movq	%rax, RET_IP
	piece_end redirect
	piece regs_redirect
	movq	%rax, REG(RIP)
	piece_end regs_redirect
1:
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

	/*
	 * Room for the return address, and for what goes from entry to exit: see
	 * frame.c. Numbers are put in where the copy is made.
	 */
	piece frame_stack
	movq	PCPU(pcpu_hot + X86_current_task), %rax
	movq	NUMBER(%rax), %rcx
	piece_end frame_stack
	piece frame_has_stack
	testq	%rcx, %rcx
	piece_end frame_has_stack
	jz	.Lmiss
	piece frame_take
	movq	(%rcx), %rax
	subq	$NUMBER, %rax
	piece_end frame_take
	piece frame_has_room
	cmpq	%rcx, %rax
	piece_end frame_has_room
	jbe	.Lmiss
	piece frame_size
	movq	$0, FHOOK_FRAME_KEY(%rax)
	movq	$NUMBER, FHOOK_FRAME_SIZE(%rax)
	piece_end frame_size
	piece frame_top
	movq	%rax, (%rcx)
	piece_end frame_top
	/* Again frame_size, and then it is this call's. */
	piece frame_exits
	movq	%rsi, FHOOK_FRAME_FUNC(%rax)
	movabsq	$0, %rdx
	piece_end frame_exits
	piece frame_keep
	movq	%rdx, FHOOK_FRAME_EXITS(%rax)
	movq	%rax, EXIT_FRAME
	piece_end frame_keep
	piece frame_none
	movq	$0, EXIT_FRAME
	piece_end frame_none
	piece frame_test
	cmpq	$0, EXIT_FRAME
	piece_end frame_test
	jz	.Lmiss

	piece args
	movq	PARENT, %rdx
	leaq	KIND, %rcx
	xorl	%r8d, %r8d
	movabsq	$0, %rdi
	piece_end args
	piece data
	movq	EXIT_FRAME, %r8
	addq	$NUMBER, %r8
	piece_end data

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

	call	fhook_just_return

	piece decline_test
	testl	%eax, %eax
	piece_end decline_test
	jz	1f
	piece decline
	movq	EXIT_FRAME, %rax
	btsl	$0, FHOOK_FRAME_DECLINED(%rax)
	piece_end decline
1:
	/* Does nobody want the exit? */
	piece frame_all
	movq	EXIT_FRAME, %rax
	cmpl	$NUMBER, FHOOK_FRAME_DECLINED(%rax)
	piece_end frame_all
	jz	.Lmiss
	/* In this order: after a tail call, the key alone makes it be found. */
	piece frame_enter
	movq	EXIT_FRAME, %rax
	movq	PARENT, %rdx
	movq	%rdx, FHOOK_FRAME_RET(%rax)
	leaq	PARENT, %rdx
	movq	%rdx, FHOOK_FRAME_KEY(%rax)
	piece_end frame_enter
	piece frame_stub
	movq	$NUMBER, PARENT
	piece_end frame_stub
	piece frame_pop
	movq	EXIT_FRAME, %rdi
	piece_end frame_pop
	call	fhook_just_return

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
	/* The count and the wish to preempt are one word, which that has tested. */
	piece preempt_again
	piece_end preempt_again

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
	save_others PARENT
	movq	RET_IP, %rax
	movq	%rax, REG(RIP)
	movq	$FHOOK_REGS_FULL, KIND
	piece_end regs_save

	call	fhook_just_return

	piece regs_restore
	movq	REG(RIP), %rax		/* a callback may have changed it */
	movq	%rax, RET_IP
	restore_others
	restore_caller_saved
	leaq	FRAME(%rsp), %rsp
	piece_end regs_restore
	RET
SYM_FUNC_END(fhook_regs_caller)
_ASM_NOKPROBE(fhook_regs_caller)

/*
 * Stands for the callbacks above, for those that are out of use, and for functions
 * that are skipped.
 */
SYM_FUNC_START(fhook_just_return)
	ANNOTATE_NOENDBR
	RET
SYM_FUNC_END(fhook_just_return)
EXPORT_SYMBOL_GPL(fhook_just_return)

/*
 * A function has returned here: by the stack pointer, where its return address
 * was. Put that back for the unwinder, which knows whose it is, and for where the
 * caller goes on, which fhook_return_handler() puts in its place.
 */
.macro enter_return stub
	UNWIND_HINT_UNDEFINED
	ANNOTATE_NOENDBR
	pushq	$\stub
	UNWIND_HINT_FUNC
.endm

/*
 * Go on at the caller. The function's own return has used up what the processor
 * had noted of its call, and a second return would use up what it has noted of the
 * caller's, so that each return from there on would be mispredicted: so there is a
 * call for it, as in return_to_handler, whose return address is dropped. No register
 * and no flag is touched.
 */
.macro leave_return
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lleave_\@
	int3
.Lleave_\@:
	leaq	8(%rsp), %rsp
	ALTERNATIVE __stringify(RET), \
		    __stringify(ANNOTATE_UNRET_SAFE; ret; int3), \
		    X86_FEATURE_CALL_DEPTH
.endm

SYM_CODE_START(fhook_return)
	enter_return fhook_return
	subq	$RETURN_FRAME, %rsp
	movq	%rax, REG(RAX)
	movq	%rdx, REG(RDX)
	movq	%rbp, REG(RBP)
	movq	$FHOOK_REGS_EXIT, KIND
	leaq	KIND, %rdi
	call	fhook_return_handler
	movq	REG(RAX), %rax
	movq	REG(RDX), %rdx
	addq	$RETURN_FRAME, %rsp
	leave_return
SYM_CODE_END(fhook_return)
_ASM_NOKPROBE(fhook_return)

SYM_CODE_START(fhook_regs_return)
	enter_return fhook_regs_return
	leaq	-RETURN_FRAME(%rsp), %rsp
	save_caller_saved
	save_others CALLER_SP
	movq	$(FHOOK_REGS_FULL | FHOOK_REGS_EXIT), KIND
	leaq	KIND, %rdi
	call	fhook_regs_return_handler
	restore_others
	restore_caller_saved
	leaq	RETURN_FRAME(%rsp), %rsp
	leave_return
SYM_CODE_END(fhook_regs_return)
_ASM_NOKPROBE(fhook_regs_return)

	.section .rodata
	.balign	4
SYM_DATA_START(fhook_pieces)
	.irp	name, save, gate, redirect, regs_redirect, preempt_in, \
		      guard_in, guard_try, guard_take, \
		      func_first, func_keep, func_again, frame_stack, \
		      frame_has_stack, frame_take, frame_has_room, \
		      frame_size, frame_top, frame_exits, frame_keep, \
		      frame_none, frame_test, args, data, count_near, \
		      count_far, decline_test, decline, frame_all, \
		      frame_enter, frame_stub, frame_pop, \
		      guard_out, preempt_out, preempt_again, restore, context, \
		      regs_save, regs_restore
	piece_entry	\name
	.endr
SYM_DATA_END(fhook_pieces)
