/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code that uhook puts into a program
 *
 * A site of a program that has handlers in user mode leads to a body: the code
 * of each handler, then what stands for the probed instruction, then a jump
 * behind it. The site gets there by a breakpoint, or by a jump over its own
 * bytes. On x86_64 a jump is longer than most instructions: of its
 * displacement, the bytes that follow the instruction are what they are, and
 * where they lead to there is a hop, a jump to the body.
 *
 * The generators of the architectures are built into the kernel and into the
 * host's tests: they take bytes and addresses and give bytes, hold no lock, and
 * know no process.
 *
 * This is the trampoline of US9336001: registers saved, the user's handler,
 * registers restored, original instruction, jump to the next one.
 */
#ifndef _LINUX_UHOOK_CODE_H
#define _LINUX_UHOOK_CODE_H

#include <linux/types.h>
#include <linux/uhook_relocate.h>

/* The counters of a body are spread over so many pages, one behind the other. */
#define UHOOK_LANES		16

/* How long a stub is, and the jump to one, in bytes. */
#define UHOOK_STUB_SIZE		16

/**
 * struct uhook_jump - what is written over a site, and what was there
 * @len: how many bytes of both are meant
 * @bytes: the jump
 * @before: what the program has there, without a breakpoint
 */
struct uhook_jump {
	u8 len;
	u8 bytes[UHOOK_JUMP_MAX];
	u8 before[UHOOK_JUMP_MAX];
};

/**
 * struct uhook_targets - where a jump over a site may lead to
 * @first: the lowest address
 * @last: the highest one
 * @forced: whether the bytes behind the instruction are part of the jump: they
 *	must not change as long as it is there
 */
struct uhook_targets {
	unsigned long first;
	unsigned long last;
	bool forced;
};

/**
 * uhook_relocate_branch - make an instruction run elsewhere, branches too
 * @insn: its bytes, as the program has them, without a breakpoint
 * @size: how many may be read there, in bytes
 * @from: the program's address of it
 * @to: where what stands for it is to run
 * @copy: receives that, and the jump behind the original
 *
 * What uhook_relocate() takes is the same here. Besides, what only depends on its
 * address is rewritten, so that no register but those that it writes changes.
 * While a task is in the first @copy->copy_len bytes the program's instruction
 * can still be run in its place, with the same result; behind them it has run,
 * and the next one follows.
 *
 * Context: any.
 * Return: as uhook_relocate().
 */
int uhook_relocate_branch(const void *insn, size_t size, unsigned long from, unsigned long to,
			  struct uhook_copy *copy);

/**
 * uhook_jump_targets - where can a jump over an instruction lead to?
 * @site: the program's address of it
 * @text: the bytes there, without a breakpoint, UHOOK_JUMP_MAX of them
 * @insn_len: how many are the instruction's
 * @targets: receives it
 *
 * Context: any.
 * Return: 0; -ERANGE if no address of a program can be reached.
 */
int uhook_jump_targets(unsigned long site, const u8 *text, u8 insn_len,
		       struct uhook_targets *targets);

/**
 * uhook_make_jump - a jump over an instruction
 * @site: the program's address of it
 * @text: as for uhook_jump_targets()
 * @insn_len: how many are the instruction's
 * @target: one of its targets
 * @jump: receives it
 *
 * Context: any.
 * Return: 0 or -ERANGE.
 */
int uhook_make_jump(unsigned long site, const u8 *text, u8 insn_len, unsigned long target,
		    struct uhook_jump *jump);

/**
 * uhook_make_hop - a jump that stands anywhere
 * @at: where it is to run
 * @target: where to
 * @bytes: receives UHOOK_JUMP_MAX of them
 *
 * Context: any.
 * Return: 0 or -ERANGE.
 */
int uhook_make_hop(unsigned long at, unsigned long target, u8 *bytes);

/**
 * uhook_count_code - the handler that counts
 * @code: receives it
 * @size: how many bytes it may have
 * @at: where it is to run
 * @cell: the address of its counter, 64 bits, in the first lane; the same in
 *	each lane, UHOOK_LANE_SIZE apart, and the first lane is at a multiple of
 *	the size of all lanes
 *
 * The code adds one to the counter in one of the lanes, atomically, and which of
 * them depends on the stack pointer: threads rarely meet. It leaves registers,
 * flags, and everything above what the stack pointer protects as they are, and
 * goes on behind its end.
 *
 * Context: any.
 * Return: its length in bytes; -ERANGE when the counter is out of reach,
 * -ENOSPC when it is too long.
 */
int uhook_count_code(u8 *code, size_t size, unsigned long at, unsigned long cell);

/**
 * uhook_stub_code - a jump from anywhere to anywhere: a stub, and that to it
 * @code: receives it, UHOOK_STUB_SIZE bytes, at a multiple of 8 bytes; the latter half is
 *	the target's address
 * @insn: the program's instruction at the site
 * @target: where to
 *
 * On x86_64 nothing changes but where the program is. On arm64 IP0 changes, or IP1 if
 * @insn needs IP0: they are free where functions are entered and left.
 *
 * Context: any.
 * Return: 0; -EOPNOTSUPP if @insn needs both.
 */
int uhook_stub_code(u8 *code, const void *insn, unsigned long target);

/**
 * uhook_is_atomic - is a site between instructions that must stay together?
 * @before: what the program has before the site, without breakpoints
 * @len: how many bytes: some sixteen instructions are enough
 *
 * On arm64, memory that is loaded exclusively must not be stored to, by whatever
 * the site leads to, before the exclusive store has come. On x86 there is nothing
 * of the kind.
 *
 * Context: any.
 * Return: whether a load of that kind is open at the site.
 */
bool uhook_is_atomic(const void *before, unsigned int len);

#endif /* _LINUX_UHOOK_CODE_H */
