/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernel/fhook/ needs to know of x86_64: the slot and the trampoline.
 */
#ifndef _ASM_X86_FHOOK_ARCH_H
#define _ASM_X86_FHOOK_ARCH_H

#include <linux/fhook.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/text-patching.h>

/* Length of a slot, and of the call in it, in bytes. */
#define FHOOK_SLOT_SIZE		5

/* The most that can lie between a function and its slot: ENDBR and ftrace's. */
#define FHOOK_SLOT_DISTANCE	9

/* By the linker: offsets of vmlinux' slots from _text, sorted at build time. */
extern s32 __start_fhook_sites[];
extern s32 __stop_fhook_sites[];

/**
 * struct fhook_arch_tramp - which bytes of a trampoline were copied from where
 * @save: length of the piece that makes the frame, which begins the trampoline
 * @restore: where the piece begins that takes it down, up to the return
 * @restore_len: length of that piece
 * @slow: what is behind the return, where the frame is there again
 */
struct fhook_arch_tramp {
	u16	save;
	u16	restore;
	u16	restore_len;
	u16	slow;
};

/* What a call is found by again: where its return address is. */
static __always_inline unsigned long
fhook_regs_key(const struct fhook_regs *fregs)
{
	return (unsigned long)&fregs->parent;
}

/* Let the stub that a function has returned to go on at its caller. */
static __always_inline void
fhook_regs_unhijack(struct fhook_regs *fregs, bool full)
{
	WRITE_ONCE(fregs->parent, full ? fregs->regs.ip : fregs->ip);
}

/* Leave nothing to execute in memory that can still be written. */
static inline void fhook_arch_text_fill(void *text, unsigned int size)
{
	memset(text, INT3_INSN_OPCODE, size);
}

/* Can the branch in a slot reach this far? All executable memory is near. */
static inline bool fhook_arch_reaches(unsigned long site, const void *dest)
{
	return true;
}

#endif /* _ASM_X86_FHOOK_ARCH_H */
