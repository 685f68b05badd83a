/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code that uhook puts into a program
 *
 * A site with handlers in user mode leads to a body: the code of each handler, then the
 * relocated instruction, then a jump to the next instruction. The task gets to the body
 * by a breakpoint, or by a jump over the site's own bytes. On x86_64 a jump is longer
 * than most instructions: the bytes that follow the instruction form the rest of its
 * displacement, and the address that results has a hop, a jump to the body.
 *
 * The generators of the architectures are built into the kernel and into the host tests:
 * they take bytes and addresses and return bytes, take no lock, and do not depend on a
 * process.
 *
 * This is the trampoline of US9336001: registers saved, the user's handler, registers
 * restored, original instruction, jump to the next one.
 */
#ifndef _LINUX_UHOOK_CODE_H
#define _LINUX_UHOOK_CODE_H

#include <linux/types.h>
#include <linux/uhook_relocate.h>

/* The number of consecutive pages over which the counters of a body are spread. */
#define UHOOK_LANES		16

/* The length of a stub, and of the jump to it, in bytes. */
#define UHOOK_STUB_SIZE		16

/**
 * struct uhook_jump - a jump over a site, and the original bytes
 * @len: length of @bytes and of @before
 * @bytes: code of the jump
 * @before: bytes of the program, without a breakpoint
 */
struct uhook_jump {
	u8 len;
	u8 bytes[UHOOK_JUMP_MAX];
	u8 before[UHOOK_JUMP_MAX];
};

/**
 * struct uhook_targets - possible targets of a jump over a site
 * @first: lowest address
 * @last: highest address
 * @forced: the bytes after the instruction are part of the jump: they must not change as
 *	long as the jump exists
 */
struct uhook_targets {
	unsigned long first;
	unsigned long last;
	bool forced;
};

/**
 * uhook_relocate_branch - relocate an instruction, including branches
 * @insn: bytes of the instruction in the program, without a breakpoint
 * @size: number of readable bytes at @insn
 * @from: address of the instruction in the program
 * @to: address at which the result will run
 * @copy: receives the relocated code, and the jump to the next instruction
 *
 * Instructions that uhook_relocate() accepts have the same result here. In addition,
 * instructions that only depend on their address are rewritten, without changing
 * registers other than those that they write. While a task is in the first
 * @copy->copy_len bytes, the program's instruction can still be run in its place, with
 * the same result; after them it has run.
 *
 * Context: any.
 * Return: as uhook_relocate().
 */
int uhook_relocate_branch(const void *insn, size_t size, unsigned long from, unsigned long to,
			  struct uhook_copy *copy);

/**
 * uhook_jump_targets - find the possible targets of a jump over an instruction
 * @site: address of the instruction in the program
 * @text: UHOOK_JUMP_MAX bytes of the program at @site, without a breakpoint
 * @insn_len: length of the instruction in bytes
 * @targets: receives the range of targets
 *
 * Context: any.
 * Return: 0; -ERANGE if no address of a program can be reached.
 */
int uhook_jump_targets(unsigned long site, const u8 *text, u8 insn_len,
		       struct uhook_targets *targets);

/**
 * uhook_make_jump - make a jump over an instruction
 * @site: address of the instruction in the program
 * @text: as for uhook_jump_targets()
 * @insn_len: length of the instruction in bytes
 * @target: one of the possible targets
 * @jump: receives the jump
 *
 * Context: any.
 * Return: 0 or -ERANGE.
 */
int uhook_make_jump(unsigned long site, const u8 *text, u8 insn_len, unsigned long target,
		    struct uhook_jump *jump);

/**
 * uhook_make_hop - make a jump that may be anywhere
 * @at: address at which it will run
 * @target: target of the jump
 * @bytes: receives UHOOK_JUMP_MAX bytes
 *
 * Context: any.
 * Return: 0 or -ERANGE.
 */
int uhook_make_hop(unsigned long at, unsigned long target, u8 *bytes);

/**
 * uhook_count_code - make the handler that counts
 * @code: receives the code
 * @size: size of @code in bytes
 * @at: address at which it will run
 * @cell: address of its 64-bit counter in the first lane; it is at the same offset in
 *	each lane. Lanes are UHOOK_LANE_SIZE apart, and the first lane is at a multiple of
 *	the size of all lanes
 *
 * The code atomically increments the counter in one of the lanes, which the stack pointer
 * selects, so that threads rarely share one. It does not change registers, flags, or the
 * memory that the stack pointer protects, and continues after its end.
 *
 * Context: any.
 * Return: length of the code in bytes; -ERANGE if the counter is out of reach, -ENOSPC if
 * the code is longer than @size.
 */
int uhook_count_code(u8 *code, size_t size, unsigned long at, unsigned long cell);

/**
 * uhook_stub_code - make a stub, or the jump to one
 * @code: receives UHOOK_STUB_SIZE bytes, at a multiple of 8 bytes; the second half is the
 *	target's address
 * @insn: the program's instruction at the site
 * @target: target of the jump
 *
 * On x86_64 only the instruction pointer changes. On arm64 IP0 changes, or IP1 if @insn
 * needs IP0: they are free where functions are entered and left.
 *
 * Context: any.
 * Return: 0; -EOPNOTSUPP if @insn needs both.
 */
int uhook_stub_code(u8 *code, const void *insn, unsigned long target);

/**
 * uhook_is_atomic - check whether a site is inside an exclusive sequence
 * @before: bytes of the program before the site, without breakpoints
 * @len: number of bytes: UHOOK_BYTES_BEFORE are enough
 *
 * On arm64, between an exclusive load and the exclusive store, code that the site leads
 * to must not store to memory. An architecture without such sequences sets
 * UHOOK_BYTES_BEFORE to 0 and has no such function.
 *
 * Context: any.
 * Return: whether the site is after an exclusive load without its store.
 */
bool uhook_is_atomic(const void *before, unsigned int len);

#endif /* _LINUX_UHOOK_CODE_H */
