/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of the relocators of uhook, on the host
 *
 * The relocators are built into an ordinary program, one for each architecture
 * and each for the machine that runs the test.  What they make of real code and
 * of random bytes is compared with what capstone, which shares nothing with
 * them, reads there.
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
 * @name: what it is, or NULL behind the last
 * @bytes: the instruction
 * @size: how long it is, in bytes
 * @ret: what uhook_relocate() must return for a slot near it
 */
struct relocate_case {
	const char *name;
	const char *bytes;
	size_t size;
	int ret;
};

/**
 * struct relocate_arch - what relocate.c asks of an architecture
 * @name: what it is called in the output
 * @machine: the e_machine of its files
 * @arch: how to open capstone for it
 * @mode: likewise
 * @step: how far apart instructions begin at least, in bytes: where capstone
 *	sees none, the sweep goes on that much later
 * @reach: how far the jump of a slot goes about, in bytes; @reaches says it
 *	exactly
 * @share: how many of a hundred instructions that capstone sees no reason against
 *	the relocator must accept at least, in each file
 * @immovable: why an instruction cannot run elsewhere as a copy (a word such as
 *	"branch"), or NULL when capstone sees no reason.  What the relocator
 *	accepts must have none.
 * @reaches: whether the copy of @insn at @to can do its work and jump back: the
 *	jump's distance, and that of what the instruction addresses.  Near
 *	@insn this must be true.
 * @differs: what is wrong with a copy, or NULL.  Disassembles copy and jump and
 *	looks at the lengths, the mnemonic, the operands (equal, but for a
 *	displacement that must lead to the same address) and that the jump goes
 *	to the instruction behind the original.
 * @misread: whether capstone itself is known to be wrong about an instruction,
 *	each case with its reason; what it says is not compared then
 * @make: random bytes, at least INSN_MAX, that are likelier than pure chance to
 *	be instructions of the unusual kinds; @next gives 64 random bits
 *
 * @cases: what ordinary code and chance do not come to, or what capstone does
 *	not know; may be NULL
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
	void (*make)(u8 *bytes, u64 (*next)(void));
};

/* Each relocate_ARCH.c has one. */
extern const struct relocate_arch relocate_arch;

/**
 * struct code - a piece of code of a file, as a rule one function
 * @bytes: the code
 * @size: of the piece, in bytes
 * @readable: how many bytes there are from @bytes to the end of the section
 * @address: where it is linked to run, without CODE_BASE
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

#endif /* SELFTESTS_HOST_RELOCATE_H */
