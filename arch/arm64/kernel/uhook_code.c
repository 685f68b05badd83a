// SPDX-License-Identifier: GPL-2.0
/*
 * Jumps, counters and stubs of uhook, on arm64
 *
 * A jump is a B: it replaces exactly one instruction and changes nothing else. If a B
 * does not reach, no other jump is possible: they all need a register, and the program
 * may use all registers.
 *
 * A handler runs on the program's stack. Linux does not protect memory below the stack
 * pointer, so the code first lowers the stack pointer and then stores, and keeps it at a
 * multiple of 16. A signal in between preserves everything above it.
 *
 * This file holds no state, and is built into the tests on the host as well.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uhook_code.h>
#include <linux/unaligned.h>
#include <asm/insn.h>
#include "uhook_code.h"

/* End of user addresses in the largest address space. */
#define ADDRESSES_END	BIT(52)

/* Reach of the 21-bit immediates of ADR and ADRP, in bytes or pages. */
#define ADR_REACH	SZ_1M

/* The bit that selects 64-bit registers. */
#define WIDE		BIT(31)

/*
 * Parts of the handler that counts. x0 selects the lane, x1 is the address of the counter
 * in the first lane.
 */
static const u32 push_two[] = {
	0xa9bf07e0,	/* stp	x0, x1, [sp, #-16]! */
};

static const u32 push_three[] = {
	0xa9be07e0,	/* stp	x0, x1, [sp, #-32]! */
	0xf9000be2,	/* str	x2, [sp, #16] */
};

/*
 * Use bits 16 to 19, not the bits above the page offset: with glibc's thread stacks of 8
 * MiB and 64 KiB of guard, the former differ between threads, and the latter are the same
 * in all.
 */
static const u32 get_lane[] = {
	0x910003e0,	/* mov	x0, sp */
	0xd3504c00,	/* ubfx	x0, x0, #16, #4 */
};

static const u32 add_lane[] = {
	0x8b000020 | UHOOK_LANE_SHIFT << 10,	/* add	x0, x1, x0, lsl #SHIFT */
};

static const u32 count_and_pop_two[] = {
	0xd2800021,	/* mov	x1, #1 */
	0xf821001f,	/* stadd x1, [x0] */
	0xa8c107e0,	/* ldp	x0, x1, [sp], #16 */
};

/* No instruction between the exclusives may fault or access memory. */
static const u32 count_and_pop_three[] = {
	0xc85f7c01,	/* ldxr	x1, [x0] */
	0x91000421,	/* add	x1, x1, #1 */
	0xc8027c01,	/* stxr	w2, x1, [x0] */
	0x35ffffa2,	/* cbnz	w2, the ldxr */
	0xf9400be2,	/* ldr	x2, [sp, #16] */
	0xa8c207e0,	/* ldp	x0, x1, [sp], #32 */
};

int uhook_add_word(struct uhook_words *words, u32 word)
{
	if (words->size - words->len < AARCH64_INSN_SIZE)
		return -ENOSPC;
	put_unaligned_le32(word, words->bytes + words->len);
	words->len += AARCH64_INSN_SIZE;
	return 0;
}

int uhook_add_jump(struct uhook_words *words, unsigned long target)
{
	long offset = target - (words->at + words->len);

	if (offset < -SZ_128M || offset >= SZ_128M || offset % AARCH64_INSN_SIZE)
		return -ERANGE;
	return uhook_add_word(words, aarch64_insn_get_b_value() | (offset / 4 & 0x03ffffff));
}

/* Add ADR or ADRP with an immediate of @by bytes or pages. */
static int add_relative(struct uhook_words *words, u32 insn, unsigned int reg, long by)
{
	return uhook_add_word(words, insn | (by & 3) << 29 | (by >> 2 & 0x7ffff) << 5 | reg);
}

int uhook_add_address(struct uhook_words *words, unsigned int reg, unsigned long address)
{
	unsigned long at = words->at + words->len;
	long by = address - at;
	int ret;

	if (by >= -ADR_REACH && by < ADR_REACH)
		return add_relative(words, aarch64_insn_get_adr_value(), reg, by);

	by = (long)((address & -SZ_4K) - (at & -SZ_4K)) / SZ_4K;
	if (by < -ADR_REACH || by >= ADR_REACH)
		return -ERANGE;
	ret = add_relative(words, aarch64_insn_get_adrp_value(), reg, by);
	if (ret || !(address & (SZ_4K - 1)))
		return ret;
	return uhook_add_word(words, WIDE | aarch64_insn_get_add_imm_value() |
			      (address & (SZ_4K - 1)) << 10 | reg << 5 | reg);
}

static int add_words(struct uhook_words *words, const u32 *word, unsigned int count)
{
	int ret = 0;

	while (count-- && !ret)
		ret = uhook_add_word(words, *word++);
	return ret;
}

int uhook_make_count(u8 *code, size_t size, unsigned long at, unsigned long cell, bool lse)
{
	struct uhook_words words = { .bytes = code, .size = size, .at = at };
	int ret;

	if (lse)
		ret = add_words(&words, push_two, ARRAY_SIZE(push_two));
	else
		ret = add_words(&words, push_three, ARRAY_SIZE(push_three));
	ret = ret ?: add_words(&words, get_lane, ARRAY_SIZE(get_lane));
	ret = ret ?: uhook_add_address(&words, 1, cell);
	ret = ret ?: add_words(&words, add_lane, ARRAY_SIZE(add_lane));
	if (ret)
		return ret;

	if (lse)
		ret = add_words(&words, count_and_pop_two, ARRAY_SIZE(count_and_pop_two));
	else
		ret = add_words(&words, count_and_pop_three, ARRAY_SIZE(count_and_pop_three));
	return ret ?: words.len;
}

int uhook_count_code(u8 *code, size_t size, unsigned long at, unsigned long cell)
{
	return uhook_make_count(code, size, at, cell, uhook_has_lse());
}

int uhook_jump_targets(unsigned long site, const u8 *text, u8 insn_len,
		       struct uhook_targets *targets)
{
	if (site >= ADDRESSES_END || site % AARCH64_INSN_SIZE)
		return -ERANGE;
	targets->first = site < SZ_128M ? 0 : site - SZ_128M;
	targets->last = min(site + SZ_128M, ADDRESSES_END) - AARCH64_INSN_SIZE;
	targets->forced = false;
	return 0;
}

int uhook_make_hop(unsigned long at, unsigned long target, u8 *bytes)
{
	struct uhook_words words = { .bytes = bytes, .size = UHOOK_JUMP_MAX, .at = at };

	return uhook_add_jump(&words, target);
}

int uhook_make_jump(unsigned long site, const u8 *text, u8 insn_len, unsigned long target,
		    struct uhook_jump *jump)
{
	int ret = uhook_make_hop(site, target, jump->bytes);

	if (ret)
		return ret;
	jump->len = AARCH64_INSN_SIZE;
	memcpy(jump->before, text, AARCH64_INSN_SIZE);
	return 0;
}

#define IP0	16U
#define IP1	17U

/* BR, BLR and RET, and their authenticating forms, which have a second register. */
static bool branches_by(u32 insn, unsigned int reg)
{
	return insn >> 25 == 0x6b && ((insn >> 5 & 0x1f) == reg || (insn & 0x1f) == reg);
}

int uhook_stub_code(u8 *code, const void *insn, unsigned long target)
{
	const u32 word = get_unaligned_le32(insn);
	const unsigned int reg = branches_by(word, IP0) ? IP1 : IP0;

	if (branches_by(word, reg))
		return -EOPNOTSUPP;
	put_unaligned_le32(0x58000040 | reg, code);		/* ldr reg, .+8 */
	put_unaligned_le32(0xd61f0000 | reg << 5, code + 4);	/* br reg */
	put_unaligned_le64(target, code + 8);
	return 0;
}

/* LDXR, STXR and similar instructions, including unprivileged ones (LSUI), but not CASP. */
static bool is_exclusive(u32 insn)
{
	return (insn & 0x3e800000) == 0x08000000 && (insn & 0x80200000) != 0x00200000;
}

/* MOVPRFX forms a pair with the next instruction, which must not be replaced by a branch. */
static bool is_prefix(u32 insn)
{
	return (insn & 0xff3ee000) == 0x04102000 || (insn & 0xfffffc00) == 0x0420bc00;
}

bool uhook_is_atomic(const void *before, unsigned int len)
{
	u32 insn;

	if (len >= AARCH64_INSN_SIZE &&
	    is_prefix(get_unaligned_le32(before + len - AARCH64_INSN_SIZE)))
		return true;

	for (; len >= AARCH64_INSN_SIZE; len -= AARCH64_INSN_SIZE) {
		insn = get_unaligned_le32(before + len - AARCH64_INSN_SIZE);
		if (aarch64_insn_is_clrex(insn))
			return false;
		if (is_exclusive(insn))
			return aarch64_insn_is_load_ex(insn & ~BIT(24));
	}
	return false;
}

/* BTI C, J and JC, and PACIASP and PACIBSP. A BTI without a letter accepts no branch. */
bool uhook_is_landing_pad(const void *insn)
{
	u32 word = get_unaligned_le32(insn);

	return (aarch64_insn_is_bti(word) && word != aarch64_insn_get_bti_value()) ||
	       (word & ~0x40U) == 0xd503233f;
}
