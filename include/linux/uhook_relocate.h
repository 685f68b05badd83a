/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moving one instruction of a program elsewhere
 *
 * A slot holds exactly one copied instruction and one direct jump to the
 * instruction after the original: no scratch register, no second instruction,
 * so that an address in a slot means either "the copy has not run" or "it has".
 * Instructions that do not fit this form, or cannot be proved to fit it, are
 * refused.
 *
 * The relocators of the architectures, uhook_relocate.c in arch, are built into
 * the kernel and into the host tests: they take bytes and addresses and return
 * bytes, take no lock, and do not depend on a process.
 */
#ifndef _LINUX_UHOOK_RELOCATE_H
#define _LINUX_UHOOK_RELOCATE_H

#include <linux/types.h>
#include <asm/uhook.h>

/**
 * struct uhook_copy - contents of a slot
 * @bytes: copied instruction and jump, for the address for which they were made
 * @insn_len: length of the original instruction, in bytes
 * @copy_len: length of its copy, in bytes; the jump follows
 * @len: total length, in bytes
 */
struct uhook_copy {
	u8 bytes[UHOOK_COPY_MAX];
	u8 insn_len;
	u8 copy_len;
	u8 len;
};

/**
 * uhook_relocate - relocate an instruction
 * @insn: bytes of the instruction in the program, without a breakpoint
 * @size: number of readable bytes at @insn
 * @from: address of the instruction in the program
 * @to: address at which the copy will run
 * @copy: receives the copy and the jump
 *
 * This is the second half of the trampoline of US9336001, the copy of the
 * original instruction and the jump to the next one; the mainline counterpart
 * is the boost of kprobes, which also jumps back.
 *
 * Context: any.
 * Return: 0; -EOPNOTSUPP for an instruction that can, or may, only run in its
 * place; -ERANGE if only @to is too far away.
 */
int uhook_relocate(const void *insn, size_t size, unsigned long from, unsigned long to,
		   struct uhook_copy *copy);

#endif /* _LINUX_UHOOK_RELOCATE_H */
