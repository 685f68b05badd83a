/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernel/fhook/ needs to know of arm64: the slot and the trampoline.
 */
#ifndef _ASM_ARM64_FHOOK_ARCH_H
#define _ASM_ARM64_FHOOK_ARCH_H

#include <linux/fhook.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/insn-def.h>

/*
 * Length of a slot in bytes: "mov x9, x30", which is there from boot on, and a
 * no-op or a branch.
 */
#define FHOOK_SLOT_SIZE		(2 * AARCH64_INSN_SIZE)

/* "mov x9, x30": the return address is kept, because the branch changes it. */
#define FHOOK_SLOT_FIRST	0xaa1e03e9

/* The most that can lie between a function and its slot: BTI and ftrace's. */
#define FHOOK_SLOT_DISTANCE	(3 * AARCH64_INSN_SIZE)

/* By the linker: the compiler's records of vmlinux, freed after init. */
extern unsigned long __start_fhook_records[];
extern unsigned long __stop_fhook_records[];

/**
 * struct fhook_arch_tramp - nothing
 *
 * The unwinder finds records on the stack, and need not know who made them.
 */
struct fhook_arch_tramp {
};

/* What a call is found by again: the frame pointer of its caller. */
static __always_inline unsigned long
fhook_regs_key(const struct fhook_regs *fregs)
{
	return fhook_regs_get_fp(fregs);
}

/* Let the stub that a function has returned to go on at its caller. */
static __always_inline void
fhook_regs_unhijack(struct fhook_regs *fregs, bool full)
{
	unsigned long ip = full ? fregs->regs.pc : fregs->ip;

	WRITE_ONCE(fregs->ip, ip);
	WRITE_ONCE(fregs->parent, ip);
}

/* Leave nothing to execute in memory that can still be written. */
static inline void fhook_arch_text_fill(void *text, unsigned int size)
{
	memset32(text, AARCH64_BREAK_FAULT, size / AARCH64_INSN_SIZE);
}

/* Can the branch in a slot reach this far? */
static inline bool fhook_arch_reaches(unsigned long site, const void *dest)
{
	long distance = (long)dest - (long)(site + AARCH64_INSN_SIZE);

	return distance >= -SZ_128M && distance < SZ_128M;
}

#endif /* _ASM_ARM64_FHOOK_ARCH_H */
