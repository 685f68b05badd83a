// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: functions that change the stack, as coroutines do
 *
 * What is called on the new stack is not called by the functions on the old one. A function
 * written by hand loads the stack pointer from memory, or from a register in which it has
 * not saved it before. Compilers restore the stack pointer after arrays of variable length, too,
 * but only in functions with a frame pointer. The C library's functions for this return after
 * calls of getcontext() and swapcontext(); the former also returns when nothing has changed.
 * A longjmp() stays on its stack, as far as is known. In Go, calls are those of threads.
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

/* Does a range save the stack pointer in a register, or have its frame in the frame pointer? */
static bool saves_stack(const struct rewrite *rw, const struct range *range, u8 saved)
{
	const struct code *code = &rw->code;
	struct rewrite_flow flow;
	size_t i;

	for (i = code_find(code, range->start);
	     i < code->nr_insns && code->insns[i].address < range->end; i++) {
		if (code->insns[i].kind != INSN_PLAIN)
			continue;
		flow_of(rw, code->insns + i, &flow);
		if ((flow.kind == FLOW_COPY || flow.kind == FLOW_OFFSET) &&
		    flow.base == code->arch->stack &&
		    (flow.to == saved || flow.to == code->arch->frame))
			return true;
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
	if (flow.kind == FLOW_WORD)
		return true;
	return (flow.kind == FLOW_COPY || flow.kind == FLOW_OFFSET) &&
	       !saves_stack(rw, range, flow.base);
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

bool switches_is(const struct rewrite *rw, const struct function *function)
{
	return !go_is(&rw->image) && !strstr(function->symbol->name, "longjmp") &&
	       has_switch(rw, function->ranges);
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

	for (; symbol < end && !go_is(&rw->image); symbol++) {
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
