/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What fhook's trampoline templates and the code that copies them agree on.
 */
#ifndef _ASM_ARM64_FHOOK_PIECES_H
#define _ASM_ARM64_FHOOK_PIECES_H

/*
 * preempt_count as <linux/preempt.h> lays it out, which assembly cannot read;
 * fhook.c checks that they are the same.
 */
#define FHOOK_SOFTIRQ_SHIFT	8
#define FHOOK_SOFTIRQ_MASK	0x0000ff00
#define FHOOK_HARDIRQ_MASK	0x000f0000
#define FHOOK_NMI_MASK		0x00f00000

/* One test that says no for nearly every task, and for nothing else. */
#define FHOOK_CONTEXT_MASK	0x00ffff00

/* fhook_guard: a bit a context. */
#define FHOOK_GUARD_TASK	1
#define FHOOK_GUARD_SOFTIRQ	2
#define FHOOK_GUARD_HARDIRQ	4
#define FHOOK_GUARD_NMI		8

#ifndef __ASSEMBLY__

#include <linux/types.h>

/* In the order of the table at the end of fhook_64.S. */
enum fhook_piece_id {
	PIECE_SAVE,
	PIECE_PREEMPT_IN,
	PIECE_GUARD_IN,
	PIECE_GUARD_TRY,
	PIECE_GUARD_TAKE,
	PIECE_FUNC_KEEP,
	PIECE_FUNC_AGAIN,
	PIECE_ARGS,
	PIECE_COUNT_MISSED,
	PIECE_COUNT,
	PIECE_COUNT_LSE,
	PIECE_GUARD_OUT,
	PIECE_PREEMPT_OUT,
	PIECE_PREEMPT_AGAIN,
	PIECE_RESTORE,
	PIECE_CONTEXT,
	PIECE_REGS_SAVE,
	PIECE_REGS_RESTORE,
	PIECE_MAX
};

/* Offset from fhook_caller, and length, both in bytes. */
struct fhook_piece {
	u16	offset;
	u16	len;
};

extern const struct fhook_piece fhook_pieces[PIECE_MAX];
void fhook_caller(void);

#endif /* __ASSEMBLY__ */

#endif /* _ASM_ARM64_FHOOK_PIECES_H */
