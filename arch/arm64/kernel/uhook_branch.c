// SPDX-License-Identifier: GPL-2.0
/*
 * Relocating branches and address computations of a program, on arm64
 *
 * If uhook_relocate() refuses an instruction only because its result depends on its
 * address, a short sequence may have the same result elsewhere. Each sequence obeys a
 * rule: before it has left its first copy_len bytes, it has changed only registers that
 * the original writes without reading them. So the original may be run instead at any
 * point.
 *
 * Loads of literals would need a scratch register: loads of vectors have none, and others
 * may fault on the way. They are not moved, and neither are authenticating branches.
 *
 * A branch to a register records its type in PSTATE.BTYPE. The type of a BLR is accepted
 * by landing pads for calls. Slots and bodies are not in guarded pages, and each landing
 * pad accepts the type that a BR has there.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uhook_code.h>
#include <linux/unaligned.h>
#include <asm/insn.h>
#include "uhook_code.h"

#define NOP		0xd503201f
#define LINK_REGISTER	30
#define ZERO_REGISTER	31

/* Immediate fields of conditional branches. */
#define IMM19		(0x7ffffU << 5)
#define IMM14		(0x3fffU << 5)

/* Bits that invert CBZ and CBNZ, TBZ and TBNZ, and a condition. */
#define INVERT_ZERO	BIT(24)
#define INVERT_COND	1U

/* Immediate of a branch over the next word. */
#define OVER_ONE	(2U << 5)

static unsigned int rd_of(u32 insn)
{
	return insn & 31;
}

static unsigned int rn_of(u32 insn)
{
	return insn >> 5 & 31;
}

/* Byte offset of an immediate of @bits bits at @shift, which counts instructions. */
static long branch_offset(u32 insn, unsigned int shift, unsigned int bits)
{
	return sign_extend64((u64)insn >> shift << 2, bits + 1);
}

/* Set a register with as many moves as needed. */
static int add_moves(struct uhook_words *words, unsigned int reg, unsigned long value)
{
	u32 insn = aarch64_insn_get_movz_value();
	unsigned int i;
	int ret = 0;

	for (i = 0; i < 4 && !ret; i++) {
		u32 part = value >> 16 * i & 0xffff;

		if (!part && (value || i))
			continue;
		ret = uhook_add_word(words, BIT(31) | insn | i << 21 | part << 5 | reg);
		insn = aarch64_insn_get_movk_value();
	}
	return ret;
}

static int add_value(struct uhook_words *words, unsigned int reg, unsigned long value)
{
	int ret = uhook_add_address(words, reg, value);

	return ret == -ERANGE ? add_moves(words, reg, value) : ret;
}

/* ADR and ADRP: set the register to the known result, and jump to the next instruction. */
static int move_address(u32 insn, unsigned long from, struct uhook_words *words,
			u8 *copy_len)
{
	long by = sign_extend64(insn >> 3 & 0x1ffffc, 20) | (insn >> 29 & 3);
	unsigned long value;
	int ret;

	if (aarch64_insn_is_adrp(insn))
		value = (from & -SZ_4K) + by * SZ_4K;
	else
		value = from + by;
	/* As the target of an ADD, 31 would be the stack pointer. */
	if (rd_of(insn) == ZERO_REGISTER)
		ret = uhook_add_word(words, NOP);
	else
		ret = add_value(words, rd_of(insn), value);
	*copy_len = words->len;
	return ret ?: uhook_add_jump(words, from + AARCH64_INSN_SIZE);
}

/* The opposite condition branches over a jump to the original target. */
static int move_conditional(u32 insn, u32 immediate, unsigned long target,
			    unsigned long from, struct uhook_words *words, u8 *copy_len)
{
	int ret;

	insn ^= aarch64_insn_is_bcond(insn) ? INVERT_COND : INVERT_ZERO;
	ret = uhook_add_word(words, (insn & ~immediate) | OVER_ONE);
	ret = ret ?: uhook_add_jump(words, target);
	*copy_len = words->len;
	return ret ?: uhook_add_jump(words, from + AARCH64_INSN_SIZE);
}

/* Unconditional branches, which need no jump back. */
static int move_branch(u32 insn, unsigned long from, struct uhook_words *words)
{
	int ret = 0;

	if (aarch64_insn_is_bl(insn) || aarch64_insn_is_blr(insn))
		ret = uhook_has_gcs() ? -EOPNOTSUPP :
		      add_value(words, LINK_REGISTER, from + AARCH64_INSN_SIZE);
	if (ret)
		return ret;
	if (aarch64_insn_is_b(insn) || aarch64_insn_is_bl(insn))
		return uhook_add_jump(words, from + branch_offset(insn, 0, 26));
	if (aarch64_insn_is_blr(insn))
		insn = aarch64_insn_get_br_value() | rn_of(insn) << 5;
	return uhook_add_word(words, insn);
}

static bool is_branch(u32 insn)
{
	/* A BLR of the link register would overwrite its own target. */
	if (aarch64_insn_is_blr(insn))
		return rn_of(insn) != LINK_REGISTER;
	return aarch64_insn_is_b(insn) || aarch64_insn_is_bl(insn) ||
	       aarch64_insn_is_br(insn) || aarch64_insn_is_ret(insn);
}

/* Conditions with an opposite: not "always", and not the hinted branch (BC.cond). */
static bool is_condition(u32 insn)
{
	return aarch64_insn_is_bcond(insn) && !(insn & BIT(4)) && (insn & 0xe) != 0xe;
}

static int move(u32 insn, unsigned long from, struct uhook_words *words, u8 *copy_len)
{
	int ret;

	if (aarch64_insn_is_adr_adrp(insn))
		return move_address(insn, from, words, copy_len);
	if (aarch64_insn_is_cbz(insn) || aarch64_insn_is_cbnz(insn) || is_condition(insn))
		return move_conditional(insn, IMM19, from + branch_offset(insn, 5, 19),
					from, words, copy_len);
	if (aarch64_insn_is_tbz(insn) || aarch64_insn_is_tbnz(insn))
		return move_conditional(insn, IMM14, from + branch_offset(insn, 5, 14),
					from, words, copy_len);
	if (!is_branch(insn))
		return -EOPNOTSUPP;
	ret = move_branch(insn, from, words);
	*copy_len = words->len;
	return ret;
}

int uhook_relocate_branch(const void *insn, size_t size, unsigned long from, unsigned long to,
			  struct uhook_copy *copy)
{
	struct uhook_words words = { .bytes = copy->bytes, .size = UHOOK_COPY_MAX, .at = to };
	int ret = uhook_relocate(insn, size, from, to, copy);

	if (ret != -EOPNOTSUPP || size < AARCH64_INSN_SIZE || (from | to) % AARCH64_INSN_SIZE)
		return ret;
	ret = move(get_unaligned_le32(insn), from, &words, &copy->copy_len);
	copy->insn_len = AARCH64_INSN_SIZE;
	copy->len = words.len;
	return ret;
}
