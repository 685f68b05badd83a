/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook on arm64: the parameters of slots
 *
 * The relocator is also built into the host tests: only the part for the kernel alone
 * may need kernel headers.
 */
#ifndef _ASM_ARM64_UHOOK_H
#define _ASM_ARM64_UHOOK_H

#include <linux/bits.h>
#include <linux/types.h>

/*
 * One instruction and one B; or the replacement of a branch or an address: up to four
 * instructions for a register's value, and one or two B.
 */
#define UHOOK_COPY_MAX	24

/* One B instruction. */
#define UHOOK_JUMP_MAX	4

/* A body: handlers, the copy and the jump back. */
#define UHOOK_BODY_SIZE	128

/* The distance between slots: several share a cache line, none crosses one. */
#define UHOOK_SLOT_SIZE	32

/*
 * The maximum distance between a slot and its site.  The B reaches 128 MiB in both
 * directions; the rest is for the slot's offset in its mapping.
 */
#define UHOOK_REACH	0x7f00000UL

/* The bytes before a site that uhook_is_atomic() looks at: sixteen instructions. */
#define UHOOK_BYTES_BEFORE	64

/**
 * uhook_is_landing_pad - check whether an indirect branch may lead to an instruction
 * @insn: the instruction in the program
 *
 * In a guarded page (PROT_BTI) an indirect branch may lead to a landing pad or a
 * breakpoint, but not to a B: a jump must not replace a landing pad.
 *
 * Return: whether it is a BTI, or a PACIASP or PACIBSP, which act as BTIs.
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
 * arch_uhook_may_boost - check whether a task may continue in a slot
 * @regs: registers of the task at the site
 *
 * Return: false for 32-bit code, and when the instruction is being stepped by a
 * debugger: the step must end after the site.
 */
static inline bool arch_uhook_may_boost(struct pt_regs *regs)
{
	return !compat_user_mode(regs) && !test_thread_flag(TIF_SINGLESTEP);
}

/* The registers that all processors have are always saved. */
static inline void arch_uhook_vectors(struct uhook_gate *gate) { }

/*
 * A function that uses only base vector instructions also changes the registers of SVE
 * and of SME's streaming mode that overlap them.
 */
static inline bool arch_uhook_can_call(bool vectors)
{
	return !vectors || !(system_supports_sve() || system_supports_sme());
}

static inline bool arch_uhook_can_walk(struct pt_regs *regs)
{
	return true;
}

static inline void arch_uhook_set_sp(struct pt_regs *regs, unsigned long sp)
{
	regs->sp = sp;
}

/**
 * arch_uhook_is_landing - check whether an instruction must stay for indirect branches
 * @vma: the mapping of the text
 * @insn: bytes of the instruction
 *
 * Indirect branches may lead to a breakpoint, as to a BTI, but not to a B.
 *
 * Return: true if the processor checks indirect branches, and permits them at this
 * instruction.
 */
static inline bool arch_uhook_is_landing(const struct vm_area_struct *vma, const u8 *insn)
{
	return vma->vm_flags & VM_ARM64_BTI && uhook_is_landing_pad(insn);
}

/* The target of a site's jump, or of a hop; 0 if it is not a jump. */
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
