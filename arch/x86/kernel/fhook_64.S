/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook_caller and fhook_regs_caller: the templates of fhook's trampolines;
 * fhook_return and fhook_regs_return: the return stubs of functions whose exit
 * is hooked.
 *
 * The templates never run. trampoline.c copies their pieces in the order in which
 * they stand, with one block of call pieces for each ops, and fills in addresses
 * and branches. The templates are complete functions, so that objtool can check
 * them and generate their unwind information, which the copies borrow: an address
 * in a trampoline maps to the address of the same instruction here
 * (fhook_template_ip()). So between the save and the restore pieces the stack
 * pointer must not change.
 *
 * The frame, see also struct fhook_regs:
 *
 *	rsp + 0		the bit of the guard that this call has taken
 *	    + 8		address of the hooked function
 *	    + 16	struct fhook_frame of this call, or NULL
 *	    + 24	the valid registers
 *	    + 32	struct pt_regs
 *	    + 200	return address into the hooked function
 *	    + 208	return address into its caller
 */
#include <linux/export.h>
#include <linux/hook_base.h>
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

/* Copied code must not use RIP-relative addresses. */
#ifdef CONFIG_SMP
#define PCPU(x)		%gs:x
#else
#define PCPU(x)		x
#endif
#define PREEMPT_COUNT	PCPU(__preempt_count)

/* The word that has the count and the wish to preempt */
#ifdef CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS
#define PREEMPT_OP(op)	op##q
#else
#define PREEMPT_OP(op)	op##l
#endif

/* A placeholder that takes 32 bits. */
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

/* Complete a full pt_regs except RIP; \sp is the operand at which the stack pointer was. */
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

/* Restore all registers except the caller-saved ones and rip. */
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

	/* Continue in a replacement, if there is a gate only while it is open. */
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
	PREEMPT_OP(inc)	PREEMPT_COUNT
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
	/* An NMI that arrives here takes and releases its own bit. */
	piece guard_take
	orl	%eax, PCPU(fhook_guard)
	movl	%eax, GUARD_BIT
	piece_end guard_take

	/* Compute the address of the function from the return address of the slot. */
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
	 * Take room for the return address and for data that the entry callbacks pass
	 * to the exit callbacks, see frame.c. The copy gets the actual numbers.
	 */
	piece frame_stack
	movq	PCPU(current_task), %rax
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
	/*
	 * frame_size is copied again here: until frame_top, an interrupt's calls may
	 * have written to the frame.
	 */
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
	/* Have all hooks declined the exit? */
	piece frame_all
	movq	EXIT_FRAME, %rax
	cmpl	$NUMBER, FHOOK_FRAME_DECLINED(%rax)
	piece_end frame_all
	jz	.Lmiss
	/* Store the key last: after a tail call, the key alone identifies the frame. */
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
	PREEMPT_OP(dec)	PREEMPT_COUNT
#endif
	piece_end preempt_out
	/* Empty: preempt_out tests the count and the request to preempt in one word. */
	piece preempt_again
	piece_end preempt_again

	piece restore
	restore_caller_saved
	addq	$FRAME, %rsp
	piece_end restore
	/* bp was saved only for callbacks to read; the register is unchanged. */
	UNWIND_HINT_FUNC
	RET

	/* Softirq, interrupt or NMI: each has its own bit of the guard. */
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
 * Stands for the callbacks in the templates, for callbacks that are no longer in use, and
 * for functions that are skipped.
 */
SYM_FUNC_START(fhook_just_return)
	ANNOTATE_NOENDBR
	RET
SYM_FUNC_END(fhook_just_return)
EXPORT_SYMBOL_GPL(fhook_just_return)

/*
 * A function has returned here; its return address was just below the stack pointer. Push
 * the address of the stub there, so that the unwinder looks up the return address.
 * fhook_return_handler() replaces it with the address at which the caller continues.
 */
.macro enter_return stub
	UNWIND_HINT_UNDEFINED
	ANNOTATE_NOENDBR
	pushq	$\stub
	UNWIND_HINT_FUNC
.endm

/*
 * Continue in the caller. The return of the function has used up the entry that its call
 * pushed on the processor's return stack. A second return would use up the caller's
 * entry, and each later return would be mispredicted, so push another entry by a call and
 * drop its return address, as return_to_handler does. No register and no flag changes.
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
