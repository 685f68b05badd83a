/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook on arm64: what a slot is
 *
 * The relocator is also built into the host's tests: only what is for the kernel
 * alone may need its headers.
 */
#ifndef _ASM_ARM64_UHOOK_H
#define _ASM_ARM64_UHOOK_H

/* One instruction and one B. */
#define UHOOK_COPY_MAX	8

/* How far apart slots are: several share a cache line, none crosses one. */
#define UHOOK_SLOT_SIZE	32

/*
 * How far from a slot its site may be.  The B reaches 128 MiB either way; what
 * is left of it is for the slot's place in its mapping.
 */
#define UHOOK_REACH	0x7f00000UL

#ifdef __KERNEL__

#include <linux/thread_info.h>
#include <asm/ptrace.h>

/**
 * arch_uhook_may_boost - may a task go on in a slot?
 * @regs: its registers, at the site
 *
 * Return: false for 32-bit code, and when the instruction is being stepped by a
 * debugger: a step must end behind the site.
 */
static inline bool arch_uhook_may_boost(struct pt_regs *regs)
{
	return !compat_user_mode(regs) && !test_thread_flag(TIF_SINGLESTEP);
}

#endif /* __KERNEL__ */

#endif /* _ASM_ARM64_UHOOK_H */
