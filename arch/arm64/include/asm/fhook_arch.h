/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of arm64 that kernel/fhook/ needs: the slot and the trampoline. */
#ifndef _ASM_ARM64_FHOOK_ARCH_H
#define _ASM_ARM64_FHOOK_ARCH_H

#include <linux/fhook.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/insn.h>

/*
 * The length of a slot in bytes: "mov x9, x30", which is written at boot, and a
 * no-op or a branch.
 */
#define FHOOK_SLOT_SIZE		(2 * AARCH64_INSN_SIZE)

/* "mov x9, x30" saves the return address, which the branch changes. */
#define FHOOK_SLOT_FIRST	0xaa1e03e9

/*
 * The maximum distance between a function and its slot: BTI and ftrace's
 * no-ops.
 */
#define FHOOK_SLOT_DISTANCE	(3 * AARCH64_INSN_SIZE)

/*
 * Defined by the linker: the compiler's records of vmlinux, freed after init.
 */
extern unsigned long __start_fhook_records[];
extern unsigned long __stop_fhook_records[];

/**
 * struct fhook_arch_tramp - empty on arm64
 *
 * The unwinder finds frame records on the stack, and needs no description of
 * trampolines.
 */
struct fhook_arch_tramp {
};

/*
 * The key by which the frame of a call is found: the frame pointer of its
 * caller.
 */
static __always_inline unsigned long
fhook_regs_key(const struct fhook_regs *fregs)
{
	return fhook_regs_get_fp(fregs);
}

/* Make the return stub continue at the caller. */
static __always_inline void
fhook_regs_unhijack(struct fhook_regs *fregs, bool full)
{
	unsigned long ip = full ? fregs->regs.pc : fregs->ip;

	WRITE_ONCE(fregs->ip, ip);
	WRITE_ONCE(fregs->parent, ip);
}

/* Fill memory that can still be written with undefined instructions. */
static inline void fhook_arch_text_fill(void *text, unsigned int size)
{
	memset32(text, AARCH64_BREAK_FAULT, size / AARCH64_INSN_SIZE);
}

/* Does the branch in a slot reach this address? */
static inline bool fhook_arch_reaches(unsigned long site, const void *dest)
{
	long distance = (long)dest - (long)(site + AARCH64_INSN_SIZE);

	return distance >= -SZ_128M && distance < SZ_128M;
}

/**
 * fhook_arch_aim() - set where a jump or a branch leads
 * @end: its end, in a buffer
 * @distance: bytes from there to the target
 */
static inline void fhook_arch_aim(void *end, int distance)
{
	__le32 *insn = (__le32 *)end - 1;

	*insn = cpu_to_le32(aarch64_set_branch_offset(le32_to_cpu(*insn),
						      distance + AARCH64_INSN_SIZE));
}

#endif /* _ASM_ARM64_FHOOK_ARCH_H */
