/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook on x86_64: the slots
 *
 * The relocator is also built into the host's tests: only what is for the kernel
 * alone may need its headers.
 */
#ifndef _ASM_X86_UHOOK_H
#define _ASM_X86_UHOOK_H

/* The longest instruction, and a jump with a 32-bit displacement. */
#define UHOOK_COPY_MAX	(15 + 5)

#define UHOOK_SLOT_SIZE	32

/*
 * How far a slot may be from its site, in bytes: what the displacement of the
 * jump can span, less room for the instructions that address data around them
 * relative to the instruction pointer.
 */
#define UHOOK_REACH	(0x80000000UL - 0x4000000UL)

#ifdef __KERNEL__

#include <asm/ptrace.h>

/**
 * arch_uhook_may_boost - may a task go on in a slot?
 * @regs: its registers, at the site
 *
 * Return: false for 32-bit code, and when the instruction is being stepped by a
 * debugger, or by the program itself: a step must end behind the site.
 */
static inline bool arch_uhook_may_boost(struct pt_regs *regs)
{
	return user_64bit_mode(regs) && !(regs->flags & X86_EFLAGS_TF);
}

#endif /* __KERNEL__ */

#endif /* _ASM_X86_UHOOK_H */
