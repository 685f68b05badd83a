// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: reading a file, and choosing its functions
 *
 * Symbols at the same address are one function. Its code consists of the range of its
 * symbol, the parts that compilers place elsewhere and name after it, and unnamed code that
 * only this function reaches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/symbol_part.h"
#include "rewrite.h"

static int refuse(struct rewrite *rw, const struct elf_symbol *symbol, bool by_name,
		  const char *why)
{
	return instrument_cannot(&rw->run, by_name, symbol->name, why, "%s cannot be done: %s.",
				 symbol->name, why);
}

/*
 * Functions of arm64's dynamic linker with special calling conventions: some preserve all
 * registers, though reaching a stub needs one, and some get an argument in the register
 * that a stub needs.
 */
static bool is_called_oddly(const char *name)
{
	static const char *const begins[] = {
		"_dl_tlsdesc", "_dl_runtime_resolve", "_dl_runtime_profile",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(begins); i++) {
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	}
	return false;
}

/*
 * V8, the engine of Node.js and Chromium, copies its built-in functions next to the code that it
 * generates, and runs the copies. A jump to a stub leads elsewhere in a copy.
 */
static bool is_copied(const struct elf_image *image, const char *name)
{
	static const char begin[] = "Builtins_", one[] = "Builtins_JSEntry";
	size_t first;

	return !strncmp(name, begin, sizeof(begin) - 1) &&
	       elf_named(image, one, sizeof(one) - 1, true, &first);
}

static const char *why_not(const struct rewrite *rw, const struct elf_symbol *symbol)
{
	const struct elf_symbol *end = rw->image.symbols + rw->image.nr_symbols;
	const struct elf_symbol *next = symbol + 1;

	if (rw->at_run_time && rw->image.header->e_machine == EM_AARCH64 &&
	    is_called_oddly(symbol->name))
		return "it is called in a way of its own";
	if (is_copied(&rw->image, symbol->name))
		return "V8 copies it, and runs the copy";
	if (strpbrk(symbol->name, " \t\n\r"))
		return "a map takes no blanks in names";
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
	if (function_has(function, start))
		return;
	if (function->nr_ranges == RANGES_MAX) {
		function->scattered = true;
		return;
	}
	function->ranges[function->nr_ranges].start = start;
	function->ranges[function->nr_ranges++].end = end;
}

/* Of COUNT functions of the same name, the one that contains an address; or NULL. */
static const struct elf_symbol *named_at(const struct elf_image *image, size_t first, size_t count,
					 u64 address)
{
	size_t low = first, high = first + count, middle;
	const struct elf_symbol *symbol;

	/* They are sorted by address. */
	while (low < high) {
		middle = (low + high) / 2;
		if (image->symbols[image->by_name[middle]].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == first)
		return NULL;
	symbol = image->symbols + image->by_name[low - 1];
	return address - symbol->address < symbol->size ? symbol : NULL;
}

/*
 * Find the function to which a part belongs. If several functions have this name, the one that
 * jumps to the part; NULL if none does.
 */
static const struct elf_symbol *whole_of(struct rewrite *rw, const char *name,
					 const struct elf_symbol *part)
{
	const struct elf_image *image = &rw->image;
	const struct elf_symbol *whole = NULL, *from;
	const struct code *code = &rw->code;
	size_t first, count = elf_named(image, name, strlen(name), true, &first), i;
	bool several = false;

	for (i = code_branches_to(code, part->address); i < code->nr_branches; i++) {
		const struct rewrite_insn *insn = code->insns + code->branches[i];

		if (insn->target - part->address >= part->size || !rewrite_may_read(rw, 1))
			break;
		from = insn->kind == INSN_JUMP || insn->kind == INSN_CONDITIONAL ?
		       named_at(image, first, count, insn->address) : NULL;
		if (from)
			return from;
	}
	for (i = first; i < first + count && rewrite_may_read(rw, 1); i++) {
		const struct elf_symbol *symbol = image->symbols + image->by_name[i];

		if (!symbol->size)
			continue;
		several |= whole && whole->address != symbol->address;
		whole = symbol;
	}
	return several ? NULL : whole;
}

/*
 * Add the parts that compilers place elsewhere.
 * Returns 1; 0 if it is unknown whether a part belongs to this function; or -1.
 */
static int add_named_parts(struct rewrite *rw, struct function *function)
{
	const struct elf_symbol *whole, *symbol;
	size_t first, count, i;
	char *name;
	int length;

	length = asprintf(&name, "%s.", function->symbol->name);
	if (length < 0)
		return -1;
	count = elf_named(&rw->image, name, length, false, &first);
	free(name);
	for (i = first; i < first + count; i++) {
		symbol = rw->image.symbols + rw->image.by_name[i];
		if (!rewrite_may_read(rw, strlen(symbol->name)))
			return -1;
		if (!symbol->size || symbol_part_of(symbol->name) + 1 != (size_t)length)
			continue;
		whole = whole_of(rw, function->symbol->name, symbol);
		if (!whole)
			return 0;
		if (whole->address == function->symbol->address)
			add_range(function, symbol->address, symbol->address + symbol->size);
	}
	return 1;
}

/* Is a range reachable only from this function: no other branches, no address in data? */
static bool is_only_from(struct rewrite *rw, const struct function *function,
			 const struct range *range)
{
	const struct code *code = &rw->code;
	size_t i;

	for (i = code_branches_to(code, range->start); i < code->nr_branches; i++) {
		const struct rewrite_insn *insn = code->insns + code->branches[i];

		if (insn->target >= range->end)
			break;
		if (insn->kind == INSN_CALL || !rewrite_may_read(rw, 1))
			return false;
		if (!function_has(function, insn->address) && !range_has(range, insn->address))
			return false;
	}
	for (i = code_find(code, range->start);
	     i < code->nr_insns && code->insns[i].address < range->end; i++) {
		if ((code->insns[i].marks & MARK_TAKEN) || !rewrite_may_read(rw, 1))
			return false;
	}
	return true;
}

static bool jumps_to_nameless(const struct rewrite *rw, const struct function *function,
			      const struct rewrite_insn *insn)
{
	if (insn->kind != INSN_JUMP && insn->kind != INSN_CONDITIONAL)
		return false;
	return !function_has(function, insn->target) && !elf_symbol_of(&rw->image, insn->target) &&
	       (insn->kind == INSN_CONDITIONAL || !code_comes_back(&rw->code, insn));
}

/* Unnamed code to which only this function jumps is a part of the function. */
static void add_nameless_parts(struct rewrite *rw, struct function *function)
{
	const struct code *code = &rw->code;
	/* Many jumps may lead to the same code: look at it once, until the function grows. */
	struct range part, others = {};
	size_t r, i;

	for (r = 0; r < function->nr_ranges && !function->scattered; r++) {
		const struct range *range = function->ranges + r;

		i = code_find(code, range->start);
		for (; i < code->nr_insns && code->insns[i].address < range->end; i++) {
			const struct rewrite_insn *insn = code->insns + i;

			if (range_has(&others, insn->target) ||
			    !jumps_to_nameless(rw, function, insn) ||
			    !code_region(code, insn->target, &part))
				continue;
			if (elf_symbol_of(&rw->image, part.start) ||
			    !is_only_from(rw, function, &part)) {
				others = part;
				continue;
			}
			add_range(function, part.start, part.end);
			others = (struct range){};
		}
	}
}

static int add_function(struct rewrite *rw, const struct elf_symbol *symbol, bool by_name)
{
	struct function function = { .symbol = symbol, .by_name = by_name };
	int parts;

	add_range(&function, symbol->address, symbol->address + symbol->size);
	parts = add_named_parts(rw, &function);
	if (parts < 0)
		return -1;
	if (!parts)
		return refuse(rw, symbol, by_name,
			      "other functions have its name, so its parts cannot be assigned");
	add_nameless_parts(rw, &function);
	if (function.scattered)
		return refuse(rw, symbol, by_name, "it is in too many parts");
	if (grow(&rw->functions, &rw->room_functions, rw->nr_functions, sizeof(function)))
		return -1;
	rw->functions[rw->nr_functions++] = function;
	return 0;
}

/* Symbols at the same address are one function, selected if any of them is. */
static int choose_functions(struct rewrite *rw)
{
	const struct elf_symbol *symbol = rw->image.symbols, *end, *wanted, *first;
	enum list_answer answer;
	const char *why;
	bool by_name;
	int ret = 0;

	for (end = symbol + rw->image.nr_symbols; symbol < end && !ret;) {
		wanted = NULL;
		by_name = false;
		instrument_progress("names", symbol - rw->image.symbols, rw->image.nr_symbols);
		for (first = symbol; symbol < end && symbol->address == first->address; symbol++) {
			/* Parts are added with their functions. */
			if (symbol_part_of(symbol->name))
				continue;
			answer = list_wants_at(&rw->run.list, symbol->name, symbol->address);
			by_name |= answer == LIST_BY_NAME;
			if (answer != LIST_NO && !wanted)
				wanted = symbol;
		}
		if (!wanted)
			continue;
		why = why_not(rw, wanted);
		if (!rewrite_may_read(rw, 0))
			return -1;
		ret = why ? refuse(rw, wanted, by_name, why) : add_function(rw, wanted, by_name);
	}
	return ret;
}

/* The sentence on a failure. */
static int say_failure(struct rewrite *rw, struct fault *fault)
{
	if (rewrite_may_read(rw, 0))
		return fault_say(fault, "There is no memory.");
	return fault_say(fault,
			 "%s would take too long: its functions share too many tables or parts.",
			 rw->image.path);
}

/* The record of each stub has the names of its function and of the target of a tail. */
static int count_names(const struct rewrite *rw, size_t f, size_t points, u64 *names,
		       struct fault *fault)
{
	for (; points < rw->nr_points; points++) {
		const struct elf_symbol *target = rw->points[points].target;

		if (elf_count_name(&rw->image, names, rw->functions[f].symbol->name, fault) ||
		    (target && elf_count_name(&rw->image, names, target->name, fault)))
			return -1;
	}
	return 0;
}

static int plan_functions(struct rewrite *rw, struct fault *fault)
{
	size_t f, points;
	u64 names = 0;

	for (f = 0; f < rw->nr_functions; f++) {
		instrument_progress("functions", f, rw->nr_functions);
		points = rw->nr_points;
		if (plan_function(rw, f) || !rewrite_may_read(rw, 0))
			return say_failure(rw, fault);
		if (count_names(rw, f, points, &names, fault))
			return -1;
	}
	return plan_hops(rw) ? fault_say(fault, "There is no memory.") : 0;
}

static int count_functions(struct rewrite *rw, struct fault *fault)
{
	size_t leaves = 0, f;

	for (f = 0; f < rw->nr_functions; f++) {
		rw->run.instrumented += !rw->functions[f].refused;
		leaves += rw->functions[f].leaf && !rw->functions[f].refused;
	}
	return rw->loud ? instrument_note(&rw->run, fault,
					  "Functions traced by their entries alone: %zu.",
					  leaves) : 0;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Collect and sort the names that the file imports from libraries. */
static int find_imported(struct rewrite *rw)
{
	const Elf64_Shdr *section = elf_section(&rw->image, ".dynsym");
	const u8 *symbols = section ? elf_section_data(&rw->image, section) : NULL;
	const char *name;
	Elf64_Sym symbol;
	size_t i;

	if (!symbols || section->sh_link >= rw->image.nr_sections)
		return 0;
	for (i = 0; i < section->sh_size / sizeof(symbol); i++) {
		memcpy(&symbol, symbols + i * sizeof(symbol), sizeof(symbol));
		name = elf_string(&rw->image, rw->image.sections + section->sh_link,
				  symbol.st_name);
		if (!name || symbol.st_shndx != SHN_UNDEF)
			continue;
		if (grow(&rw->imported, &rw->room_imported, rw->nr_imported, sizeof(name)))
			return -1;
		rw->imported[rw->nr_imported++] = name;
	}
	if (rw->nr_imported)
		qsort(rw->imported, rw->nr_imported, sizeof(*rw->imported), compare_strings);
	return 0;
}

static bool is_number(const char *name)
{
	u64 address;

	return !word_number(name, 16, ~0ULL, &address);
}

static const char *what_it_is(const char *name, void *data)
{
	const struct rewrite *rw = data;

	if (rw->nr_imported && bsearch(&name, rw->imported, rw->nr_imported,
				       sizeof(*rw->imported), compare_strings))
		return "is not in this file: it comes from a library";
	if (is_number(name))
		return "is not the address of a function, neither by a symbol nor by .eh_frame";
	if (rw->image.stripped)
		return "is not known, because the file is stripped: give its debug file with -d";
	return NULL;
}

static int check_file(const struct rewrite *rw, struct fault *fault)
{
	if (rw->image.names >= rw->image.nr_sections ||
	    !elf_section_data(&rw->image, rw->image.sections + rw->image.names))
		return fault_say(fault, "%s has no sections with names: what is code is not known.",
				 rw->image.path);
	if (elf_section(&rw->image, ELF_STUB_SECTION))
		return fault_say(fault, "%s is instrumented already.", rw->image.path);
	return 0;
}

int choose_all(struct rewrite *rw, struct fault *fault)
{
	int ret;

	ret = list_check(&rw->run.list, fault);
	ret = ret ?: elf_open(&rw->image, rw->run.input, fault);
	ret = ret ?: check_file(rw, fault);
	if (!ret && relocations_read(rw))
		return fault_say(fault, "There is no memory.");
	ret = ret ?: names_read(rw, fault);
	ret = ret ?: frames_read(rw, fault);
	ret = ret ?: code_read(rw, fault);
	if (ret)
		return ret;
	targets_mark_branches(&rw->code);
	jumps_find_thunks(&rw->code);
	if (targets_mark(rw, fault) || names_of_frames(rw, fault))
		return -1;
	known_fix(rw);
	if (!rw->image.nr_symbols)
		return fault_say(fault, "%s is stripped, and no function has a name: %s.",
				 rw->image.path,
				 "build it without -s, or give its debug file with -d");
	targets_mark_shared(&rw->code);
	known_mark_entries(rw);
	if (choose_functions(rw) || !rewrite_may_read(rw, 0))
		return say_failure(rw, fault);
	if (leaves_find(rw, fault) || plan_functions(rw, fault) || count_functions(rw, fault))
		return -1;
	if (find_imported(rw) || instrument_unmatched(&rw->run, what_it_is, rw))
		return fault_say(fault, "There is no memory.");
	if (switches_note(rw, fault))
		return -1;
	return instrument_may_write(&rw->run, fault);
}
