// SPDX-License-Identifier: GPL-2.0
/*
 * Moving one instruction of a program elsewhere, on arm64
 *
 * The copy is the instruction itself, and a B leads to the one behind the
 * original.  So an instruction fits when it neither reads nor writes the
 * program counter and does not depend on its neighbours.
 *
 * What mainline's uprobes simulate or refuse is refused here, in mainline's own
 * words, the helpers of asm/insn.h.  What they step has to pass two more tests,
 * because they take whatever they do not know: branches and system instructions
 * must be of a kind that is known to be harmless, and the others must not be
 * listed as bound to their place.  A new extension adds branches and system
 * instructions at any time; elsewhere, one that reads the program counter is
 * rare enough to be listed.
 *
 * No lock, no state, and no process: the host's tests run this file as it is.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uhook_relocate.h>
#include <linux/unaligned.h>
#include <asm/insn.h>

/* MRS of DAIF, without the register that it goes to. */
#define MRS_DAIF	(0xd5300000 | AARCH64_INSN_SPCLREG_DAIF << 5)

/* Encodings that asm/insn.h has no helper for. */
struct encoding {
	u32 mask;
	u32 value;
};

/*
 * What is bound to its place, or not known well enough, though mainline's
 * uprobes step it.
 */
static const struct encoding bound[] = {
	/*
	 * No instruction yet, or UDF, whose only work is its exception: that
	 * can as well come from the original.
	 */
	{ 0x9e000000, 0x00000000 },
	{ 0x1a000000, 0x02000000 },
	/* Loads of literals, also those into vector registers. */
	{ 0x3b000000, 0x18000000 },
	/* Exclusives without privileges (LSUI). */
	{ 0x3f000000, 0x09000000 },
	/* MOVPRFX is one with the instruction behind it. */
	{ 0xff3ee000, 0x04102000 },
	{ 0xfffffc00, 0x0420bc00 },
	/* The program counter goes into the signature (PAuth_LR). */
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

/* Is it cache maintenance that programs may do, DC ZVA above all? */
static bool is_cache_op(u32 insn)
{
	return (insn & 0xfffff000) == 0xd50b7000;
}

/*
 * Of the branches and system instructions, those that may run elsewhere.  The
 * pointer authentication among the hints signs with the link register and the
 * stack pointer; a BTI works as a NOP where nothing branches to it.
 */
static bool is_harmless(u32 insn)
{
	if (aarch64_insn_is_hint(insn))
		return aarch64_insn_is_steppable_hint(insn);
	if (aarch64_insn_is_mrs(insn))
		return (insn & ~0x1f) != MRS_DAIF;
	/* CLREX ends what an exclusive began: it stays with it. */
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
	/* Jump and target are each one instruction further than these. */
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
