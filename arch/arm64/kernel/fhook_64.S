/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook_caller and fhook_regs_caller: the templates of fhook's trampolines;
 * fhook_return and fhook_regs_return: the return stubs of functions whose exit
 * is hooked.
 *
 * The templates never run. trampoline.c copies their pieces in the order in which
 * they stand, with one block of call pieces for each ops, and inserts the
 * instructions that depend on the address of the copy: branches, and loads from
 * the literals after the code. Alternatives are applied before the first copy is
 * made.
 *
 * A slot is "mov x9, x30; bl trampoline": x30 is the address at which the hooked
 * function continues, x9 its return address. By the procedure call standard, x9
 * to x17 may be changed at a function's entry. All other registers must hold the
 * caller's values when the function continues.
 *
 * The frame, see also struct fhook_regs:
 *
 *	sp + 0		address of the guard of this CPU
 *	   + 8		the bit of the guard that this call has taken
 *	   + 16		arguments of the callbacks, from the second
 *	   + 48		struct fhook_frame of this call, or NULL
 *	   + 64		struct pt_regs
 *	   RECORD	frame record of the hooked function
 *	   CALLER	frame record of its caller
 */
#include <linux/export.h>
#include <linux/hook_base.h>
#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/asm-offsets.h>
#include <asm/assembler.h>
#include <asm/brk-imm.h>
#include <asm/fhook_pieces.h>
#include <asm/sysreg.h>

#define GUARD		0
#define ARGS		16
#define EXIT_FRAME	48
#define REGS		64
#define REG(x)		[sp, #REGS + S_##x]
#define RECORD		(REGS + PT_REGS_SIZE)
#define CALLER		(RECORD + 16)
#define FRAME		(CALLER + 16)

/* The lower half of the u64 that also says whether to reschedule. */
#define PREEMPT_COUNT	TSK_TI_PREEMPT

/*
 * Make two frame records, so that a stack trace finds the function and its caller.
 * Until then a stack trace lacks both, but has no false entry.
 */
.macro make_frame
	sub	sp, sp, #FRAME
	stp	x29, x9, [sp, #CALLER]
	add	x29, sp, #CALLER
	stp	x29, x30, [sp, #RECORD]
	add	x29, sp, #RECORD
.endm

.macro save_args
	stp	x0, x1, REG(X0)
	stp	x2, x3, REG(X2)
	stp	x4, x5, REG(X4)
	stp	x6, x7, REG(X6)
	stp	x8, x9, REG(X8)
.endm

.macro restore_args
	ldp	x0, x1, REG(X0)
	ldp	x2, x3, REG(X2)
	ldp	x4, x5, REG(X4)
	ldp	x6, x7, REG(X6)
	ldr	x8, REG(X8)
.endm

/* Complete a full pt_regs: x30 of the function was \lr, its next instruction is at \pc. */
.macro save_others lr, pc
	stp	x10, x11, REG(X10)
	stp	x12, x13, REG(X12)
	stp	x14, x15, REG(X14)
	stp	x16, x17, REG(X16)
	stp	x18, x19, REG(X18)
	stp	x20, x21, REG(X20)
	stp	x22, x23, REG(X22)
	stp	x24, x25, REG(X24)
	stp	x26, x27, REG(X26)
	ldr	x10, [sp, #CALLER]
	stp	x28, x10, REG(X28)
	add	x10, sp, #FRAME
	stp	\lr, x10, REG(LR)
	/* The state that an exception taken here would have saved. */
	mrs	x10, nzcv
	mrs	x11, daif
	orr	x10, x10, x11
alternative_if_not ARM64_HAS_VIRT_HOST_EXTN
	mov	x11, #PSR_MODE_EL1h
alternative_else
	mov	x11, #PSR_MODE_EL2h
alternative_endif
	orr	x10, x10, x11
	stp	\pc, x10, REG(PC)
	mov	x10, #0xffffffff		// no system call
	stp	xzr, x10, [sp, #REGS + S_SYSCALLNO - 8]
.endm

/* With interrupt masking by priority, the PMR says whether interrupts are masked. */
.macro save_pmr
	mrs_s	x10, SYS_ICC_PMR_EL1
	str	HOOK_BASE_PMR(10), REG(PMR)
.endm

/* Restore x19 to x29: at a return, x9 to x17 have no meaning. */
.macro restore_callee_saved
	ldr	x19, [sp, #REGS + S_X18 + 8]
	ldp	x20, x21, REG(X20)
	ldp	x22, x23, REG(X22)
	ldp	x24, x25, REG(X24)
	ldp	x26, x27, REG(X26)
	ldp	x28, x29, REG(X28)
.endm

	.text

SYM_CODE_START(fhook_caller)
	piece save
	make_frame
	save_args
	str	xzr, REG(PSTATE)		// no full pt_regs
	piece_end save

	/* Continue in a replacement, if there is a gate only while it is open. */
	// ldr	x11, =gate
	piece gate
	ldr	w11, [x11]
	piece_end gate
	// cbz	x11, closed
	// ldr	x10, =target
	piece redirect
	str	x10, [sp, #RECORD + 8]
	piece_end redirect
	piece regs_redirect
	str	x10, REG(PC)
	piece_end regs_redirect
	/* The whole trampoline of a redirect without hooks. */
	// ldr	x16, =target
	piece jump
	br	x16
	piece_end jump

	piece preempt_in
#ifdef CONFIG_PREEMPT_COUNT
	mrs	x10, sp_el0
	ldr	w11, [x10, #PREEMPT_COUNT]
	add	w11, w11, #1
	str	w11, [x10, #PREEMPT_COUNT]
#endif
	piece_end preempt_in

	/* Which context is this? Nearly always a task. */
	piece guard_in
#ifndef CONFIG_PREEMPT_COUNT
	mrs	x10, sp_el0
	ldr	w11, [x10, #PREEMPT_COUNT]
#endif
	mov	w12, #FHOOK_GUARD_TASK
	tst	w11, #FHOOK_CONTEXT_MASK
	piece_end guard_in
	// b.ne	context
	// ldr	x13, =fhook_guard
	piece guard_try
	get_this_cpu_offset x14
	add	x13, x13, x14
	ldr	w15, [x13]
	tst	w15, w12
	piece_end guard_try
	// b.ne	miss
	/* An NMI that arrives here takes and releases its own bit. */
	piece guard_take
	orr	w15, w15, w12
	str	w15, [x13]
	stp	x13, x12, [sp, #GUARD]
	piece_end guard_take

	// sub	x1, x30, #func_offset
	piece args
	mov	x2, x9
	add	x3, sp, #REGS
	mov	x4, #0
	piece_end args
	piece args_keep
	stp	x1, x2, [sp, #ARGS]
	stp	x3, x4, [sp, #ARGS + 16]
	piece_end args_keep
	piece args_again
	ldp	x1, x2, [sp, #ARGS]
	ldp	x3, x4, [sp, #ARGS + 16]
	piece_end args_again

	/*
	 * Take room for the return address and for data that the entry callbacks pass
	 * to the exit callbacks, see frame.c. The address of the function is in x1.
	 */
	// ldr	x12, =offset of fhook_stack
	piece frame_stack
	mrs	x10, sp_el0
	ldr	x11, [x10, x12]
	piece_end frame_stack
	// cbz	x11, no_frame
	// ldr	x13, =size
	// ldr	x14, =exits
	piece frame_take
	ldr	x12, [x11]
	sub	x12, x12, x13
	cmp	x12, x11
	piece_end frame_take
	// b.ls	no_frame
	piece frame_fill
	str	xzr, [x12, #FHOOK_FRAME_KEY]
	str	x13, [x12, #FHOOK_FRAME_SIZE]
	str	x12, [x11]
	/*
	 * Until the store above, an interrupt's calls may have written here: write
	 * the members again.
	 */
	str	xzr, [x12, #FHOOK_FRAME_KEY]
	str	x13, [x12, #FHOOK_FRAME_SIZE]
	stp	x1, x14, [x12, #FHOOK_FRAME_FUNC]
	str	x12, [sp, #EXIT_FRAME]
	piece_end frame_fill
	piece frame_none
	str	xzr, [sp, #EXIT_FRAME]
	piece_end frame_none
	piece frame_test
	ldr	x11, [sp, #EXIT_FRAME]
	piece_end frame_test
	// cbnz	x11, has_frame
	piece data
	mov	x4, x11
	piece_end data
	// add	x4, x4, #data

	// ldr	x10, =stat
	piece count_missed
	add	x10, x10, #8
	piece_end count_missed
	/*
	 * The counter is also incremented by interrupts, and without the guard this
	 * task may migrate: use atomic instructions.
	 */
	piece count
	get_this_cpu_offset x11
	add	x10, x10, x11
1:	ldxr	x11, [x10]
	add	x11, x11, #1
	stxr	w12, x11, [x10]
	cbnz	w12, 1b
	piece_end count
	.arch_extension lse
	piece count_lse
	get_this_cpu_offset x11
	mov	x12, #1
	add	x10, x10, x11
	stadd	x12, [x10]
	piece_end count_lse
	.arch_extension nolse

	// ldr	x0, =ops
	// bl	callback

	// cbz	w0, wanted
	piece decline_load
	ldr	x10, [sp, #EXIT_FRAME]
	ldr	w11, [x10, #FHOOK_FRAME_DECLINED]
	piece_end decline_load
	// orr	w11, w11, #bit
	piece decline_store
	str	w11, [x10, #FHOOK_FRAME_DECLINED]
	piece_end decline_store
	// wanted:

	/* Have all hooks declined the exit? */
	// ldr	x12, =all
	piece frame_all
	ldr	w10, [x11, #FHOOK_FRAME_DECLINED]
	cmp	w10, w12
	piece_end frame_all
	// b.eq	declined
	/* Store the key last: after a tail call, the key alone identifies the frame. */
	piece frame_enter
	ldr	x11, [sp, #EXIT_FRAME]
	ldp	x10, x12, [sp, #CALLER]
	str	x12, [x11, #FHOOK_FRAME_RET]
	str	x10, [x11, #FHOOK_FRAME_KEY]
	piece_end frame_enter
	// ldr	x13, =stub
	piece frame_stub
	str	x13, REG(LR)
	str	x13, [sp, #CALLER + 8]
	piece_end frame_stub
	piece frame_pop
	ldr	x0, [sp, #EXIT_FRAME]
	piece_end frame_pop
	// bl	fhook_frame_pop

	piece guard_out
	ldp	x13, x12, [sp, #GUARD]
	ldr	w15, [x13]
	eor	w15, w15, w12
	str	w15, [x13]
	piece_end guard_out
	// miss:
	piece preempt_out
#ifdef CONFIG_PREEMPT_COUNT
	mrs	x10, sp_el0
	ldr	x11, [x10, #TSK_TI_PREEMPT]
	sub	x11, x11, #1
	str	w11, [x10, #PREEMPT_COUNT]
#endif
	piece_end preempt_out
	// cbz	x11, resched
	/* An interrupt since the load may have requested a reschedule. */
	piece preempt_again
	ldr	x11, [x10, #TSK_TI_PREEMPT]
	piece_end preempt_again
	// cbz	x11, resched

	piece restore
	restore_args
	ldr	x9, [sp, #RECORD + 8]		// a callback may have changed it
	ldp	x29, x30, [sp, #CALLER]
	add	sp, sp, #FRAME
	ret	x9
	piece_end restore

	/* A task with softirqs disabled, a softirq, an interrupt or an NMI. */
	piece context
	ubfx	w12, w11, #FHOOK_SOFTIRQ_SHIFT, #1
	add	w12, w12, #FHOOK_GUARD_TASK
	mov	w13, #FHOOK_GUARD_HARDIRQ
	tst	w11, #FHOOK_HARDIRQ_MASK
	csel	w12, w13, w12, ne
	mov	w13, #FHOOK_GUARD_NMI
	tst	w11, #FHOOK_NMI_MASK
	csel	w12, w13, w12, ne
	piece_end context
	// b	guard_try
SYM_CODE_END(fhook_caller)
NOKPROBE(fhook_caller)		/* a breakpoint in it would be copied */

SYM_CODE_START(fhook_regs_caller)
	piece regs_save
	make_frame
	save_args
	save_others x9, x30
	piece_end regs_save
	piece regs_pmr
	save_pmr
	piece_end regs_pmr

	/* A callback may have changed all registers but sp, x29 and x30. */
	piece regs_restore
	restore_args
	ldp	x10, x11, REG(X10)
	ldp	x12, x13, REG(X12)
	ldp	x14, x15, REG(X14)
	ldp	x16, x17, REG(X16)
	restore_callee_saved
	ldr	x30, REG(LR)
	ldr	x9, REG(PC)
	add	sp, sp, #FRAME
	ret	x9
	piece_end regs_restore
SYM_CODE_END(fhook_regs_caller)
NOKPROBE(fhook_regs_caller)

/* Runs instead of a skipped function. */
SYM_FUNC_START(fhook_just_return)
	ret
SYM_FUNC_END(fhook_just_return)
EXPORT_SYMBOL_GPL(fhook_just_return)

/*
 * A function has returned here. Until fhook_return_handler() has found the address at
 * which the caller continues, the frame record has the address of the stub, so that a
 * stack trace looks up the return address.
 */
.macro enter_return stub
	sub	sp, sp, #FRAME
	adr	x30, \stub
	stp	x29, x30, [sp, #CALLER]
	add	x29, sp, #CALLER
	str	xzr, [sp, #RECORD]
	save_args
.endm

/*
 * The return of the function has used up the entry that its call pushed on the
 * processor's return stack. The return below would use up the caller's entry, and each
 * later return would be mispredicted, so push another entry by a call. "br" would need
 * no such call, but there is no BTI at its target.
 */
.macro balance_return
	bl	.Lbalance_\@
	brk	#FAULT_BRK_IMM
.Lbalance_\@:
.endm

SYM_CODE_START(fhook_return)
	enter_return fhook_return
	str	xzr, REG(PSTATE)
	add	x0, sp, #REGS
	bl	fhook_return_handler
	balance_return
	restore_args
	ldp	x29, x30, [sp, #CALLER]
	add	sp, sp, #FRAME
	ret
SYM_CODE_END(fhook_return)
NOKPROBE(fhook_return)

SYM_CODE_START(fhook_regs_return)
	enter_return fhook_regs_return
	save_others x30, x30
alternative_if ARM64_HAS_GIC_PRIO_MASKING
	save_pmr
alternative_else_nop_endif
	add	x0, sp, #REGS
	bl	fhook_regs_return_handler
	balance_return
	restore_args
	restore_callee_saved
	ldr	x30, [sp, #CALLER + 8]
	add	sp, sp, #FRAME
	ret
SYM_CODE_END(fhook_regs_return)
NOKPROBE(fhook_regs_return)

	.section .rodata
	.balign	4
SYM_DATA_START(fhook_pieces)
	.irp	name, save, gate, redirect, regs_redirect, jump, preempt_in, \
		      guard_in, guard_try, guard_take, \
		      args, args_keep, args_again, frame_stack, frame_take, \
		      frame_fill, frame_none, frame_test, \
		      data, count_missed, count, count_lse, decline_load, \
		      decline_store, frame_all, frame_enter, frame_stub, \
		      frame_pop, guard_out, preempt_out, \
		      preempt_again, restore, context, regs_save, regs_pmr, \
		      regs_restore
	piece_entry	\name
	.endr
SYM_DATA_END(fhook_pieces)
