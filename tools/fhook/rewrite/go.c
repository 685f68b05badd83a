// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: programs in Go
 *
 * A function of Go begins by comparing the stack pointer with the end of its stack. If there is
 * no room, it calls runtime.morestack, which moves the stack, and jumps back to its first
 * instruction. An event there would be one for each turn, so the entry is after the check.
 *
 * Go's runtime looks for the function of an instruction that has faulted, to turn the fault into
 * a panic; moved code has none. So instructions that may fault stay where they are. For a
 * profiler's signal it unwinds the stack from the interrupted instruction, and dies if the
 * function that has this address cannot be at it. So jumps have no hops.
 */
#include <stdlib.h>
#include <string.h>
#include "rewrite.h"

/* The most instructions of a check, and of the block that calls runtime.morestack. */
#define CHECK_INSNS	16
#define GROWTH_INSNS	64

bool go_is(const struct elf_image *image)
{
	/* Other linkers than Go's put the table of names into a section with other data. */
	return elf_section(image, ".note.go.buildid") || elf_section(image, ".go.buildinfo") ||
	       elf_section(image, ".gopclntab");
}

static bool grows_stack(const struct code *code, const struct rewrite_insn *call)
{
	static const char name[] = "runtime.morestack";
	const struct elf_symbol *symbol = elf_symbol_of(code->image, call->target);

	return symbol && !strncmp(symbol->name, name, strlen(name));
}

/*
 * The index of the last instruction of a block that grows the stack and jumps back to an
 * address, or NO_INSN.
 */
static size_t end_of_growth(const struct code *code, size_t first, u64 back)
{
	bool grows = false;
	size_t i;

	for (i = first; i < code->nr_insns && i - first < GROWTH_INSNS; i++) {
		const struct rewrite_insn *insn = code->insns + i;

		if (i > first && (insn->marks & MARK_TARGET))
			return NO_INSN;
		if (insn->kind == INSN_JUMP)
			return grows && insn->target == back ? i : NO_INSN;
		if (insn->kind == INSN_CALL && (grows || !grows_stack(code, insn)))
			return NO_INSN;
		if (insn->kind != INSN_CALL && insn->kind != INSN_PLAIN && insn->kind != INSN_NOP)
			return NO_INSN;
		grows |= insn->kind == INSN_CALL;
	}
	return NO_INSN;
}

/*
 * Do all jumps of a function to the instructions from FIRST to LAST come from those from FROM to
 * TO? Those of other functions are calls.
 */
static bool only_from(const struct code *code, const struct function *function, size_t first,
		      size_t last, size_t from, size_t to)
{
	const u64 end = code->insns[last].address;
	size_t i;

	for (i = code_branches_to(code, code->insns[first].address); i < code->nr_branches; i++) {
		const size_t branch = code->branches[i];

		if (code->insns[branch].target > end)
			break;
		if (code->insns[branch].kind != INSN_CALL &&
		    code->insns[branch].kind != INSN_PLAIN && (branch < from || branch > to) &&
		    function_has(function, code->insns[branch].address))
			return false;
	}
	return true;
}

size_t go_after_check(const struct rewrite *rw, const struct function *function, size_t entry)
{
	size_t i, block, block_end, growth = NO_INSN, end = NO_INSN, last = NO_INSN;
	const struct code *code = &rw->code;

	/* A check of a large frame has two jumps to the same block. */
	for (i = entry; i < code->nr_insns && i - entry < CHECK_INSNS; i++) {
		const struct rewrite_insn *insn = code->insns + i;

		if (i > entry && (insn->marks & (MARK_TARGET | MARK_REGION)))
			break;
		if (insn->kind == INSN_CONDITIONAL) {
			block = code_find(code, insn->target);
			if (block == NO_INSN || (growth != NO_INSN && block != growth))
				break;
			block_end = end_of_growth(code, block, code->insns[entry].address);
			if (block_end == NO_INSN)
				break;
			growth = block;
			end = block_end;
			last = i;
		} else if (insn->kind != INSN_PLAIN && insn->kind != INSN_NOP) {
			break;
		}
	}
	if (last == NO_INSN || last + 1 >= code->nr_insns ||
	    (code->insns[last + 1].marks & (MARK_TARGET | MARK_REGION)) ||
	    !function_has(function, code->insns[last + 1].address) ||
	    !only_from(code, function, entry, entry, end, end) ||
	    !only_from(code, function, growth, end, entry, last))
		return NO_INSN;
	return last + 1;
}
