// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: functions that change the stack, as coroutines do
 *
 * Calls on the new stack are not made by the functions on the old one. A function written by hand
 * saves the stack pointer, and loads it from memory, or from a register in which it has not saved
 * it. A function that does not save it leaves its stack for good, by longjmp() or for an exception,
 * and arrives in the same stack, as far as is known, except setcontext(). (The C library's
 * swapcontext() saves a sum.)
 *
 * Compilers restore the stack pointer after arrays of variable length, too, but only in functions
 * with a frame pointer. Functions written by hand also restore it from their own stack, or from
 * a place in it that a copy of the stack pointer leads to. The C library's functions for this
 * return after calls of getcontext() and swapcontext(); the former also returns when nothing has
 * changed.
 *
 * In Go, calls are those of threads. In OCaml, functions install handlers of exceptions by saving
 * the stack pointer, and load that of a handler to raise an exception.
 */
#include <string.h>
#include "rewrite.h"

static void flow_of(const struct rewrite *rw, const struct rewrite_insn *insn,
		    struct rewrite_flow *flow)
{
	const u8 *bytes = code_bytes(&rw->code, insn);

	memset(flow, 0, sizeof(*flow));
	if (bytes)
		rw->code.arch->flow(bytes, insn->size, insn->address, flow);
}

/* Does a range have an instruction with such an effect? */
static bool has(const struct rewrite *rw, const struct range *range,
		bool (*is)(const struct rewrite_arch *arch, const struct rewrite_flow *flow, u8 to),
		u8 to)
{
	const struct code *code = &rw->code;
	struct rewrite_flow flow;
	size_t i;

	for (i = code_find(code, range->start);
	     i < code->nr_insns && code->insns[i].address < range->end; i++) {
		if (code->insns[i].kind != INSN_PLAIN)
			continue;
		flow_of(rw, code->insns + i, &flow);
		if (is(code->arch, &flow, to))
			return true;
	}
	return false;
}

/* Is a register set to the stack pointer, plus a number? */
static bool sets(const struct rewrite_arch *arch, const struct rewrite_flow *flow, u8 to)
{
	return (flow->kind == FLOW_COPY || flow->kind == FLOW_OFFSET) &&
	       flow->base == arch->stack && flow->to == to;
}

/* Is a register loaded from the stack? */
static bool loads_slot(const struct rewrite_arch *arch, const struct rewrite_flow *flow, u8 to)
{
	return flow->to == to && (flow->kind == FLOW_SLOT ||
				  (flow->kind == FLOW_WORD && flow->base == arch->stack));
}

/* Is the stack pointer itself saved, but not as the beginning of a frame? */
static bool saves(const struct rewrite_arch *arch, const struct rewrite_flow *flow, u8 to)
{
	if (flow->base != arch->stack || flow->address)
		return false;
	return flow->kind == FLOW_STORE ||
	       ((flow->kind == FLOW_COPY || flow->kind == FLOW_OFFSET) && flow->to != to);
}

/* May a register have the function's own stack pointer, perhaps by way of its stack? */
static bool is_own(const struct rewrite *rw, const struct range *range, u8 reg)
{
	const struct code *code = &rw->code;
	struct rewrite_flow flow;
	size_t i;

	if (has(rw, range, sets, reg) || has(rw, range, loads_slot, reg))
		return true;
	for (i = code_find(code, range->start);
	     i < code->nr_insns && code->insns[i].address < range->end; i++) {
		flow_of(rw, code->insns + i, &flow);
		if (flow.kind == FLOW_WORD && flow.to == reg && has(rw, range, sets, flow.base))
			return true;
	}
	return false;
}

/*
 * Does a register have another word of memory at an instruction, because the last instruction of
 * the range before it that writes the register loads it, alone or with a second register?
 */
static bool is_loaded(const struct rewrite *rw, const struct range *range,
		      const struct rewrite_insn *insn, u8 reg)
{
	const struct rewrite_insn *first = rw->code.insns + code_find(&rw->code, range->start);
	struct rewrite_flow flow;

	while (insn-- > first) {
		flow_of(rw, insn, &flow);
		if (reg >= FLOW_REGISTERS || !(flow.written >> reg & 1))
			continue;
		/* Not the base, which such an instruction may change. */
		return insn->kind == INSN_PLAIN && (insn->marks & MARK_FAULTS) &&
		       (flow.kind == FLOW_WORD || flow.kind == FLOW_OTHER) &&
		       flow.base != reg && !has(rw, range, sets, flow.base);
	}
	return false;
}

/* Does an instruction of a range load the stack pointer of another stack? */
static bool loads_stack(const struct rewrite *rw, const struct range *range,
			const struct rewrite_insn *insn)
{
	const struct rewrite_arch *arch = rw->code.arch;
	struct rewrite_flow flow;

	if (!(insn->marks & MARK_SWITCHES))
		return false;
	flow_of(rw, insn, &flow);
	if (flow.to != arch->stack || flow.base == arch->frame)
		return false;
	/* A distance to another stack. In ordinary functions, distances are numbers. */
	if (flow.kind == FLOW_SUM)
		return flow.base == arch->stack && flow.index != arch->frame &&
		       !is_own(rw, range, flow.index);
	/* A word of the function's own stack is one that the function has saved. */
	if (flow.kind == FLOW_WORD)
		return !has(rw, range, sets, flow.base);
	return (flow.kind == FLOW_COPY || flow.kind == FLOW_OFFSET) &&
	       (is_loaded(rw, range, insn, flow.base) || !is_own(rw, range, flow.base)) &&
	       !has(rw, range, sets, arch->frame);
}

static bool has_switch(const struct rewrite *rw, const struct range *range)
{
	const struct code *code = &rw->code;
	size_t i;

	for (i = code_find(code, range->start);
	     i < code->nr_insns && code->insns[i].address < range->end; i++) {
		if (loads_stack(rw, range, code->insns + i))
			return true;
	}
	return false;
}

/* Does the stack pointer of programs in this language mean something else? */
static bool has_own_stacks(const struct rewrite *rw)
{
	static const char ocaml[] = "caml_raise_exn";
	size_t first;

	return go_is(&rw->image) ||
	       elf_named(&rw->image, ocaml, strlen(ocaml), true, &first);
}

bool switches_is(const struct rewrite *rw, const struct function *function)
{
	const char *name = function->symbol->name;
	const struct range *range = function->ranges;

	return has_switch(rw, range) &&
	       (strstr(name, "setcontext") || strstr(name, "swapcontext") ||
		has(rw, range, saves, rw->code.arch->frame)) &&
	       !strstr(name, "longjmp") && !has_own_stacks(rw);
}

bool switches_name(const char *name)
{
	return !strcmp(name, "getcontext") || !strcmp(name, "swapcontext");
}

bool switches_calls(const struct rewrite *rw, const struct rewrite_insn *insn)
{
	const char *name = insn->kind == INSN_CALL ? targets_callee(rw, insn) : NULL;

	return name && switches_name(name);
}

/* Does an instruction have a stub? */
static bool is_seen(const struct rewrite *rw, u64 address)
{
	size_t f;

	for (f = 0; f < rw->nr_functions; f++) {
		if (!rw->functions[f].refused && function_has(rw->functions + f, address))
			return true;
	}
	return false;
}

int switches_note(struct rewrite *rw, struct fault *fault)
{
	const struct elf_symbol *symbol = rw->image.symbols, *end = symbol + rw->image.nr_symbols;
	const char *unseen = NULL;
	struct function function;
	size_t count = 0;
	u64 next = 0;

	for (; symbol < end; symbol++) {
		if (symbol->address < next || !symbol->size)
			continue;
		function = (struct function){
			.symbol = symbol, .nr_ranges = 1,
			.ranges = { { symbol->address, symbol->address + symbol->size } },
		};
		next = symbol->address + 1;
		if (!switches_is(rw, &function) || is_seen(rw, symbol->address))
			continue;
		unseen = unseen ?: symbol->name;
		count++;
	}
	if (!count)
		return 0;
	return instrument_note(&rw->run, fault,
			       "Functions that change the stack and get no stub: %zu, such as %s. Choose them, or calls of coroutines are shown within each other.",
			       count, unseen);
}
