/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between fhook's trampoline templates and the code that copies
 * them, on arm64.
 */
#ifndef _ASM_ARM64_FHOOK_PIECES_H
#define _ASM_ARM64_FHOOK_PIECES_H

#include <asm-generic/fhook_pieces.h>

/*
 * A single test that is negative for nearly every task, and only for tasks. The masks
 * are those of <linux/preempt.h>, by way of asm-offsets.c.
 */
#define FHOOK_CONTEXT_MASK	(FHOOK_SOFTIRQ_MASK | FHOOK_HARDIRQ_MASK | FHOOK_NMI_MASK)

#define FHOOK_GUARD_HARDIRQ	4
#define FHOOK_GUARD_NMI		8

#ifndef __ASSEMBLER__

/* In the order of the table at the end of fhook_64.S. */
enum fhook_piece_id {
	PIECE_SAVE,
	PIECE_GATE,
	PIECE_REDIRECT,
	PIECE_REGS_REDIRECT,
	PIECE_JUMP,
	PIECE_PREEMPT_IN,
	PIECE_GUARD_IN,
	PIECE_GUARD_TRY,
	PIECE_GUARD_TAKE,
	PIECE_ARGS,
	PIECE_ARGS_KEEP,
	PIECE_ARGS_AGAIN,
	PIECE_FRAME_STACK,
	PIECE_FRAME_TAKE,
	PIECE_FRAME_FILL,
	PIECE_FRAME_NONE,
	PIECE_FRAME_TEST,
	PIECE_DATA,
	PIECE_COUNT_MISSED,
	PIECE_COUNT,
	PIECE_COUNT_LSE,
	PIECE_DECLINE_LOAD,
	PIECE_DECLINE_STORE,
	PIECE_FRAME_ALL,
	PIECE_FRAME_ENTER,
	PIECE_FRAME_STUB,
	PIECE_FRAME_POP,
	PIECE_GUARD_OUT,
	PIECE_PREEMPT_OUT,
	PIECE_PREEMPT_AGAIN,
	PIECE_RESTORE,
	PIECE_CONTEXT,
	PIECE_REGS_SAVE,
	PIECE_REGS_PMR,
	PIECE_REGS_RESTORE,
	PIECE_MAX
};

#endif /* __ASSEMBLER__ */

#endif /* _ASM_ARM64_FHOOK_PIECES_H */
