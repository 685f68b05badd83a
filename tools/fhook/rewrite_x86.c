// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite on x86_64
 *
 * Capstone tells where instructions begin and what they do.
 */
#include <capstone/capstone.h>
#include <string.h>
#include <linux/uhook_code.h>
#include "rewrite_arch.h"

#define JUMP_SHORT	0xeb

static csh capstone;
static cs_insn *decoded;

/* A jump through a register to which something has been added just before. */
static bool is_table(const cs_x86_op *jump, const uint8_t *previous, size_t size)
{
	unsigned int reg = jump->reg;
	uint64_t at = 0;
	const cs_x86 *add = &decoded->detail->x86;

	if (jump->type != X86_OP_REG || !previous ||
	    !cs_disasm_iter(capstone, &previous, &size, &at, decoded))
		return false;
	return decoded->id == X86_INS_ADD && add->operands[0].type == X86_OP_REG &&
	       add->operands[0].reg == reg;
}

static bool is_padding(void)
{
	return decoded->id == X86_INS_NOP || decoded->id == X86_INS_INT3 ||
	       (decoded->id == X86_INS_XCHG && decoded->bytes[decoded->size - 1] == 0x90);
}

/* What address does an instruction compute, or have as a number? */
static uint64_t address_of(uint64_t address)
{
	const cs_x86 *x86 = &decoded->detail->x86;
	int i;

	for (i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP &&
		    decoded->id == X86_INS_LEA)
			return address + decoded->size + op->mem.disp;
		if (op->type == X86_OP_IMM && op->imm > 0)
			return op->imm;
	}
	return 0;
}

static int kind_of(const cs_x86_op *op)
{
	switch (decoded->id) {
	case X86_INS_JMP:
		if (op->type == X86_OP_MEM)
			return INSN_MEMORY;
		return op->type == X86_OP_IMM ? INSN_JUMP : INSN_INDIRECT;
	case X86_INS_RET:
		return INSN_RETURN;
	case X86_INS_ENDBR64:
		return INSN_LANDING;
	case X86_INS_HLT:
	case X86_INS_UD2:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRETQ:
	case X86_INS_LJMP:
		return INSN_END;
	}
	if (is_padding())
		return INSN_NOP;
	if (cs_insn_group(capstone, decoded, X86_GRP_CALL))
		return INSN_CALL;
	if (cs_insn_group(capstone, decoded, X86_GRP_JUMP))
		return op->type == X86_OP_IMM ? INSN_CONDITIONAL : INSN_BAD;
	return INSN_PLAIN;
}

static int read_x86(const uint8_t *bytes, size_t size, uint64_t address,
		    const uint8_t *previous, size_t previous_size, struct rewrite_insn *insn)
{
	const cs_x86_op *op;
	uint64_t at = address;

	if (!capstone) {
		if (cs_open(CS_ARCH_X86, CS_MODE_64, &capstone) ||
		    cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON))
			return INSN_BAD;
		decoded = cs_malloc(capstone);
	}
	if (!cs_disasm_iter(capstone, &bytes, &size, &at, decoded))
		return INSN_BAD;
	op = &decoded->detail->x86.operands[0];
	insn->size = decoded->size;
	insn->kind = kind_of(op);
	insn->target = 0;
	if (insn->kind == INSN_JUMP || insn->kind == INSN_CONDITIONAL || insn->kind == INSN_CALL)
		insn->target = op->type == X86_OP_IMM ? op->imm : 0;
	else if (insn->kind == INSN_PLAIN)
		insn->target = address_of(address);
	if (insn->kind == INSN_INDIRECT) {
		cs_x86_op jump = *op;

		if (is_table(&jump, previous, previous_size))
			insn->kind = INSN_TABLE;
	}
	return insn->kind;
}

static void short_jump_x86(uint64_t at, uint64_t target, uint8_t *bytes)
{
	bytes[0] = JUMP_SHORT;
	bytes[1] = target - (at + 2);
}

static uint64_t slot_x86(const uint8_t *bytes, size_t size, uint64_t address)
{
	const cs_x86_op *op;

	while (cs_disasm_iter(capstone, &bytes, &size, &address, decoded)) {
		op = &decoded->detail->x86.operands[0];
		if (decoded->id == X86_INS_JMP)
			return op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP ?
				address + op->mem.disp : 0;
		if (decoded->id != X86_INS_ENDBR64)
			break;
	}
	return 0;
}

const struct rewrite_arch rewrite_x86 = {
	.jump_size = UHOOK_JUMP_MAX,
	.short_size = 2,
	.short_reach = 127,
	.stride = 8,
	.page = 0x1000,
	.fill = 0xcc,
	.read = read_x86,
	.copy = rewrite_copy,
	.jump = rewrite_jump,
	.slot = slot_x86,
	.short_jump = short_jump_x86,
};
