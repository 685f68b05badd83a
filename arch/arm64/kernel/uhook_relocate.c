// SPDX-License-Identifier: GPL-2.0
/*
 * Relocating one instruction of a program, on arm64
 *
 * The copy is the unchanged instruction, followed by a B to the instruction after the
 * original. So an instruction can be moved if it neither reads nor writes the program
 * counter, and does not depend on its neighbours.
 *
 * Instructions that mainline's uprobes simulate or refuse are refused here, with the same
 * helpers from asm/insn.h. Instructions that uprobes step have to pass two more tests,
 * because uprobes also accept unknown ones: branches and system instructions must be of a
 * kind that is known to be harmless, and others must not be listed as bound to their
 * place. New extensions often add branches and system instructions; other instructions
 * that read the program counter are rare enough to be listed.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uhook_relocate.h>
#include <linux/unaligned.h>
#include <asm/insn.h>

/* MRS of DAIF, without the destination register. */
#define MRS_DAIF	(0xd5300000 | AARCH64_INSN_SPCLREG_DAIF << 5)

/* Encodings that asm/insn.h has no helper for. */
struct encoding {
	u32 mask;
	u32 value;
};

/* Instructions that uprobes step, but that are bound to their place or not known well enough. */
static const struct encoding bound[] = {
	/*
	 * Unallocated, or UDF, which only raises an exception: the original can do that
	 * as well.
	 */
	{ 0x9e000000, 0x00000000 },
	{ 0x1a000000, 0x02000000 },
	/* Loads of literals, also those into vector registers. */
	{ 0x3b000000, 0x18000000 },
	/* Unprivileged exclusives (LSUI). */
	{ 0x3f000000, 0x09000000 },
	/* MOVPRFX forms a pair with the next instruction. */
	{ 0xff3ee000, 0x04102000 },
	{ 0xfffffc00, 0x0420bc00 },
	/* The signature includes the program counter (PAuth_LR). */
	{ 0x7f800000, 0x73800000 },
	{ 0xffff8000, 0xdac18000 },
};

static bool is_bound(u32 insn)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bound); i++) {
		if ((insn & bound[i].mask) == bound[i].value)
			return true;
	}
	return aarch64_insn_uses_literal(insn) ||
	       aarch64_insn_is_exclusive(insn) ||
	       aarch64_insn_is_mops(insn);
}

/* Whether it is cache maintenance allowed in user space, mainly DC ZVA. */
static bool is_cache_op(u32 insn)
{
	return (insn & 0xfffff000) == 0xd50b7000;
}

/*
 * Branches and system instructions that may be moved. The hints for pointer
 * authentication sign with the link register and the stack pointer; a BTI acts as a NOP
 * if no branch leads to it.
 */
static bool is_harmless(u32 insn)
{
	if (aarch64_insn_is_hint(insn))
		return aarch64_insn_is_steppable_hint(insn);
	if (aarch64_insn_is_mrs(insn))
		return (insn & ~0x1f) != MRS_DAIF;
	/* CLREX belongs to an exclusive, and is not moved. */
	if (aarch64_insn_is_barrier(insn))
		return !aarch64_insn_is_clrex(insn);
	return is_cache_op(insn);
}

static bool can_move(u32 insn)
{
	if (aarch64_insn_is_class_branch_sys(insn))
		return is_harmless(insn);
	return !is_bound(insn);
}

int uhook_relocate(const void *insn, size_t size, unsigned long from, unsigned long to,
		   struct uhook_copy *copy)
{
	/* Both the jump and its target are one instruction after these. */
	long offset = from - to;
	u32 word;

	if (size < AARCH64_INSN_SIZE || (from | to) % AARCH64_INSN_SIZE)
		return -EOPNOTSUPP;
	word = get_unaligned_le32(insn);
	if (!can_move(word))
		return -EOPNOTSUPP;
	if (offset < -SZ_128M || offset >= SZ_128M)
		return -ERANGE;

	put_unaligned_le32(word, copy->bytes);
	put_unaligned_le32(aarch64_insn_get_b_value() | (offset / 4 & 0x03ffffff),
			   copy->bytes + AARCH64_INSN_SIZE);
	copy->insn_len = AARCH64_INSN_SIZE;
	copy->copy_len = AARCH64_INSN_SIZE;
	copy->len = 2 * AARCH64_INSN_SIZE;
	return 0;
}
