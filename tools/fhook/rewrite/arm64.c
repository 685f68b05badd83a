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
#include "arch.h"

#define NOP		0xd503201f

static uint64_t branch_target(uint32_t word, uint64_t address, unsigned int shift,
			      unsigned int bits)
{
	return address + sign_extend64((uint64_t)word >> shift << 2, bits + 1);
}

static int64_t distance_of(uint32_t word)
{
	return sign_extend64(word >> 3 & 0x1ffffc, 20) | (word >> 29 & 3);
}

static uint64_t page_of(uint32_t word, uint64_t address)
{
	return (address & ~0xfffULL) + distance_of(word) * 0x1000;
}

/* ADD of an immediate operand to a 64-bit register. */
static bool is_add_number(uint32_t word)
{
	return (word & 0xff800000) == 0x91000000;
}

static uint64_t number_of(uint32_t word)
{
	return (uint64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
}

/* ADR computes the address; ADRP the page, and a following ADD the offset. */
static uint64_t address_of(uint32_t word, uint64_t address, bool first)
{
	static uint64_t pages[FLOW_REGISTERS];
	uint64_t page;

	if (first)
		memset(pages, 0, sizeof(pages));
	if (aarch64_insn_is_adr(word))
		return address + distance_of(word);
	if (aarch64_insn_is_adrp(word))
		pages[word & 31] = page_of(word, address);
	if (!is_add_number(word))
		return 0;
	page = pages[word >> 5 & 31];
	return page ? page + number_of(word) : 0;
}

/* Is the target of a branch the result of an ADD of registers? */
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
	/* RET, RETAA and RETAB are in one group, BR, BRAA and the like in another. */
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

/* Registers with addresses that are valid: the stack pointer, the frame pointer, and Go's g. */
static bool is_valid_base(uint32_t reg)
{
	return reg >= 28 && reg != 30;
}

/* Is the stack pointer set, but not to itself or the frame pointer plus a number? */
static bool loads_stack_pointer(uint32_t word)
{
	const uint32_t from = word >> 5 & 31;

	if ((word & 31) != 31)
		return false;
	/* ADD and SUB of a number */
	if ((word & 0xbf800000) == 0x91000000)
		return from != 31 && from != 29;
	/* AND, ORR and EOR of a number; ADD and SUB of a register */
	return ((word & 0x9f800000) == 0x92000000 && (word & 0x60000000) != 0x60000000) ||
	       (word & 0xbfe00000) == 0x8b200000;
}

/* May others run on this thread: by a system call, or because the stack is replaced? */
static bool may_switch(uint32_t word)
{
	const uint32_t reg = word >> 5 & 31;

	/* A return to the address in another register than x30 is a jump to anywhere. */
	if (kind_of(word) == INSN_RETURN)
		return reg < 30;
	return (word & 0xff000000) == 0xd4000000 || loads_stack_pointer(word);
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
		insn->target = address_of(word, address, !previous);
	if ((word & 0x0a000000) == 0x08000000) {
		insn->marks |= MARK_TRAPS;
		if (!is_valid_base(word >> 5 & 31))
			insn->marks |= MARK_FAULTS;
	}
	if (may_switch(word))
		insn->marks |= MARK_SWITCHES;
	if (insn->kind == INSN_INDIRECT && is_table(word, previous, previous_size))
		insn->kind = INSN_TABLE;
	return insn->kind;
}

/* ADRP to x16, and a load from that page; a BTI may precede them. */
static uint64_t slot_arm64(const uint8_t *bytes, size_t size, uint64_t address)
{
	uint32_t words[3];
	unsigned int i = 0;

	if (size < sizeof(words))
		return 0;
	memcpy(words, bytes, sizeof(words));
	i += is_landing(words[0]);
	if ((words[i] & 0x9f00001f) != 0x90000010 || (words[i + 1] & 0xffc003ff) != 0xf9400211)
		return 0;
	return page_of(words[i], address + i * sizeof(*words)) + (words[i + 1] >> 10 & 0xfff) * 8;
}

/* Registers that a call may change, with the link register. */
#define CALL_WRITES	0x4007ffff

/* Analyse loads and stores. */
static void note_memory(uint32_t word, struct rewrite_flow *flow)
{
	const uint32_t size = word >> 30, how = word >> 22 & 3;
	const bool pair = (word & 0x3a000000) == 0x28000000;

	flow->written = 0;
	if (pair && !(word & 1U << 26)) {
		/* With or without writeback to the base. */
		flow->written = word & 1U << 23 ? 1U << flow->base : 0;
		if (word & 1U << 22)
			flow->written |= 1U << flow->to | 1U << (word >> 10 & 31);
		return;
	}
	if (word & 1U << 26)
		return;
	if ((word & 0x3b000000) == 0x38000000 && word & 0x400 && !(word & 1U << 21))
		flow->written |= 1U << flow->base;
	if (!how && (word & 0x38000000) == 0x38000000)
		return;
	flow->written |= 1U << flow->to;
	if ((word & 0x3b200c00) == 0x38200800)
		flow->kind = size == 3 ? FLOW_WORD : FLOW_ENTRY;
	else if ((word & 0x3b000000) == 0x39000000 && size == 3)
		flow->kind = flow->base == 31 ? FLOW_SLOT : FLOW_WORD;
	flow->address = word >> 10 & 0xfff;
}

/*
 * Is the result of an instruction one of arithmetic? Pointer authentication is none, nor is EOR of
 * two registers: the C library so decodes a pointer to a function that it has stored.
 */
static bool is_arithmetic(uint32_t word)
{
	const bool of_number = (word & 0x1c000000) == 0x10000000;
	const bool of_registers = (word & 0x0e000000) == 0x0a000000;

	return of_number || (of_registers && (word & 0xffff0000) != 0xdac10000 &&
			     (word & 0xffe0fc00) != 0xca000000);
}

static void flow_arm64(const uint8_t *bytes, size_t size, uint64_t address,
		       struct rewrite_flow *flow)
{
	uint32_t word = 0;

	memset(flow, 0, sizeof(*flow));
	memcpy(&word, bytes, size < sizeof(word) ? size : sizeof(word));
	flow->to = word & 31;
	flow->base = word >> 5 & 31;
	flow->index = word >> 16 & 31;
	flow->written = 1U << flow->to;
	if (aarch64_insn_is_adr(word) || aarch64_insn_is_adrp(word)) {
		flow->kind = FLOW_ADDRESS;
		flow->address = aarch64_insn_is_adr(word) ? address + distance_of(word) :
				page_of(word, address);
	} else if (is_add_number(word)) {
		flow->kind = FLOW_OFFSET;
		flow->address = number_of(word);
	} else if ((word & 0xff000000) == 0x8b000000) {
		flow->kind = FLOW_SUM;
	} else if ((word & 0xffe0ffe0) == 0xaa0003e0 || (word & 0xfffffc00) == 0x93407c00) {
		flow->kind = FLOW_COPY;
		flow->base = word & 0x20000000 ? flow->index : flow->base;
		/* Here, 31 is XZR and not the stack pointer: the result is 0. */
		if (flow->base == 31)
			flow->kind = FLOW_ADDRESS;
	} else if ((word & 0xfefff000) == 0xd61f0000) {
		flow->kind = FLOW_JUMP;
		flow->written = 0;
	} else if (kind_of(word) == INSN_CALL) {
		flow->written = CALL_WRITES;
	} else if (kind_of(word) != INSN_PLAIN) {
		flow->written = 0;
	} else if ((word & 0x0a000000) == 0x08000000) {
		note_memory(word, flow);
	} else if ((word & 0x7fe00c00) == 0x1a800000) {
		flow->kind = FLOW_CHOICE;
	} else if (is_arithmetic(word)) {
		flow->kind = FLOW_COMPUTED;
	}
}

const struct rewrite_arch rewrite_arm64 = {
	.jump_size = AARCH64_INSN_SIZE,
	.reach = 0x8000000,
	.stride = AARCH64_INSN_SIZE,
	.page = 0x10000,
	.stack = 31,
	.frame = 29,
	.fill = 0,
	.read = read_arm64,
	.copy = rewrite_copy,
	.jump = rewrite_jump,
	.slot = slot_arm64,
	.flow = flow_arm64,
	.bases_in_code = true,
};
