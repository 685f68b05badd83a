/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook on arm64: what a slot is
 *
 * The relocator is also built into the host's tests: only what is for the kernel
 * alone may need its headers.
 */
#ifndef _ASM_ARM64_UHOOK_H
#define _ASM_ARM64_UHOOK_H

#include <linux/bits.h>
#include <linux/types.h>

/*
 * One instruction and one B; or what stands for a branch or an address: up to
 * four instructions for a register's value, and one or two B.
 */
#define UHOOK_COPY_MAX	24

/* A B. */
#define UHOOK_JUMP_MAX	4

/* A body: handlers, the copy and the jump back. */
#define UHOOK_BODY_SIZE	128

/* How far apart slots are: several share a cache line, none crosses one. */
#define UHOOK_SLOT_SIZE	32

/*
 * How far from a slot its site may be.  The B reaches 128 MiB either way; what
 * is left of it is for the slot's place in its mapping.
 */
#define UHOOK_REACH	0x7f00000UL

/**
 * uhook_is_landing_pad - may an indirect branch lead to an instruction?
 * @insn: the instruction, as the program has it
 *
 * In a guarded page (PROT_BTI) it may lead there, and to a breakpoint, but not to
 * a B: a jump must not be put over it.
 *
 * Return: whether it is a BTI or a PACIASP or PACIBSP, which are BTIs too.
 */
bool uhook_is_landing_pad(const void *insn);

#ifdef __KERNEL__

#include <linux/cpufeature.h>
#include <linux/mm.h>
#include <linux/thread_info.h>
#include <linux/uhook_gate.h>
#include <linux/unaligned.h>
#include <asm/insn.h>
#include <asm/page-def.h>
#include <asm/ptrace.h>

/* Counters are spread over pages: four bits of the stack pointer select one. */
#define UHOOK_LANE_SHIFT	PAGE_SHIFT

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

/* The registers that all processors have are always saved. */
static inline void arch_uhook_vectors(struct uhook_gate *gate) { }

/*
 * A function of the base set of instructions changes those of SVE and of SME's streaming
 * mode that share them.
 */
static inline bool arch_uhook_can_call(bool vectors)
{
	return !vectors || !(system_supports_sve() || system_supports_sme());
}

static inline void arch_uhook_set_sp(struct pt_regs *regs, unsigned long sp)
{
	regs->sp = sp;
}

/**
 * arch_uhook_is_landing - must an instruction stay for indirect branches?
 * @vma: of the text
 * @insn: its bytes
 *
 * A breakpoint may be where they lead to, as a BTI may; a B may not.
 *
 * Return: true if the processor checks, and lets them lead there.
 */
static inline bool arch_uhook_is_landing(const struct vm_area_struct *vma, const u8 *insn)
{
	return vma->vm_flags & VM_ARM64_BTI && uhook_is_landing_pad(insn);
}

/* Where the jump of a site, or a hop, leads; 0 if it is none. */
static inline unsigned long arch_uhook_jump_target(unsigned long at, const u8 *bytes)
{
	u32 insn = get_unaligned_le32(bytes);

	if (!aarch64_insn_is_b(insn))
		return 0;

	return at + aarch64_get_branch_offset(insn);
}

#else

#define UHOOK_LANE_SHIFT	12

#endif /* __KERNEL__ */

#define UHOOK_LANE_SIZE	BIT(UHOOK_LANE_SHIFT)

#endif /* _ASM_ARM64_UHOOK_H */
