/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook on x86_64: the parameters of slots
 *
 * The relocator is also built into the host tests: only the part for the kernel
 * alone may need kernel headers.
 */
#ifndef _ASM_X86_UHOOK_H
#define _ASM_X86_UHOOK_H

#include <linux/bits.h>

/* The longest instruction, and a jump with a 32-bit displacement. */
#define UHOOK_COPY_MAX	(15 + 5)

#define UHOOK_SLOT_SIZE	32

/* A jump with a 32-bit displacement. */
#define UHOOK_JUMP_MAX	5

/* A body: handlers, the copy and the jump back. */
#define UHOOK_BODY_SIZE	128

/* Pages of counters, which the stack pointer selects by its bits 12 to 15. */
#define UHOOK_LANE_SHIFT	12
#define UHOOK_LANE_SIZE	BIT(UHOOK_LANE_SHIFT)

/*
 * The maximum distance between a slot and its site, in bytes: the range of the
 * jump's displacement, less room for instructions that address data around them
 * relative to the instruction pointer.
 */
#define UHOOK_REACH	(0x80000000UL - 0x4000000UL)

/* No instruction depends on those before it: there is no uhook_is_atomic(). */
#define UHOOK_BYTES_BEFORE	0

#ifdef __KERNEL__

#include <linux/cpufeature.h>
#include <linux/mm_types.h>
#include <linux/types.h>
#include <linux/uhook_gate.h>
#include <linux/unaligned.h>
#include <asm/fpu/types.h>
#include <asm/fpu/xstate.h>
#include <asm/ptrace.h>

/**
 * arch_uhook_may_boost - check whether a task may continue in a slot
 * @regs: registers of the task at the site
 *
 * Return: false for 32-bit code, and when the instruction is being stepped by a
 * debugger, or by the program itself: the step must end after the site.
 */
static inline bool arch_uhook_may_boost(struct pt_regs *regs)
{
	return user_64bit_mode(regs) && !(regs->flags & X86_EFLAGS_TF);
}

/* The components that XSAVE saves: all that programs have, except AMX tiles. */
static inline void arch_uhook_vectors(struct uhook_gate *gate)
{
	gate->xsave_mask = fpu_user_cfg.max_features & ~XFEATURE_MASK_XTILE;
	gate->xsave_size = fpu_user_cfg.max_size;
}

/* Programs have to read the base of FS, which identifies the thread. */
static inline bool arch_uhook_can_call(bool vectors)
{
	return boot_cpu_has(X86_FEATURE_FSGSBASE) &&
	       (!vectors || boot_cpu_has(X86_FEATURE_XSAVE));
}

/* arch_stack_walk_user() takes the frames of 32-bit programs for those of 64-bit ones. */
static inline bool arch_uhook_can_walk(struct pt_regs *regs)
{
	return user_64bit_mode(regs);
}

static inline void arch_uhook_set_sp(struct pt_regs *regs, unsigned long sp)
{
	regs->sp = sp;
}

/* User mode has no indirect branch tracking. */
static inline bool arch_uhook_is_landing(const struct vm_area_struct *vma, const u8 *insn)
{
	return false;
}

/* The target of a site's jump, or of a hop; 0 if it is not a jump. */
static inline unsigned long arch_uhook_jump_target(unsigned long at, const u8 *bytes)
{
	if (bytes[0] != 0xe9)
		return 0;

	return at + UHOOK_JUMP_MAX + get_unaligned((const s32 *)(bytes + 1));
}

#endif /* __KERNEL__ */

#endif /* _ASM_X86_UHOOK_H */
