// SPDX-License-Identifier: GPL-2.0
/*
 * Which functions uhook copies into programs, on arm64
 *
 * This is a check of what a compiler made, for mistakes: calls of what is not
 * there, data elsewhere, code of another place. Who may offer code may do worse.
 * Each word is taken for an instruction, and nothing is done about what it
 * computes.
 *
 * What the relocator moves may be in a function, and so may what is bound to its
 * place but moves with it: exclusives, for the processors that have no other atomic
 * instructions, branches, addresses and literals within the function. But for ADRP:
 * what it gives depends on where a page begins.
 *
 * No lock, no state, and no process: the host's tests run this file as it is.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/uhook_gate.h>
#include <linux/uhook_relocate.h>
#include <linux/unaligned.h>
#include <asm/insn.h>

/* No function is longer, in bytes: a handler has something small to do. */
#define FUNCTION_MAX	4096

/* Returns by the link register, the only ones that a call expects. */
#define RET_X30		0xd65f03c0

/* Is it a load, or a prefetch, of what is beside the code? One code is none yet. */
static bool is_literal(u32 insn)
{
	return (insn & 0x3b000000) == 0x18000000 && (insn & 0xc4000000) != 0xc4000000;
}

/* How many bytes a literal has: those of vectors are twice as long. */
static long literal_size(u32 insn)
{
	const unsigned int opc = insn >> 30;

	if (insn & BIT(26))
		return 4 << opc;
	return opc == 1 ? 8 : 4;
}

/* An immediate of @bits bits at @shift, which counts instructions, in bytes. */
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

/* Are @size bytes, so far from the instruction at @at, part of the code? */
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
	/* To where it is: never too far. */
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
