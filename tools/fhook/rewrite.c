// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: put the stubs of a call trace into an executable or library
 *
 * Usage: fhook-rewrite -f LIST [-o OUT] IN
 *
 * No code is moved: what stands where a function is entered or left is replaced by a
 * jump to a stub, in a segment that is added, and a copy of it runs there. A function is
 * done with all of its entries and exits, or refused with a reason. Only functions that
 * symbols name can be in the list; in a stripped file, those are the exported ones.
 *
 * Functions that have been inlined are not seen. A function that does not return needs
 * nothing. An exception that leaves a function is not seen there, but where it lands.
 *
 * Symbols and debug information stay as they are. Strip a file before it is rewritten:
 * strip does not know program headers that are not at the beginning.
 */
#include <stdlib.h>
#include <string.h>
#include "rewrite.h"

static struct rewrite rewrite;

static int refuse(struct rewrite *rw, const struct elf_symbol *symbol, const char *why)
{
	return instrument_refuse(&rw->run, "%s cannot be done: %s.", symbol->name, why);
}

static const char *why_not(const struct rewrite *rw, const struct elf_symbol *symbol)
{
	const struct elf_symbol *end = rw->image.symbols + rw->image.nr_symbols;
	const struct elf_symbol *next = symbol + 1;

	if (symbol->type == STT_GNU_IFUNC)
		return "it is chosen when the program is loaded (IFUNC)";
	if (!symbol->size)
		return "its symbol does not say where it ends";
	if (!code_is_code(&rw->image, symbol->address))
		return "its symbol does not lead to code";
	while (next < end && next->address == symbol->address)
		next++;
	if (next < end && next->size && next->address < symbol->address + symbol->size)
		return "another function is inside of it";
	return NULL;
}

static void add_range(struct function *function, u64 start, u64 end)
{
	if (function->nr_ranges == RANGES_MAX || function_has(function, start))
		return;
	function->ranges[function->nr_ranges].start = start;
	function->ranges[function->nr_ranges++].end = end;
}

/* The parts that compilers put elsewhere: "NAME.cold", with or without a number. */
static void add_cold_parts(const struct rewrite *rw, struct function *function)
{
	size_t length = strlen(function->symbol->name), i;

	for (i = 0; i < rw->image.nr_symbols; i++) {
		const struct elf_symbol *symbol = rw->image.symbols + i;

		if (!strncmp(symbol->name, function->symbol->name, length) && symbol->size &&
		    !strncmp(symbol->name + length, ".cold", 5))
			add_range(function, symbol->address, symbol->address + symbol->size);
	}
}

/* Does anybody else come to a range, or is its address known to data? */
static bool is_only_from(const struct code *code, const struct function *function, u64 start,
			 u64 end)
{
	const struct rewrite_insn *insn = code->insns, *last = insn + code->nr_insns;

	for (; insn < last; insn++) {
		if (insn->address >= start && insn->address < end && (insn->marks & MARK_TAKEN))
			return false;
		if (insn->target >= start && insn->target < end &&
		    (insn->kind == INSN_CALL || (!function_has(function, insn->address) &&
		     (insn->address < start || insn->address >= end))))
			return false;
	}
	return true;
}

/* Code that has no name and that only this function jumps to is a part of it. */
static void add_nameless_parts(const struct rewrite *rw, struct function *function)
{
	const struct code *code = &rw->code;
	size_t r, i, low, high, start;

	for (r = 0; r < function->nr_ranges; r++) {
		const struct range *range = function->ranges + r;

		i = code_find(code, range->start);
		for (; i < code->nr_insns && code->insns[i].address < range->end; i++) {
			u64 target = code->insns[i].target;

			if ((code->insns[i].kind != INSN_JUMP &&
			     code->insns[i].kind != INSN_CONDITIONAL) ||
			    function_has(function, target) || elf_symbol_of(&rw->image, target))
				continue;
			start = code_find(code, target);
			if (start == NO_INSN)
				continue;
			for (low = start; low && !(code->insns[low].marks & MARK_REGION); low--)
				;
			for (high = start + 1; high < code->nr_insns &&
			     !(code->insns[high].marks & MARK_REGION); high++)
				;
			if (high < code->nr_insns &&
			    is_only_from(code, function, code->insns[low].address,
					 code->insns[high].address))
				add_range(function, code->insns[low].address,
					  code->insns[high].address);
		}
	}
}

static int add_function(struct rewrite *rw, const struct elf_symbol *symbol)
{
	struct function function = { .symbol = symbol };

	add_range(&function, symbol->address, symbol->address + symbol->size);
	add_cold_parts(rw, &function);
	add_nameless_parts(rw, &function);
	if (grow(&rw->functions, &rw->room_functions, rw->nr_functions, sizeof(function)))
		return -1;
	rw->functions[rw->nr_functions++] = function;
	return plan_function(rw, rw->nr_functions - 1);
}

/* Names of one place are one function, which is wanted if one of them is. */
static int choose_functions(struct rewrite *rw)
{
	const struct elf_symbol *symbol = rw->image.symbols, *end, *wanted, *first;
	const char *why;
	int ret = 0;

	for (end = symbol + rw->image.nr_symbols; symbol < end && !ret;) {
		wanted = NULL;
		for (first = symbol; symbol < end && symbol->address == first->address; symbol++) {
			/* Parts are done with their functions. */
			if (!strstr(symbol->name, ".cold") &&
			    list_wants(&rw->run.list, symbol->name) != LIST_NO && !wanted)
				wanted = symbol;
		}
		if (!wanted)
			continue;
		why = why_not(rw, wanted);
		ret = why ? refuse(rw, wanted, why) : add_function(rw, wanted);
	}
	return ret;
}

static const char *what_it_is(const char *name, void *data)
{
	const struct rewrite *rw = data;
	const Elf64_Shdr *section = elf_section(&rw->image, ".dynsym");
	const Elf64_Sym *symbol;
	const char *found;
	size_t i;

	if (section && section->sh_link < rw->image.nr_sections) {
		symbol = elf_section_data(&rw->image, section);
		for (i = 0; i < section->sh_size / sizeof(*symbol); i++) {
			found = elf_string(&rw->image, rw->image.sections + section->sh_link,
					   symbol[i].st_name);
			if (found && !strcmp(found, name) && symbol[i].st_shndx == SHN_UNDEF)
				return "is not in this file: it comes from a library";
		}
	}
	if (rw->image.stripped)
		return "is not known: the file is stripped, and only what it exports has a name";
	return NULL;
}

static int check_file(const struct rewrite *rw, struct fault *fault)
{
	if (!rw->image.nr_sections || rw->image.header->e_shstrndx >= rw->image.nr_sections)
		return fault_say(fault, "%s has no sections: what is code is not known.",
				 rw->image.path);
	if (elf_section(&rw->image, ELF_STUB_SECTION))
		return fault_say(fault, "%s is instrumented already.", rw->image.path);
	if (!rw->image.nr_symbols)
		return fault_say(fault, "%s is stripped: no function has a name.", rw->image.path);
	return 0;
}

static int plan_all(struct rewrite *rw, struct fault *fault)
{
	size_t i;

	if (choose_functions(rw) || plan_hops(rw) ||
	    instrument_unmatched(&rw->run, what_it_is, rw))
		return fault_say(fault, "There is no memory.");
	for (i = 0; i < rw->nr_functions; i++)
		rw->run.instrumented += !rw->functions[i].refused;
	return instrument_may_write(&rw->run, fault);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &rewrite.run;
		return 0;
	case ARGP_KEY_ARG:
		if (rewrite.run.input)
			return ARGP_ERR_UNKNOWN;
		rewrite.run.input = text;
		return 0;
	case ARGP_KEY_END:
		if (!rewrite.run.input)
			argp_error(state, "no file is named");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &instrument_argp }, { } };
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "IN",
		.doc = "Put stubs for a call trace into an executable or a shared library.",
		.children = children,
	};
	struct rewrite *rw = &rewrite;
	struct fault fault;
	int ret;

	argp_err_exit_status = 1;
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	ret = list_check(&rw->run.list, &fault);
	ret = ret ?: elf_open(&rw->image, rw->run.input, &fault);
	ret = ret ?: check_file(rw, &fault);
	ret = ret ?: frames_read(rw, &fault);
	ret = ret ?: code_read(rw, &fault);
	ret = ret ?: targets_mark(rw, &fault);
	ret = ret ?: plan_all(rw, &fault);
	ret = ret ?: emit_all(rw, &fault);
	ret = ret ?: file_write(rw, &fault);
	return instrument_finish(&rw->run, ret, &fault);
}
