// SPDX-License-Identifier: GPL-2.0
/*
 * Checking functions that uhook copies into programs, on arm64
 *
 * This checks compiled code for mistakes: calls of functions outside of the code, data
 * elsewhere, code for another location. It is no protection against malicious code,
 * because its provider could do worse anyway. Each word is decoded as an instruction;
 * computed values are not checked.
 *
 * A function may contain the instructions that the relocator can move, and instructions
 * that depend on their place, but move together with it: exclusives, for processors
 * without other atomic instructions, and branches, addresses and literals within the
 * function. ADRP is refused, because its result depends on page boundaries.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/uhook_gate.h>
#include <linux/uhook_relocate.h>
#include <linux/unaligned.h>
#include <asm/insn.h>

/* Maximum length of a function, in bytes: handlers are small. */
#define FUNCTION_MAX	4096

/* A return by the link register, as a caller expects. */
#define RET_X30		0xd65f03c0

/* Whether it loads or prefetches a literal. One encoding is unallocated. */
static bool is_literal(u32 insn)
{
	return (insn & 0x3b000000) == 0x18000000 && (insn & 0xc4000000) != 0xc4000000;
}

/* Size of a literal, in bytes: literals for vector registers are twice as long. */
static long literal_size(u32 insn)
{
	const unsigned int opc = insn >> 30;

	if (insn & BIT(26))
		return 4 << opc;
	return opc == 1 ? 8 : 4;
}

/* Byte offset of an immediate of @bits bits at @shift, which counts instructions. */
static long offset_of(u32 insn, unsigned int shift, unsigned int bits)
{
	return sign_extend64((u64)insn >> shift << 2, bits + 1);
}

static bool is_branch(u32 insn)
{
	return aarch64_insn_is_b(insn) || aarch64_insn_is_bl(insn) ||
	       aarch64_insn_is_bcond(insn) || aarch64_insn_is_cbz(insn) ||
	       aarch64_insn_is_cbnz(insn) || aarch64_insn_is_tbz(insn) ||
	       aarch64_insn_is_tbnz(insn);
}

static long branch_offset(u32 insn)
{
	if (aarch64_insn_is_b(insn) || aarch64_insn_is_bl(insn))
		return offset_of(insn, 0, 26);
	if (aarch64_insn_is_tbz(insn) || aarch64_insn_is_tbnz(insn))
		return offset_of(insn, 5, 14);
	return offset_of(insn, 5, 19);
}

static bool is_return(u32 insn)
{
	return insn == RET_X30 || aarch64_insn_is_ret_auth(insn);
}

/* Check that @size bytes at @offset from the instruction at @at are in the code. */
static int check_inside(size_t at, size_t len, long offset, long size)
{
	const long begin = (long)at + offset;

	return begin >= 0 && begin + size <= (long)len ? 0 : -EINVAL;
}

static int check_one(const void *code, size_t at, size_t len)
{
	const u32 insn = get_unaligned_le32(code + at);
	struct uhook_copy copy;

	if (is_branch(insn))
		return check_inside(at, len, branch_offset(insn), AARCH64_INSN_SIZE);
	if (aarch64_insn_is_adr(insn))
		return check_inside(at, len, sign_extend64(insn >> 3 & 0x1ffffc, 20) |
				    (insn >> 29 & 3), 1);
	if (aarch64_insn_is_adrp(insn))
		return -EINVAL;
	if (is_literal(insn))
		return check_inside(at, len, offset_of(insn, 5, 19), literal_size(insn));
	if (is_return(insn) || aarch64_insn_is_exclusive(insn) || aarch64_insn_is_clrex(insn))
		return 0;
	/* The distance is 0, so -ERANGE is not possible. */
	return uhook_relocate(code + at, AARCH64_INSN_SIZE, 0, 0, &copy);
}

int uhook_check_code(const void *code, size_t len)
{
	u32 last;
	size_t at;

	if (!len || len > FUNCTION_MAX || len % AARCH64_INSN_SIZE)
		return -EINVAL;
	for (at = 0; at < len; at += AARCH64_INSN_SIZE) {
		const int ret = check_one(code, at, len);

		if (ret)
			return ret;
	}
	last = get_unaligned_le32(code + len - AARCH64_INSN_SIZE);
	return is_return(last) || aarch64_insn_is_b(last) ? 0 : -EINVAL;
}
