/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of the relocators of uhook, on the host
 *
 * The relocators are built into an ordinary program, one for each architecture,
 * for the machine that runs the test. Their results for real code and for random
 * bytes are compared with those of capstone, which shares no code with them.
 */
#ifndef SELFTESTS_HOST_RELOCATE_H
#define SELFTESTS_HOST_RELOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <capstone/capstone.h>
#include <linux/uhook_relocate.h>
#include "random.h"

/* Where the tests say that the code of a file lies: room on all sides. */
#define CODE_BASE 0x555500000000UL

/* No instruction is longer, in bytes. */
#define INSN_MAX 16

/**
 * struct relocate_case - an instruction that must or must not be moved
 * @name: description of the instruction, or NULL at the end
 * @bytes: the instruction
 * @size: size of the instruction, in bytes
 * @ret: expected result of uhook_relocate() for a slot near it
 */
struct relocate_case {
	const char *name;
	const char *bytes;
	size_t size;
	int ret;
};

/**
 * struct relocate_arch - the part of relocate.c that depends on the architecture
 * @name: name of the architecture in the output
 * @machine: value of e_machine in its files
 * @arch: architecture for capstone
 * @mode: mode for capstone
 * @step: minimum distance between instructions, in bytes: where capstone finds
 *	none, decoding continues at this distance
 * @reach: approximate reach of a slot's jump, in bytes; @reaches is exact
 * @share: minimum percentage of the instructions considered movable by capstone
 *	that the relocator must accept, in each file
 * @immovable: returns why an instruction cannot run elsewhere as a copy (a word
 *	such as "branch"), or NULL if capstone has no reason. Instructions that
 *	the relocator accepts must have none.
 * @reaches: checks whether the copy of @insn at @to can do its work and jump
 *	back: the distance of the jump, and that of the data that the instruction
 *	addresses. Near @insn this must be true.
 * @differs: returns the error in a copy, or NULL. Disassembles copy and jump and
 *	checks the lengths, the mnemonic, the operands (equal, except for a
 *	displacement that must lead to the same address) and that the jump leads
 *	to the instruction after the original.
 * @misread: checks whether capstone is known to be wrong about an instruction,
 *	each case with its reason; it is not compared then
 * @make: makes random bytes, at least INSN_MAX, that are more likely than pure
 *	chance to be instructions of the unusual kinds
 *
 * @cases: instructions that do not occur in ordinary code or by chance, or that
 *	capstone does not know; may be NULL
 *
 * Addresses are those of the program: @insn->address is that of the original.
 */
struct relocate_arch {
	const char *name;
	unsigned int machine;
	cs_arch arch;
	cs_mode mode;
	unsigned int step;
	unsigned long reach;
	unsigned int share;
	const struct relocate_case *cases;

	const char *(*immovable)(csh capstone, const cs_insn *insn);
	bool (*reaches)(const cs_insn *insn, unsigned long to);
	const char *(*differs)(csh capstone, const cs_insn *insn,
			       const struct uhook_copy *copy, unsigned long to);
	bool (*misread)(const u8 *bytes, const cs_insn *insn);
	void (*make)(u8 *bytes);
};

/* Each relocate_ARCH.c has one. */
extern const struct relocate_arch relocate_arch;

/**
 * struct code - a piece of code of a file, usually one function
 * @bytes: the code
 * @size: size of the piece, in bytes
 * @readable: number of bytes from @bytes to the end of the section
 * @address: address at which it is linked to run, without CODE_BASE
 */
struct code {
	const u8 *bytes;
	size_t size;
	size_t readable;
	unsigned long address;
};

/*
 * All executable sections of an ELF file, or NULL when that cannot be read or is
 * for another machine.  The file stays mapped.
 */
struct code *read_code(const char *path, unsigned int machine, size_t *count);

/* Open capstone with details, or end the test. */
csh open_capstone(cs_arch arch, cs_mode mode);

#endif /* SELFTESTS_HOST_RELOCATE_H */
