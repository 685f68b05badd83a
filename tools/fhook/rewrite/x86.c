// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite on x86_64
 *
 * Capstone decodes the instructions.
 */
#include <capstone/capstone.h>
#include <string.h>
#include <linux/uhook_code.h>
#include "arch.h"

#define JUMP_SHORT	0xeb

static csh capstone;
static cs_insn *decoded;

/* Is this a jump through a register to which the previous instruction has added something? */
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

static bool is_pushed(const uint8_t *previous, size_t size)
{
	uint64_t at = 0;

	return previous && cs_disasm_iter(capstone, &previous, &size, &at, decoded) &&
	       decoded->id == X86_INS_PUSH;
}

static bool is_padding(void)
{
	return decoded->id == X86_INS_NOP || decoded->id == X86_INS_INT3 ||
	       (decoded->id == X86_INS_XCHG && decoded->bytes[decoded->size - 1] == 0x90);
}

/*
 * The address that an instruction computes, or has as an immediate operand. That of a comparison
 * goes nowhere.
 */
static uint64_t address_of(uint64_t address, uint16_t *marks)
{
	const cs_x86 *x86 = &decoded->detail->x86;
	int i;

	if (decoded->id == X86_INS_CMP)
		return 0;
	for (i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP &&
		    decoded->id == X86_INS_LEA)
			return address + decoded->size + op->mem.disp;
		*marks |= MARK_NUMBER;
		if (op->type == X86_OP_IMM && op->imm > 0)
			return op->imm;
		if (op->type == X86_OP_MEM && op->mem.disp > 0 && decoded->id == X86_INS_LEA)
			return op->mem.disp;
		*marks &= ~MARK_NUMBER;
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
	/* To Capstone, these are no jumps. */
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
		return INSN_CONDITIONAL;
	}
	if (is_padding())
		return INSN_NOP;
	if (cs_insn_group(capstone, decoded, X86_GRP_CALL))
		return INSN_CALL;
	if (cs_insn_group(capstone, decoded, X86_GRP_JUMP))
		return op->type == X86_OP_IMM ? INSN_CONDITIONAL : INSN_BAD;
	return INSN_PLAIN;
}

/*
 * Which signals may an instruction raise? Memory whose address is in the stack pointer is
 * valid; in Go, so is memory whose address is in the frame pointer, or in the register of g.
 */
static uint16_t faults_of(void)
{
	const cs_x86 *x86 = &decoded->detail->x86;
	uint16_t marks = 0;
	int i;

	if (decoded->id == X86_INS_DIV || decoded->id == X86_INS_IDIV)
		marks |= MARK_TRAPS;
	for (i = 0; decoded->id != X86_INS_LEA && i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type != X86_OP_MEM || op->mem.base == X86_REG_RSP ||
		    op->mem.base == X86_REG_RIP)
			continue;
		marks |= MARK_TRAPS;
		if (op->mem.base != X86_REG_RBP && op->mem.base != X86_REG_R14)
			marks |= MARK_FAULTS;
	}
	return marks;
}

static bool is_stack_pointer(const cs_x86_op *op)
{
	return op->type == X86_OP_REG && (op->reg == X86_REG_RSP || op->reg == X86_REG_ESP ||
					  op->reg == X86_REG_SP || op->reg == X86_REG_SPL);
}

/* Is the stack pointer set to itself or the frame pointer, plus a number or aligned? */
static bool moves_by_number(void)
{
	const cs_x86_op *from = &decoded->detail->x86.operands[1];

	switch (decoded->id) {
	case X86_INS_ADD:
	case X86_INS_SUB:
	case X86_INS_AND:
		return from->type == X86_OP_IMM;
	case X86_INS_MOV:
		return from->type == X86_OP_REG && from->reg == X86_REG_RBP;
	case X86_INS_LEA:
		return from->mem.index == X86_REG_INVALID &&
		       (from->mem.base == X86_REG_RSP || from->mem.base == X86_REG_RBP);
	}
	return false;
}

/*
 * May others run during an instruction on this thread: by a system call, after the abort of
 * a transaction, or because the stack is replaced?
 */
static bool may_switch(void)
{
	const cs_x86 *x86 = &decoded->detail->x86;
	int i;

	switch (decoded->id) {
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_LJMP:
	case X86_INS_INT:
	case X86_INS_INT1:
	case X86_INS_XBEGIN:
	case X86_INS_XABORT:
		return true;
	}
	for (i = 0; i < x86->op_count; i++) {
		if (is_stack_pointer(x86->operands + i) &&
		    (x86->operands[i].access & CS_AC_WRITE) && (i || !moves_by_number()))
			return true;
	}
	return false;
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
		insn->target = address_of(address, &insn->marks);
	if (insn->kind != INSN_NOP)
		insn->marks |= faults_of();
	if (may_switch())
		insn->marks |= MARK_SWITCHES;
	/* A return to an address that was pushed just before is a jump. */
	if (insn->kind == INSN_RETURN && is_pushed(previous, previous_size)) {
		insn->kind = INSN_INDIRECT;
	} else if (insn->kind == INSN_INDIRECT) {
		cs_x86_op jump = *op;

		if (is_table(&jump, previous, previous_size))
			insn->kind = INSN_TABLE;
	}
	return insn->kind;
}

/* The number of a general register by its encoding, or FLOW_NONE. */
static uint8_t number_of(x86_reg reg)
{
	static const x86_reg registers[][4] = {
		{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL },
		{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL },
		{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL },
		{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL },
		{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
		{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
		{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
		{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
		{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
		{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
		{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
		{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
		{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
		{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
		{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
		{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
	};
	static const x86_reg high[] = { X86_REG_AH, X86_REG_CH, X86_REG_DH, X86_REG_BH };
	size_t i, j;

	for (i = 0; i < sizeof(registers) / sizeof(*registers); i++) {
		for (j = 0; j < 4; j++) {
			if (registers[i][j] == reg)
				return i;
		}
		if (i < 4 && high[i] == reg)
			return i;
	}
	return FLOW_NONE;
}

/* The registers that a call may change: all but rbx, rsp, rbp, r12 to r15. */
#define CALL_WRITES	0x0fc7

static void note_writes(struct rewrite_flow *flow)
{
	cs_regs read, written;
	uint8_t nr_read, nr_written, i, number;

	if (cs_insn_group(capstone, decoded, X86_GRP_CALL) || decoded->id == X86_INS_SYSCALL)
		flow->written |= CALL_WRITES;
	if (cs_regs_access(capstone, decoded, read, &nr_read, written, &nr_written))
		flow->written = ~0U;
	else
		for (i = 0; i < nr_written; i++) {
			number = number_of(written[i]);
			if (number != FLOW_NONE)
				flow->written |= 1U << number;
		}
}

/* Analyse a load of a register by MOV, MOVSXD or an extending move. */
static void note_load(struct rewrite_flow *flow, const cs_x86_op *to, const cs_x86_op *from)
{
	flow->to = number_of(to->reg);
	flow->base = number_of(from->mem.base);
	flow->index = number_of(from->mem.index);
	flow->address = from->mem.disp;
	if (flow->to == FLOW_NONE || from->mem.segment)
		return;
	if (from->size == 8)
		flow->kind = from->mem.base == X86_REG_RSP && !from->mem.index ?
			     FLOW_SLOT : FLOW_WORD;
	else if (from->size == 4 && !from->mem.disp && to->size >= 4)
		flow->kind = FLOW_ENTRY;
}

static void note_lea(struct rewrite_flow *flow, const cs_x86_op *to, const cs_x86_op *from,
		     uint64_t address)
{
	flow->to = number_of(to->reg);
	flow->base = number_of(from->mem.base);
	flow->index = number_of(from->mem.index);
	if (to->size != 8)
		return;
	if (from->mem.base == X86_REG_RIP) {
		flow->kind = FLOW_ADDRESS;
		flow->address = address + decoded->size + from->mem.disp;
	} else if (!from->mem.disp && from->mem.scale == 1 && flow->base != FLOW_NONE &&
		   flow->index != FLOW_NONE) {
		flow->kind = FLOW_SUM;
	} else if (flow->base != FLOW_NONE && flow->index == FLOW_NONE) {
		flow->kind = FLOW_OFFSET;
		flow->address = from->mem.disp;
	}
}

/* Analyse a conditional move. */
static void note_choice(struct rewrite_flow *flow, const cs_x86_op *to, const cs_x86_op *from)
{
	flow->kind = FLOW_CHOICE;
	flow->to = number_of(to->reg);
	flow->base = flow->to;
	flow->index = from->type == X86_OP_REG ? number_of(from->reg) : FLOW_NONE;
}

/* Analyse an instruction whose operands are a register, and a register or a number. */
static void note_two(struct rewrite_flow *flow, const cs_x86_op *to, const cs_x86_op *from)
{
	flow->to = number_of(to->reg);
	if (decoded->id == X86_INS_ADD) {
		flow->base = flow->to;
		flow->index = from->type == X86_OP_REG ? number_of(from->reg) : FLOW_NONE;
		if (from->type == X86_OP_IMM) {
			flow->kind = FLOW_OFFSET;
			flow->address = from->imm;
		} else if (to->size == 8 && flow->index != FLOW_NONE) {
			flow->kind = FLOW_SUM;
		}
	} else if (from->type == X86_OP_REG) {
		flow->base = number_of(from->reg);
		if (flow->base != FLOW_NONE && from->size >= 4)
			flow->kind = FLOW_COPY;
	} else if (from->type == X86_OP_IMM) {
		flow->kind = FLOW_ADDRESS;
		flow->address = from->imm;
	}
}

/* Does an instruction only move addresses: by a load, a copy, or a call? */
static bool is_move(void)
{
	switch (decoded->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
	case X86_INS_MOVBE:
	case X86_INS_MOVD:
	case X86_INS_MOVQ:
	case X86_INS_VMOVD:
	case X86_INS_VMOVQ:
	case X86_INS_PEXTRQ:
	case X86_INS_VPEXTRQ:
	case X86_INS_XCHG:
	case X86_INS_CMPXCHG:
	case X86_INS_POP:
	case X86_INS_LEAVE:
	case X86_INS_LODSQ:
	case X86_INS_RDFSBASE:
	case X86_INS_RDGSBASE:
	case X86_INS_SYSCALL:
		return true;
	}
	return cs_insn_group(capstone, decoded, X86_GRP_CALL);
}

/*
 * Is the result of an instruction one of arithmetic? An operand in the data of the thread is the
 * C library's key for a pointer that it has stored, and that pointer leads to a function.
 */
static bool is_arithmetic(void)
{
	const cs_x86 *x86 = &decoded->detail->x86;
	int i;

	for (i = 0; i < x86->op_count; i++) {
		if (x86->operands[i].type == X86_OP_MEM && x86->operands[i].mem.segment)
			return false;
	}
	return !is_move();
}

static void flow_x86(const uint8_t *bytes, size_t size, uint64_t address,
		     struct rewrite_flow *flow)
{
	const cs_x86_op *op = decoded->detail->x86.operands;
	uint64_t at = address;

	memset(flow, 0, sizeof(*flow));
	flow->written = ~0U;
	if (!cs_disasm_iter(capstone, &bytes, &size, &at, decoded))
		return;
	flow->written = 0;
	note_writes(flow);
	flow->kind = is_arithmetic() ? FLOW_COMPUTED : FLOW_OTHER;
	if (decoded->id == X86_INS_CDQE) {
		flow->kind = FLOW_COPY;
		flow->to = number_of(X86_REG_RAX);
		flow->base = flow->to;
	} else if (decoded->id == X86_INS_JMP && op->type == X86_OP_REG) {
		flow->kind = FLOW_JUMP;
		flow->base = number_of(op->reg);
	} else if (decoded->id == X86_INS_JMP && op->type == X86_OP_MEM) {
		flow->kind = FLOW_JUMP;
		flow->base = FLOW_NONE;
	}
	if (decoded->id == X86_INS_MOV && op[0].type == X86_OP_MEM && op[1].type == X86_OP_REG) {
		flow->kind = FLOW_STORE;
		flow->base = number_of(op[1].reg);
	}
	if (decoded->detail->x86.op_count != 2 || op[0].type != X86_OP_REG ||
	    number_of(op[0].reg) == FLOW_NONE)
		return;
	if (cs_insn_group(capstone, decoded, X86_GRP_CMOV))
		note_choice(flow, op, op + 1);
	else if (decoded->id == X86_INS_LEA)
		note_lea(flow, op, op + 1, address);
	else if (decoded->id != X86_INS_MOV && decoded->id != X86_INS_MOVABS &&
		 decoded->id != X86_INS_MOVSXD && decoded->id != X86_INS_ADD)
		return;
	else if (op[1].type != X86_OP_MEM)
		note_two(flow, op, op + 1);
	else if (decoded->id != X86_INS_ADD)
		note_load(flow, op, op + 1);
}

/*
 * Retpolines: after a call that pushed an address to which nothing returns, the address
 * is replaced or dropped, and a return follows.
 */
static int thunk_x86(const uint8_t *bytes, size_t size)
{
	static const uint8_t lea[] = { 0x48, 0x8d, 0x64, 0x24, 8, 0xc3 };
	static const uint8_t add[] = { 0x48, 0x83, 0xc4, 8, 0xc3 };

	/* mov %reg, (%rsp) */
	if (size >= 5 && (bytes[0] & 0xfb) == 0x48 && bytes[1] == 0x89 &&
	    (bytes[2] & 0xc7) == 4 && bytes[3] == 0x24 && bytes[4] == 0xc3)
		return THUNK_INDIRECT;
	if ((size >= sizeof(lea) && !memcmp(bytes, lea, sizeof(lea))) ||
	    (size >= sizeof(add) && !memcmp(bytes, add, sizeof(add))))
		return THUNK_RETURN;
	return THUNK_NONE;
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
		if (decoded->id == X86_INS_JMP || decoded->id == X86_INS_CALL)
			return op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP ?
				address + op->mem.disp : 0;
		if (decoded->id != X86_INS_ENDBR64)
			break;
	}
	return 0;
}

const struct rewrite_arch rewrite_x86 = {
	.jump_size = UHOOK_JUMP_MAX,
	.reach = 0x80000000,
	.short_size = 2,
	.short_reach = 127,
	.stride = 8,
	.page = 0x1000,
	.stack = 4,
	.frame = 5,
	.fill = 0xcc,
	.read = read_x86,
	.copy = rewrite_copy,
	.jump = rewrite_jump,
	.slot = slot_x86,
	.flow = flow_x86,
	.thunk = thunk_x86,
	.short_jump = short_jump_x86,
};
