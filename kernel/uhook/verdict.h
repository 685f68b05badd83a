/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: why there is no slot, no body or no jump; show.c has the sentences.
 */
#ifndef _KERNEL_UHOOK_VERDICT_H
#define _KERNEL_UHOOK_VERDICT_H

#include <linux/errno.h>
#include <linux/types.h>

/**
 * enum uhook_verdict - why a site has no slot or body
 * @UHOOK_GRANTED: it has one, or nothing has been in its way so far
 * @UHOOK_UNDECIDED: it was emulated so far, or is being hit for the first time
 * @UHOOK_BY_TASK: it could have a slot, but the task that hit it could not go on
 *	there: it is single-stepped, or runs 32-bit code
 * @UHOOK_IN_PLACE: the instruction can only run in its place
 * @UHOOK_NO_GAP: there is no room for a mapping within reach
 * @UHOOK_FULL: the process has as many slots as it may
 * @UHOOK_NO_MEMORY: there was no memory; tried again at the next hit
 * @UHOOK_IN_RSEQ: it is in a restartable sequence, which must not be left
 * @UHOOK_NO_CLOCK: the task that hit it may not read the clock; tried again
 * @UHOOK_NO_HOOK: nobody wants one
 * @UHOOK_TOO_LONG: there are more handlers than there is room for
 * @UHOOK_NO_FUNCTION: the process has not mapped the file of a handler; tried again
 * @UHOOK_NO_VECTORS: a handler may use registers that cannot be kept
 * @UHOOK_NO_STUB: something else is where its stub is to be; tried again
 * @UHOOK_STUBS_FULL: the process has as many blocks of stubs as it may
 * @UHOOK_STUB_REGISTER: a stub would change a register that the instruction needs
 * @UHOOK_VERDICTS: how many there are
 */
enum uhook_verdict {
	UHOOK_GRANTED,
	UHOOK_UNDECIDED,
	UHOOK_BY_TASK,
	UHOOK_IN_PLACE,
	UHOOK_NO_GAP,
	UHOOK_FULL,
	UHOOK_NO_MEMORY,
	UHOOK_IN_RSEQ,
	UHOOK_NO_CLOCK,
	UHOOK_NO_HOOK,
	UHOOK_TOO_LONG,
	UHOOK_NO_FUNCTION,
	UHOOK_NO_VECTORS,
	UHOOK_NO_STUB,
	UHOOK_STUBS_FULL,
	UHOOK_STUB_REGISTER,
	UHOOK_VERDICTS
};

/**
 * enum uhook_bar - why a site that has a body has no jump to it
 * @UHOOK_NO_BAR: it has one, or had one when it was last looked at
 * @UHOOK_BAR_KERNEL: somebody wants to be called in the kernel
 * @UHOOK_BAR_NEIGHBOUR: a probe is on the bytes that the jump would need
 * @UHOOK_BAR_PAGE: the jump would cross the end of a page
 * @UHOOK_BAR_WRITABLE: the program can write to its text
 * @UHOOK_BAR_TRACED: a debugger is attached
 * @UHOOK_BAR_ATOMIC: it is between instructions that must not be interrupted
 * @UHOOK_BAR_LANDING: indirect branches may only lead to instructions like it
 * @UHOOK_BAR_TAKEN: something is where a jump could lead to
 * @UHOOK_BAR_FULL: the process has as many pages for hops as it may have
 * @UHOOK_BAR_SHARED: where the hop should be is shared with a child or parent
 * @UHOOK_BAR_CLOCK: a thread may not read the clock
 * @UHOOK_BAR_RSEQ: it was hit by a thread that has no restartable sequences, and
 *	another one has
 * @UHOOK_BAR_ERROR: the text could not be written
 * @UHOOK_BARS: how many there are
 */
enum uhook_bar {
	UHOOK_NO_BAR,
	UHOOK_BAR_KERNEL,
	UHOOK_BAR_NEIGHBOUR,
	UHOOK_BAR_PAGE,
	UHOOK_BAR_WRITABLE,
	UHOOK_BAR_TRACED,
	UHOOK_BAR_ATOMIC,
	UHOOK_BAR_LANDING,
	UHOOK_BAR_TAKEN,
	UHOOK_BAR_FULL,
	UHOOK_BAR_SHARED,
	UHOOK_BAR_CLOCK,
	UHOOK_BAR_RSEQ,
	UHOOK_BAR_ERROR,
	UHOOK_BARS
};

/**
 * uhook_code_verdict - what it means that code could not be generated
 * @err: the error of a function of <linux/uhook_code.h> or one of its kin, or 0
 *
 * Return: the verdict.
 */
static inline enum uhook_verdict uhook_code_verdict(int err)
{
	switch (err) {
	case 0:
		return UHOOK_GRANTED;
	case -ERANGE:
		return UHOOK_NO_GAP;
	case -ENOSPC:
		return UHOOK_TOO_LONG;
	default:
		return UHOOK_IN_PLACE;
	}
}

/* Is it worth another try? */
static inline bool uhook_may_try(enum uhook_verdict verdict)
{
	return verdict == UHOOK_UNDECIDED || verdict == UHOOK_BY_TASK ||
	       verdict == UHOOK_NO_MEMORY || verdict == UHOOK_NO_CLOCK ||
	       verdict == UHOOK_NO_FUNCTION || verdict == UHOOK_NO_STUB;
}

#endif /* _KERNEL_UHOOK_VERDICT_H */
