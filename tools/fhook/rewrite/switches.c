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

static bool is_in(const struct code *code, size_t i, const struct range *range)
{
	return i < code->nr_insns && code->insns[i].address < range->end;
}

/**
 * struct stack_use - what the instructions of a range do with the stack pointer
 * @copies: bit mask of the registers that are set to it, plus a number
 * @own: bit mask of the registers that may have it, perhaps by way of the function's stack
 * @saved: whether it is saved, but not as the beginning of a frame
 */
struct stack_use {
	u32 copies;
	u32 own;
	bool saved;
};

static u32 mask_of(u8 reg)
{
	return reg < FLOW_REGISTERS ? 1U << reg : 0;
}

static void use_stack(const struct rewrite_arch *arch, const struct rewrite_flow *flow,
		      struct stack_use *use)
{
	const bool copies = flow->kind == FLOW_COPY || flow->kind == FLOW_OFFSET;

	if (flow->kind == FLOW_SLOT || (flow->kind == FLOW_WORD && flow->base == arch->stack))
		use->own |= mask_of(flow->to);
	if (flow->base != arch->stack)
		return;
	if (copies)
		use->copies |= mask_of(flow->to);
	use->saved |= !flow->address &&
		      (flow->kind == FLOW_STORE || (copies && flow->to != arch->frame));
}

static struct stack_use stack_use_of(const struct rewrite *rw, const struct range *range)
{
	const struct code *code = &rw->code;
	const size_t first = code_find(code, range->start);
	struct stack_use use = { };
	struct rewrite_flow flow;
	size_t i;

	for (i = first; is_in(code, i, range); i++) {
		if (code->insns[i].kind != INSN_PLAIN)
			continue;
		flow_of(rw, code->insns + i, &flow);
		use_stack(code->arch, &flow, &use);
	}
	use.own |= use.copies;
	for (i = first; is_in(code, i, range); i++) {
		flow_of(rw, code->insns + i, &flow);
		if (flow.kind == FLOW_WORD && (use.copies & mask_of(flow.base)))
			use.own |= mask_of(flow.to);
	}
	return use;
}

/*
 * After an instruction, the bit mask of the registers that have another word of memory, because
 * the last instruction that writes the register loads it, alone or with a second register.
 */
static u32 loaded_after(const struct stack_use *use, const struct rewrite_insn *insn,
			const struct rewrite_flow *flow, u32 loaded)
{
	loaded &= ~flow->written;
	/* Not the base, which such an instruction may change. */
	if (insn->kind == INSN_PLAIN && (insn->marks & MARK_FAULTS) &&
	    (flow->kind == FLOW_WORD || flow->kind == FLOW_OTHER) &&
	    !(use->copies & mask_of(flow->base)))
		loaded |= flow->written & ~mask_of(flow->base);
	return loaded;
}

/* Does an instruction load the stack pointer, but not from the frame pointer? */
static bool loads_stack(const struct rewrite *rw, const struct rewrite_insn *insn)
{
	struct rewrite_flow flow;

	if (!(insn->marks & MARK_SWITCHES))
		return false;
	flow_of(rw, insn, &flow);
	return flow.to == rw->code.arch->stack && flow.base != rw->code.arch->frame;
}

/* Does it load that of another stack? */
static bool loads_other(const struct rewrite_arch *arch, const struct stack_use *use,
			const struct rewrite_flow *flow, u32 loaded)
{
	const u32 base = mask_of(flow->base);

	/* A distance to another stack. In ordinary functions, distances are numbers. */
	if (flow->kind == FLOW_SUM)
		return flow->base == arch->stack && flow->index != arch->frame &&
		       !(use->own & mask_of(flow->index));
	/* A word of the function's own stack is one that the function has saved. */
	if (flow->kind == FLOW_WORD)
		return !(use->copies & base);
	return (flow->kind == FLOW_COPY || flow->kind == FLOW_OFFSET) &&
	       ((loaded & base) || !(use->own & base)) &&
	       !(use->copies & mask_of(arch->frame));
}

static bool has_switch(const struct rewrite *rw, const struct range *range, struct stack_use *use)
{
	const struct code *code = &rw->code;
	const size_t first = code_find(code, range->start);
	struct rewrite_flow flow;
	u32 loaded = 0;
	size_t i;

	/* Few functions do so: see how only where it is needed. */
	for (i = first; is_in(code, i, range) && !loads_stack(rw, code->insns + i); i++)
		;
	if (!is_in(code, i, range))
		return false;
	*use = stack_use_of(rw, range);
	for (i = first; is_in(code, i, range); i++) {
		flow_of(rw, code->insns + i, &flow);
		if (loads_stack(rw, code->insns + i) &&
		    loads_other(code->arch, use, &flow, loaded))
			return true;
		loaded = loaded_after(use, code->insns + i, &flow, loaded);
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
	struct stack_use use;

	return has_switch(rw, function->ranges, &use) &&
	       (strstr(name, "setcontext") || strstr(name, "swapcontext") || use.saved) &&
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
