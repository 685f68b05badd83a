/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What fhook's trampoline templates and the code that copies them agree on, on
 * x86_64.
 */
#ifndef _ASM_X86_FHOOK_PIECES_H
#define _ASM_X86_FHOOK_PIECES_H

#include <asm-generic/fhook_pieces.h>

#define FHOOK_CONTEXT_MASK	(FHOOK_SOFTIRQ_OFFSET | FHOOK_HARDIRQ_MASK | \
				 FHOOK_NMI_MASK)

#ifndef __ASSEMBLY__

/* In the order of the table at the end of fhook_64.S. */
enum fhook_piece_id {
	PIECE_SAVE,
	PIECE_GATE,
	PIECE_REDIRECT,
	PIECE_REGS_REDIRECT,
	PIECE_PREEMPT_IN,
	PIECE_GUARD_IN,
	PIECE_GUARD_TRY,
	PIECE_GUARD_TAKE,
	PIECE_FUNC_FIRST,
	PIECE_FUNC_KEEP,
	PIECE_FUNC_AGAIN,
	PIECE_FRAME_NEW,
	PIECE_FRAME_KEEP,
	PIECE_FRAME_TEST,
	PIECE_ARGS,
	PIECE_DATA,
	PIECE_COUNT_NEAR,
	PIECE_COUNT_FAR,
	PIECE_DECLINE_TEST,
	PIECE_DECLINE,
	PIECE_FRAME_ENTER,
	PIECE_GUARD_OUT,
	PIECE_PREEMPT_OUT,
	PIECE_RESTORE,
	PIECE_CONTEXT,
	PIECE_REGS_SAVE,
	PIECE_REGS_RESTORE,
	PIECE_MAX
};

void fhook_regs_caller(void);

#endif /* __ASSEMBLY__ */

#endif /* _ASM_X86_FHOOK_PIECES_H */
