/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: reasons why a site has no slot, no body or no jump; show.c has the sentences.
 */
#ifndef _KERNEL_UHOOK_VERDICT_H
#define _KERNEL_UHOOK_VERDICT_H

#include <linux/errno.h>
#include <linux/types.h>

/**
 * enum uhook_verdict - why a site has no slot or body
 * @UHOOK_GRANTED: the site has one, or nothing has prevented it so far
 * @UHOOK_UNDECIDED: the instruction has been emulated so far, or is being hit for the
 *	first time
 * @UHOOK_BY_TASK: the site may have a slot, but the task that hit it cannot continue
 *	there: it is being single-stepped, or runs 32-bit code
 * @UHOOK_IN_PLACE: the instruction can only run in place
 * @UHOOK_NO_GAP: no free range within reach for a mapping
 * @UHOOK_FULL: the process has the maximum number of slots
 * @UHOOK_NO_MEMORY: out of memory; retried at the next hit
 * @UHOOK_IN_RSEQ: the site is in a restartable sequence, which a task must not leave
 * @UHOOK_NO_CLOCK: the task that hit it may not read the clock; retried
 * @UHOOK_NO_HOOK: no hook needs a body
 * @UHOOK_TOO_LONG: the handlers do not fit in a body
 * @UHOOK_NO_FUNCTION: the process has not mapped the file of a handler; retried
 * @UHOOK_NO_LANDING: a handler may not be called, as it has no landing pad; retried
 * @UHOOK_NO_CALLS: the processor lacks what calls of handlers need
 * @UHOOK_NO_VECTORS: a handler may use vector registers that a gate cannot save
 * @UHOOK_NO_STUB: the address of its stub is in use; retried
 * @UHOOK_STUBS_FULL: the process has the maximum number of stub blocks
 * @UHOOK_STUB_REGISTER: the stub would clobber a register that the instruction needs
 * @UHOOK_VERDICTS: number of verdicts
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
	UHOOK_NO_LANDING,
	UHOOK_NO_CALLS,
	UHOOK_NO_VECTORS,
	UHOOK_NO_STUB,
	UHOOK_STUBS_FULL,
	UHOOK_STUB_REGISTER,
	UHOOK_VERDICTS
};

/**
 * enum uhook_jump_blocker - why a site with a body has no jump to it
 * @UHOOK_NO_BLOCKER: the site has a jump, or had one when last checked
 * @UHOOK_BLOCKER_KERNEL: a consumer needs to be called in the kernel
 * @UHOOK_BLOCKER_NEIGHBOUR: another probe is on the bytes that the jump would replace
 * @UHOOK_BLOCKER_PAGE: the jump would cross a page boundary
 * @UHOOK_BLOCKER_WRITABLE: the program can write to its text
 * @UHOOK_BLOCKER_TRACED: a debugger is attached
 * @UHOOK_BLOCKER_ATOMIC: the site is in a sequence of instructions that must not be
 *	interrupted
 * @UHOOK_BLOCKER_LANDING: the instruction is a landing pad for indirect branches
 * @UHOOK_BLOCKER_TAKEN: all addresses that the jump can reach are in use
 * @UHOOK_BLOCKER_FULL: the process has the maximum number of hop pages
 * @UHOOK_BLOCKER_SHARED: the page for the hop is shared with a child or parent
 * @UHOOK_BLOCKER_CLOCK: a thread may not read the clock
 * @UHOOK_BLOCKER_RSEQ: the thread that hit the site has no restartable sequences, but another
 *	thread has
 * @UHOOK_BLOCKER_ERROR: the text could not be written
 * @UHOOK_BLOCKERS: number of reasons
 */
enum uhook_jump_blocker {
	UHOOK_NO_BLOCKER,
	UHOOK_BLOCKER_KERNEL,
	UHOOK_BLOCKER_NEIGHBOUR,
	UHOOK_BLOCKER_PAGE,
	UHOOK_BLOCKER_WRITABLE,
	UHOOK_BLOCKER_TRACED,
	UHOOK_BLOCKER_ATOMIC,
	UHOOK_BLOCKER_LANDING,
	UHOOK_BLOCKER_TAKEN,
	UHOOK_BLOCKER_FULL,
	UHOOK_BLOCKER_SHARED,
	UHOOK_BLOCKER_CLOCK,
	UHOOK_BLOCKER_RSEQ,
	UHOOK_BLOCKER_ERROR,
	UHOOK_BLOCKERS
};

/**
 * uhook_code_verdict - verdict for an error of the code generators
 * @err: error of a code generator, or 0
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

/* Whether a later attempt may succeed. */
static inline bool uhook_may_try(enum uhook_verdict verdict)
{
	return verdict == UHOOK_UNDECIDED || verdict == UHOOK_BY_TASK ||
	       verdict == UHOOK_NO_MEMORY || verdict == UHOOK_NO_CLOCK ||
	       verdict == UHOOK_NO_FUNCTION || verdict == UHOOK_NO_LANDING ||
	       verdict == UHOOK_NO_STUB;
}

#endif /* _KERNEL_UHOOK_VERDICT_H */
