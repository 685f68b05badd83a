// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: targets of jumps through registers
 *
 * Compilers generate two kinds of such jumps within a function: that of a switch goes to
 * the sum of a table's address and a distance from this table; that of a computed goto
 * may go anywhere. The existence of tables in a function does not determine the kind of
 * one of its jumps. So the instructions before each jump, back to the next possible
 * target, are followed from register to register, and the targets of the jump are known
 * only if its operand is such a sum. If a table's address was computed further up, before
 * a loop, the table is identified by the register from which both the distance and the
 * sum take the address.
 *
 * Retpolines are jumps through a register in the form of calls, jumps and returns.
 */
#include <string.h>
#include "rewrite.h"

/* The maximum number of instructions to analyse before a jump. */
#define REACH		32

enum value_kind {
	VALUE_UNKNOWN,
	VALUE_START,		/* the value of register NUMBER at the start */
	VALUE_ADDRESS,		/* NUMBER */
	VALUE_SLOT,		/* of the stack, at distance NUMBER */
	VALUE_WORD,		/* of memory */
	VALUE_ENTRY,		/* of a table at NUMBER, which is of kind OF */
	VALUE_SUM,		/* an unknown sum, or another result of arithmetic */
	VALUE_CASE,		/* the target of a switch; NUMBER is its base if that is code */
};

/**
 * struct value - known value of a register
 * @number: meaning depends on the kind
 * @kind: value of enum value_kind
 * @of: kind of the table's address, for an entry of a table
 */
struct value {
	u64 number;
	u8 kind, of;
};

/**
 * struct followed - registers at an instruction
 * @rw: the file
 * @function: function that contains the instruction
 * @tables: bit mask of the registers to which the function moves a table's address
 * @values: values by number of the register
 */
struct followed {
	struct rewrite *rw;
	const struct function *function;
	u32 tables;
	struct value values[FLOW_REGISTERS];
};

static struct value value_of(const struct followed *followed, u8 reg)
{
	return reg == FLOW_NONE ? (struct value){ } : followed->values[reg];
}

/* A word of 32 bits at BASE + INDEX, one of which is the table's address. */
static struct value entry_of(const struct followed *followed, const struct rewrite_flow *flow)
{
	struct value base = value_of(followed, flow->base);
	const struct value index = value_of(followed, flow->index);

	if (index.kind == VALUE_ADDRESS)
		base = index;
	return (struct value){ .kind = VALUE_ENTRY, .of = base.kind, .number = base.number };
}

/* Is it the address of a table of the function? */
static bool is_table(const struct followed *followed, const struct value *base)
{
	switch (base->kind) {
	case VALUE_ADDRESS:
		return targets_has_table(followed->rw, followed->function, base->number);
	case VALUE_START:
		return followed->tables >> base->number & 1;
	case VALUE_SLOT:
		return followed->tables;
	default:
		return false;
	}
}

static struct value sum_of(const struct followed *followed, struct value a, struct value b)
{
	const struct value sum = { .kind = VALUE_SUM };

	if (a.kind == VALUE_ENTRY) {
		struct value entry = a;

		a = b;
		b = entry;
	}
	if (b.kind != VALUE_ENTRY)
		return sum;
	if (followed->rw->code.arch->bases_in_code && a.kind == VALUE_ADDRESS &&
	    function_has(followed->function, a.number))
		return (struct value){ .kind = VALUE_CASE, .number = a.number };
	if (a.kind == b.of && a.number == b.number && is_table(followed, &a))
		return (struct value){ .kind = VALUE_CASE };
	return sum;
}

static struct value offset_of(struct value base, u64 by)
{
	if (base.kind == VALUE_ADDRESS)
		base.number += by;
	else
		base = (struct value){ .kind = VALUE_SUM };
	return base;
}

static struct value choice_of(const struct followed *followed, const struct rewrite_flow *flow)
{
	const bool sum = value_of(followed, flow->base).kind == VALUE_SUM ||
			 value_of(followed, flow->index).kind == VALUE_SUM;

	return (struct value){ .kind = sum ? VALUE_SUM : VALUE_UNKNOWN };
}

static void follow(struct followed *followed, const struct rewrite_flow *flow)
{
	struct value value = { }, written = { };
	unsigned int reg;

	switch (flow->kind) {
	case FLOW_COMPUTED:
		written.kind = VALUE_SUM;
		break;
	case FLOW_CHOICE:
		value = choice_of(followed, flow);
		break;
	case FLOW_ADDRESS:
		value = (struct value){ .kind = VALUE_ADDRESS, .number = flow->address };
		break;
	case FLOW_OFFSET:
		value = offset_of(value_of(followed, flow->base), flow->address);
		break;
	case FLOW_COPY:
		value = value_of(followed, flow->base);
		break;
	case FLOW_SUM:
		value = sum_of(followed, value_of(followed, flow->base),
			       value_of(followed, flow->index));
		break;
	case FLOW_ENTRY:
		value = entry_of(followed, flow);
		break;
	case FLOW_WORD:
		value.kind = VALUE_WORD;
		break;
	case FLOW_SLOT:
		value = (struct value){ .kind = VALUE_SLOT, .number = flow->address };
		break;
	}
	for (reg = 0; reg < FLOW_REGISTERS; reg++) {
		if (flow->written >> reg & 1)
			followed->values[reg] = written;
	}
	if (flow->kind != FLOW_OTHER && flow->kind != FLOW_COMPUTED &&
	    flow->kind != FLOW_STORE && flow->kind != FLOW_JUMP)
		followed->values[flow->to] = value;
}

static void flow_of(const struct code *code, size_t i, struct rewrite_flow *flow)
{
	const u8 *bytes = code_bytes(code, code->insns + i);

	memset(flow, 0, sizeof(*flow));
	flow->written = ~0U;
	if (bytes)
		code->arch->flow(bytes, code->insns[i].size, code->insns[i].address, flow);
}

/* The start of the straight-line code that leads to an instruction. */
static size_t begin_of(const struct code *code, const struct function *function, size_t i)
{
	size_t first = i;

	while (first && i - first < REACH &&
	       !(code->insns[first].marks & (MARK_TARGET | MARK_PAD | MARK_REGION)) &&
	       code->insns[first - 1].address + code->insns[first - 1].size ==
	       code->insns[first].address &&
	       !rewrite_ends(code->insns + first - 1) &&
	       function_has(function, code->insns[first - 1].address))
		first--;
	return first;
}

/* The bit mask of the registers to which a function moves the address of a table. */
u32 jumps_tables(struct rewrite *rw, const struct function *function)
{
	const struct code *code = &rw->code;
	struct rewrite_flow flow;
	u32 registers = 0;
	size_t r, i;

	for (r = 0; r < function->nr_ranges; r++) {
		for (i = code_find(code, function->ranges[r].start);
		     i < code->nr_insns && code->insns[i].address < function->ranges[r].end; i++) {
			if (code->insns[i].kind != INSN_PLAIN || !code->insns[i].target ||
			    !targets_has_table(rw, function, code->insns[i].target))
				continue;
			flow_of(code, i, &flow);
			registers |= flow.written;
		}
	}
	return registers;
}

enum jump_way jumps_way(struct rewrite *rw, const struct function *function, size_t jump,
			u32 tables, u64 *base)
{
	struct followed followed = { .rw = rw, .function = function, .tables = tables };
	const struct code *code = &rw->code;
	struct rewrite_flow flow;
	struct value target;
	unsigned int reg;
	size_t i;

	*base = 0;
	for (reg = 0; reg < FLOW_REGISTERS; reg++)
		followed.values[reg] = (struct value){ .kind = VALUE_START, .number = reg };
	for (i = begin_of(code, function, jump); i < jump; i++) {
		flow_of(code, i, &flow);
		follow(&followed, &flow);
	}
	flow_of(code, jump, &flow);
	if (flow.kind != FLOW_JUMP)
		return JUMP_ANYWHERE;
	target = value_of(&followed, flow.base);
	if (target.kind == VALUE_CASE) {
		*base = target.number;
		return JUMP_CASE;
	}
	if (target.kind == VALUE_SUM || code->insns[jump].kind == INSN_TABLE)
		return JUMP_SUM;
	return target.kind == VALUE_WORD || flow.base == FLOW_NONE ? JUMP_WORD : JUMP_ANYWHERE;
}

/* Is an instruction the call that a retpoline begins with? */
static enum rewrite_thunk thunk_of_call(const struct code *code, size_t call)
{
	const size_t bytes_max = 8;
	const u8 *bytes;
	size_t i;

	if (code->insns[call].kind != INSN_CALL || !code->insns[call].target)
		return THUNK_NONE;
	i = code_find(code, code->insns[call].target);
	if (i == NO_INSN || i <= call || i - call > 8)
		return THUNK_NONE;
	bytes = elf_at(code->image, code->insns[i].address, bytes_max);
	return bytes ? code->arch->thunk(bytes, bytes_max) : THUNK_NONE;
}

/* The kind of code at the target of a jump: a thunk, or ordinary code. */
static enum rewrite_thunk thunk_at(const struct code *code, u64 address)
{
	const struct elf_symbol *symbol;
	size_t i = code_find(code, address);

	if (i != NO_INSN && code->insns[i].kind == INSN_LANDING)
		i++;
	if (i >= code->nr_insns)
		return THUNK_NONE;
	/* An inlined thunk is a part of its function. */
	symbol = elf_symbol_of(code->image, address);
	if (symbol && symbol->address != address)
		return THUNK_NONE;
	if (code->insns[i].kind == INSN_INDIRECT && symbol && strstr(symbol->name, "_thunk"))
		return THUNK_INDIRECT;
	return thunk_of_call(code, i);
}

/* Does another call lead to this call: is the retpoline that of an indirect call? */
static bool is_called(const struct code *code, size_t call)
{
	size_t i;

	for (i = call + 1; i < code->nr_insns && i - call < 16; i++) {
		if (code->insns[i].kind == INSN_CALL &&
		    code->insns[i].target == code->insns[call].address)
			return true;
	}
	return false;
}

/* The return in a retpoline is not an exit of the function that contains it. */
static void look_at_call(struct code *code, size_t call)
{
	size_t i = code_find(code, code->insns[call].target);

	if (thunk_of_call(code, call) != THUNK_INDIRECT)
		return;
	for (; i < code->nr_insns && code->insns[i].kind == INSN_PLAIN; i++)
		;
	if (i < code->nr_insns && code->insns[i].kind == INSN_RETURN)
		code->insns[i].kind = is_called(code, call) ? INSN_END : INSN_INDIRECT;
}

void jumps_find_thunks(struct code *code)
{
	struct rewrite_insn *insn;
	size_t i;

	if (!code->arch->thunk)
		return;
	for (i = 0; i < code->nr_insns; i++) {
		insn = code->insns + i;
		if (insn->kind == INSN_CALL && insn->target)
			look_at_call(code, i);
		if (insn->kind != INSN_JUMP && insn->kind != INSN_CONDITIONAL)
			continue;
		switch (thunk_at(code, insn->target)) {
		case THUNK_INDIRECT:
			insn->kind = insn->kind == INSN_JUMP ? INSN_INDIRECT : INSN_BAD;
			break;
		case THUNK_RETURN:
			insn->kind = insn->kind == INSN_JUMP ? INSN_RETURN : INSN_BAD;
			break;
		default:
			break;
		}
	}
}
