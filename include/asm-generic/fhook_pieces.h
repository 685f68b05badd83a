/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between fhook's trampoline templates and the code that copies them, for
 * all architectures. The templates are assembly, cut into pieces; the table at their end
 * has the position of each piece, in the order of the architecture's enum fhook_piece_id.
 * Every architecture has all pieces that trampoline.c names; those that it does not need
 * are empty.
 */
#ifndef _ASM_GENERIC_FHOOK_PIECES_H
#define _ASM_GENERIC_FHOOK_PIECES_H

/*
 * fhook_guard has one bit per context: task, softirq, interrupt and NMI, from the
 * lowest.
 */
#define FHOOK_GUARD_TASK	1

/*
 * Offsets in struct fhook_frame of the members that trampolines write; frame.c
 * checks them. The size and the bits of declined exits are written by one store.
 */
#define FHOOK_FRAME_RET		0
#define FHOOK_FRAME_KEY		8
#define FHOOK_FRAME_FUNC	16
#define FHOOK_FRAME_EXITS	24
#define FHOOK_FRAME_SIZE	32
#define FHOOK_FRAME_DECLINED	36

#ifdef __ASSEMBLER__

.macro piece name
	.set	.L\name, .
.endm

.macro piece_end name
	.set	.L\name\()_end, .
.endm

.macro piece_entry name
	.2byte	.L\name - fhook_caller
	.2byte	.L\name\()_end - .L\name
.endm

#else /* !__ASSEMBLER__ */

#include <linux/types.h>

/* Offset from fhook_caller, and length, both in bytes. */
struct fhook_piece {
	u16	offset;
	u16	len;
};

extern const struct fhook_piece fhook_pieces[];
void fhook_caller(void);

/* The return address of a function with a hooked exit, set by fhook_caller. */
void fhook_return(void);
void fhook_regs_return(void);

#endif /* __ASSEMBLER__ */

#endif /* _ASM_GENERIC_FHOOK_PIECES_H */
