// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: functions whose exit follows from their entry
 *
 * No stub is executed between the entry and the exit of a leaf on the same thread. A leaf
 * calls only quiet functions: those that have no stubs, and that call and jump to quiet
 * functions only. A quiet function has no call or jump to an unknown target, enters the kernel
 * nowhere, and never replaces its stack. A function that falls into the next one, overlaps
 * another one, or has a target outside of all functions is not quiet either: a procedure
 * linkage table is such a target, because a function of another file may call back.
 *
 * A signal handler may interrupt a leaf. Nothing in a file tells when.
 */
#include <argp.h>
#include <stdlib.h>
#include "fhook_calltrace_stub.h"
#include "rewrite.h"

static bool wanted;

static const struct argp_option options[] = {
	{ "leaves", 'l', NULL, 0,
	  "Trace a function that calls no other traced function by its entry alone", 0 },
	{ }
};

static error_t parse(int key, char *text __unused, struct argp_state *state __unused)
{
	if (key != 'l')
		return ARGP_ERR_UNKNOWN;
	wanted = true;
	return 0;
}

const struct argp leaves_argp = { .options = options, .parser = parse };

static bool is_branch(const struct rewrite_insn *insn)
{
	return insn->kind == INSN_CALL || insn->kind == INSN_JUMP ||
	       insn->kind == INSN_CONDITIONAL;
}

static size_t index_of(const struct rewrite *rw, const struct elf_symbol *symbol)
{
	return symbol - rw->image.symbols;
}

/* Does an instruction run only itself, or code at a known target? */
static bool is_known(const struct rewrite *rw, const struct rewrite_insn *insn)
{
	if (insn->kind == INSN_BAD || insn->marks & MARK_SWITCHES)
		return false;
	/* The loader may change the target of a branch. */
	return !is_branch(insn) || (insn->target && !(insn->marks & MARK_FIXED) &&
				    code_find(&rw->code, insn->target) != NO_INSN);
}

static bool jumps_away(const struct rewrite_insn *insn)
{
	return insn->kind == INSN_MEMORY || insn->kind == INSN_INDIRECT ||
	       insn->kind == INSN_TABLE;
}

/* A call into the middle of a function may be that of a retpoline, which jumps anywhere. */
static bool leads_to_function(const struct rewrite *rw, const struct rewrite_insn *insn)
{
	const struct elf_symbol *symbol;

	if (!is_branch(insn))
		return true;
	symbol = elf_symbol_of(&rw->image, insn->target);
	return symbol && (insn->kind != INSN_CALL || symbol->address == insn->target);
}

/* Is a function quiet, as far as its own instructions show? */
static bool seems_quiet(const struct rewrite *rw, const struct elf_symbol *symbol)
{
	const struct code *code = &rw->code;
	const u64 end = symbol->address + symbol->size;
	const struct rewrite_insn *insn = NULL;
	size_t i;

	for (i = code_find(code, symbol->address);
	     i < code->nr_insns && code->insns[i].address < end; i++) {
		insn = code->insns + i;
		if (!is_known(rw, insn) || jumps_away(insn) || !leads_to_function(rw, insn))
			return false;
	}
	return insn && rewrite_ends(insn) && insn->address + insn->size == end;
}

/* Is there another function, of any size, between the beginning and the end of one? */
static bool has_others_inside(const struct rewrite *rw, size_t s)
{
	const struct elf_symbol *symbol = rw->image.symbols + s;
	const struct elf_symbol *last = rw->image.symbols + rw->image.nr_symbols;
	const struct elf_symbol *next = symbol + 1;

	while (next < last && next->address == symbol->address)
		next++;
	return next < last && next->address - symbol->address < symbol->size;
}

static void add_loud(struct rewrite *rw, size_t s, size_t *queue, size_t *nr)
{
	const struct elf_symbol *first = elf_symbol_of(&rw->image, rw->image.symbols[s].address);

	s = first ? index_of(rw, first) : s;
	if (rw->loud[s])
		return;
	rw->loud[s] = 1;
	queue[(*nr)++] = s;
}

/* What branches to a function that is not quiet is not quiet. */
static void spread(struct rewrite *rw, size_t *queue, size_t nr)
{
	const struct code *code = &rw->code;
	size_t next, i;

	for (next = 0; next < nr; next++) {
		const struct elf_symbol *symbol = rw->image.symbols + queue[next], *from;

		for (i = code_branches_to(code, symbol->address); i < code->nr_branches; i++) {
			const struct rewrite_insn *insn = code->insns + code->branches[i];

			if (insn->target - symbol->address >= symbol->size)
				break;
			from = is_branch(insn) ? elf_symbol_of(&rw->image, insn->address) : NULL;
			if (from)
				add_loud(rw, index_of(rw, from), queue, &nr);
		}
	}
}

/* Functions with stubs, and their cold parts. */
static void add_chosen(struct rewrite *rw, size_t *queue, size_t *nr)
{
	const struct elf_symbol *symbol;
	size_t f, r;

	for (f = 0; f < rw->nr_functions; f++) {
		for (r = 0; r < rw->functions[f].nr_ranges; r++) {
			symbol = elf_symbol_of(&rw->image, rw->functions[f].ranges[r].start);
			if (symbol)
				add_loud(rw, index_of(rw, symbol), queue, nr);
		}
	}
}

int leaves_find(struct rewrite *rw, struct fault *fault)
{
	size_t *queue, nr = 0, s;

	if (!wanted)
		return 0;
	if (go_is(&rw->image))
		return fault_say(fault, "%s is a program in Go, %s: omit --leaves.", rw->image.path,
				 "whose functions may all be interrupted by others");
	rw->loud = calloc(rw->image.nr_symbols + 1, sizeof(*rw->loud));
	queue = calloc(rw->image.nr_symbols + 1, sizeof(*queue));
	if (!rw->loud || !queue) {
		free(queue);
		return fault_say(fault, "There is no memory.");
	}
	add_chosen(rw, queue, &nr);
	for (s = 0; s < rw->image.nr_symbols; s++) {
		if (has_others_inside(rw, s) || !seems_quiet(rw, rw->image.symbols + s))
			add_loud(rw, s, queue, &nr);
	}
	spread(rw, queue, nr);
	free(queue);
	return 0;
}

/* Does the code of a range lead nowhere but to itself and quiet functions? */
static bool is_quiet_range(const struct rewrite *rw, const struct function *function,
			   const struct range *range)
{
	const struct code *code = &rw->code;
	const struct rewrite_insn *insn = NULL;
	size_t i;

	for (i = code_find(code, range->start);
	     i < code->nr_insns && code->insns[i].address < range->end; i++) {
		insn = code->insns + i;
		if (!is_known(rw, insn))
			return false;
		if (!is_branch(insn) ||
		    (insn->kind != INSN_CALL && function_has(function, insn->target)))
			continue;
		if (insn->kind != INSN_CALL || !leads_to_function(rw, insn) ||
		    rw->loud[index_of(rw, elf_symbol_of(&rw->image, insn->target))])
			return false;
	}
	return insn && rewrite_ends(insn);
}

/* Is it left by returns only, and entered at its beginning only? */
static bool has_returns_only(const struct rewrite *rw, size_t points)
{
	size_t i;

	for (i = points + 1; i < rw->nr_points; i++) {
		if (rw->points[i].kind != FHOOK_STUB_EXIT)
			return false;
	}
	return rw->nr_points > points + 1;
}

bool leaves_is(const struct rewrite *rw, const struct function *function, size_t points)
{
	size_t r;

	if (!rw->loud || !has_returns_only(rw, points))
		return false;
	for (r = 0; r < function->nr_ranges; r++) {
		if (!is_quiet_range(rw, function, function->ranges + r))
			return false;
	}
	return true;
}
