// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite on aarch64
 *
 * All instructions have one size, so a window is one instruction.
 */
#include <string.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/uhook_code.h>
#include <asm/insn.h>
#include "rewrite_arch.h"

#define NOP		0xd503201f

static uint64_t branch_target(uint32_t word, uint64_t address, unsigned int shift,
			      unsigned int bits)
{
	return address + sign_extend64((uint64_t)word >> shift << 2, bits + 1);
}

/* ADR: where to; ADRP only knows the page. */
static uint64_t address_of(uint32_t word, uint64_t address)
{
	if (!aarch64_insn_is_adr(word))
		return 0;
	return address + (sign_extend64(word >> 3 & 0x1ffffc, 20) | (word >> 29 & 3));
}

/* An ADD of registers whose result is what the branch goes to. */
static bool is_table(uint32_t branch, const uint8_t *previous, size_t size)
{
	uint32_t add;

	if (!previous || size != sizeof(add))
		return false;
	memcpy(&add, previous, sizeof(add));
	return (add & 0xff000000) == 0x8b000000 && (add & 31) == (branch >> 5 & 31);
}

static bool is_landing(uint32_t word)
{
	/* BTI with and without letters; PACIASP and PACIBSP are landing pads as well. */
	return (word & ~0xc0U) == 0xd503241f || (word & ~0x40U) == 0xd503233f;
}

static int kind_of(uint32_t word)
{
	if (word == NOP)
		return INSN_NOP;
	if (is_landing(word))
		return INSN_LANDING;
	if (aarch64_insn_is_b(word))
		return INSN_JUMP;
	if (aarch64_insn_is_bl(word) || aarch64_insn_is_blr(word))
		return INSN_CALL;
	/* RET and, in the same group, RETAA and RETAB; BR with BRAA and its kin. */
	if ((word & 0xfffff000) == 0xd65f0000)
		return INSN_RETURN;
	if ((word & 0xfefff000) == 0xd61f0000)
		return INSN_INDIRECT;
	if ((word & 0xfefff000) == 0xd63f0000)
		return INSN_CALL;
	if (aarch64_insn_is_bcond(word) || aarch64_insn_is_cbz(word) ||
	    aarch64_insn_is_cbnz(word) || aarch64_insn_is_tbz(word) || aarch64_insn_is_tbnz(word))
		return INSN_CONDITIONAL;
	return (word & 0xffff0000) == 0 ? INSN_END : INSN_PLAIN;
}

static int read_arm64(const uint8_t *bytes, size_t size, uint64_t address,
		      const uint8_t *previous, size_t previous_size, struct rewrite_insn *insn)
{
	uint32_t word;

	if (size < sizeof(word) || address % sizeof(word))
		return INSN_BAD;
	memcpy(&word, bytes, sizeof(word));
	insn->size = sizeof(word);
	insn->kind = kind_of(word);
	insn->target = 0;
	if (aarch64_insn_is_b(word) || aarch64_insn_is_bl(word))
		insn->target = branch_target(word, address, 0, 26);
	else if (aarch64_insn_is_tbz(word) || aarch64_insn_is_tbnz(word))
		insn->target = branch_target(word >> 5 & 0x3fff, address, 0, 14);
	else if (insn->kind == INSN_CONDITIONAL)
		insn->target = branch_target(word >> 5 & 0x7ffff, address, 0, 19);
	else if (insn->kind == INSN_PLAIN)
		insn->target = address_of(word, address);
	if (insn->kind == INSN_INDIRECT && is_table(word, previous, previous_size))
		insn->kind = INSN_TABLE;
	return insn->kind;
}

/* ADRP to x16, and a load from there; a BTI may come first. */
static uint64_t slot_arm64(const uint8_t *bytes, size_t size, uint64_t address)
{
	uint32_t words[3];
	unsigned int i = 0;
	int64_t page;

	if (size < sizeof(words))
		return 0;
	memcpy(words, bytes, sizeof(words));
	i += is_landing(words[0]);
	if ((words[i] & 0x9f00001f) != 0x90000010 || (words[i + 1] & 0xffc003ff) != 0xf9400211)
		return 0;
	page = sign_extend64(words[i] >> 3 & 0x1ffffc, 20) | (words[i] >> 29 & 3);
	return ((address + i * sizeof(*words)) & ~0xfffULL) + page * 0x1000 +
	       (words[i + 1] >> 10 & 0xfff) * 8;
}

const struct rewrite_arch rewrite_arm64 = {
	.jump_size = AARCH64_INSN_SIZE,
	.stride = AARCH64_INSN_SIZE,
	.page = 0x10000,
	.fill = 0,
	.read = read_arm64,
	.copy = rewrite_copy,
	.jump = rewrite_jump,
	.slot = slot_arm64,
};
