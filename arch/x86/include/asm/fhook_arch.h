/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Properties of x86_64 that kernel/fhook/ needs: the slot and the trampoline.
 */
#ifndef _ASM_X86_FHOOK_ARCH_H
#define _ASM_X86_FHOOK_ARCH_H

#include <linux/fhook.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>
#include <asm/text-patching.h>

/* Length of a slot, and of the call in it, in bytes. */
#define FHOOK_SLOT_SIZE		5

/*
 * The maximum distance between a function and its slot: ENDBR and ftrace's
 * slot.
 */
#define FHOOK_SLOT_DISTANCE	9

/*
 * Defined by the linker: offsets of vmlinux' slots from _text, sorted at build
 * time.
 */
extern s32 __start_fhook_sites[];
extern s32 __stop_fhook_sites[];

/**
 * struct fhook_arch_tramp - the templates of the parts of a trampoline
 * @save: length of the piece that makes the frame, at the start of the
 *	trampoline
 * @restore: offset of the piece that removes the frame, up to the return
 * @restore_len: length of that piece
 * @slow: offset of the code after the return, which runs with the frame in place
 * @regs: whether the pieces are those of fhook_regs_caller
 */
struct fhook_arch_tramp {
	u16	save;
	u16	restore;
	u16	restore_len;
	u16	slow;
	bool	regs;
};

/*
 * The key by which the frame of a call is found: the location of its return
 * address.
 */
static __always_inline unsigned long
fhook_regs_key(const struct fhook_regs *fregs)
{
	return (unsigned long)&fregs->parent;
}

/* Make the return stub continue at the caller. */
static __always_inline void
fhook_regs_unhijack(struct fhook_regs *fregs, bool full)
{
	WRITE_ONCE(fregs->parent, full ? fregs->regs.ip : fregs->ip);
}

/* Fill memory that can still be written with breakpoints. */
static inline void fhook_arch_text_fill(void *text, unsigned int size)
{
	memset(text, INT3_INSN_OPCODE, size);
}

/*
 * Does the branch in a slot reach this address? All executable memory is near.
 */
static inline bool fhook_arch_reaches(unsigned long site, const void *dest)
{
	return true;
}

/**
 * fhook_arch_aim() - set where a jump or a branch leads
 * @end: its end, in a buffer
 * @distance: bytes from there to the target
 */
static inline void fhook_arch_aim(void *end, int distance)
{
	put_unaligned(distance, (s32 *)end - 1);
}

#endif /* _ASM_X86_FHOOK_ARCH_H */
