/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moving one instruction of a program elsewhere
 *
 * A slot holds exactly one copied instruction and one direct jump to the
 * instruction behind the original: no scratch register, no second
 * instruction, so that an address in a slot means either "the copy has not
 * run" or "it has".  Whatever does not fit this form is refused, and so is
 * whatever cannot be proved to fit it.
 *
 * The relocators of the architectures, uhook_relocate.c in arch, are built
 * into the kernel and into the host's tests: they take bytes and addresses and
 * give bytes, hold no lock, and know no process.
 */
#ifndef _LINUX_UHOOK_RELOCATE_H
#define _LINUX_UHOOK_RELOCATE_H

#include <linux/types.h>
#include <asm/uhook.h>

/**
 * struct uhook_copy - what a slot holds
 * @bytes: the copied instruction and the jump, to be written at the address
 *	that it was made for
 * @insn_len: the length of the original instruction, in bytes
 * @copy_len: that of its copy, where the jump begins
 * @len: that of both
 */
struct uhook_copy {
	u8 bytes[UHOOK_COPY_MAX];
	u8 insn_len;
	u8 copy_len;
	u8 len;
};

/**
 * uhook_relocate - make an instruction run elsewhere
 * @insn: its bytes, as the program has them, without a breakpoint
 * @size: how many may be read there, in bytes
 * @from: the program's address of it
 * @to: where the copy is to run
 * @copy: receives copy and jump
 *
 * This is the second half of the trampoline of US9336001, the copy of the
 * original instruction and the jump to the next one; mainline's counterpart is
 * the boost of kprobes, which jumps back likewise.
 *
 * Context: any.
 * Return: 0; -EOPNOTSUPP for an instruction that can only run in its place, or
 * of which that is not known; -ERANGE when only @to is too far away.
 */
int uhook_relocate(const void *insn, size_t size, unsigned long from, unsigned long to,
		   struct uhook_copy *copy);

#endif /* _LINUX_UHOOK_RELOCATE_H */
