// SPDX-License-Identifier: GPL-2.0
/* Lines of a program's source; the header describes them. */
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include "lines.h"

/**
 * struct search - the search for a line
 * @program: the program
 * @pattern: FILE:NUMBER
 * @length: length of FILE
 * @number: number of the line
 * @source: the source file that was compared last
 * @same: whether it is FILE
 * @found: FILE was found
 * @all: whether rows count that are not marked as statements
 * @next: the first line after @number that has code, or INT_MAX
 * @nr: number of places that were found
 */
struct search {
	struct program *program;
	const char *pattern;
	size_t length;
	int number;
	const char *source;
	bool same;
	bool found;
	bool all;
	int next;
	size_t nr;
};

/* The colon before the number, or NULL. */
static const char *find_colon(const char *pattern, u64 *number)
{
	const char *colon = strrchr(pattern, ':');

	if (!colon || colon == pattern || colon[-1] == ':' ||
	    word_number(colon + 1, 10, INT_MAX, number))
		return NULL;
	return colon;
}

bool lines_is_pattern(const char *pattern)
{
	u64 number;

	return find_colon(pattern, &number);
}

/* Is FILE the path of a source file, or the end of it? */
static bool is_source(struct search *search, const char *source)
{
	const size_t length = source ? strlen(source) : 0;
	const char *end;

	if (source == search->source)
		return search->same;
	search->source = source;
	search->same = false;
	if (length < search->length)
		return false;
	end = source + length - search->length;
	search->same = !strncmp(end, search->pattern, search->length) &&
		       (end == source || end[-1] == '/');
	return search->same;
}

/* Does the code of a row's line begin at the row? Statements of one line follow each other. */
static bool begins(const struct search *search, Dwarf_Lines *lines, size_t i, Dwarf_Addr address,
		   const char *source)
{
	const struct elf_symbol *symbol = elf_symbol_of(&search->program->image, address);
	bool statement = false, ends = false;
	int number = 0;

	if (symbol && symbol->address == address)
		return true;
	/* Rows between two statements of the line may be parts of the first. */
	while (i-- && !statement) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i);

		dwarf_lineendsequence(row, &ends);
		dwarf_lineno(row, &number);
		if (ends || number != search->number || dwarf_linesrc(row, NULL, NULL) != source)
			return true;
		dwarf_linebeginstatement(row, &statement);
		statement |= search->all;
	}
	return !statement;
}

static int see_row(struct search *search, Dwarf_Lines *lines, size_t i, struct fault *fault)
{
	Dwarf_Line *line = dwarf_onesrcline(lines, i);
	struct program_function place = { .kind = PROGRAM_LINE };
	const char *source = dwarf_linesrc(line, NULL, NULL);
	const size_t nr = search->program->nr;
	bool statement = false, ends = true;
	Dwarf_Addr address;
	int number;

	if (!is_source(search, source))
		return 0;
	search->found = true;
	if (dwarf_lineno(line, &number) || dwarf_linebeginstatement(line, &statement) ||
	    dwarf_lineendsequence(line, &ends) || dwarf_lineaddr(line, &address) || ends ||
	    !(statement || search->all))
		return 0;
	if (number > search->number && number < search->next)
		search->next = number;
	if (number != search->number || !begins(search, lines, i, address, source))
		return 0;
	place.address = address;
	if (program_add(search->program, &place, search->pattern, fault))
		return -1;
	search->nr += search->program->nr - nr;
	return 0;
}

static int compare_tables(const void *a, const void *b)
{
	return a < b ? -1 : a > b;
}

/* Units can share a table: see it once. */
static bool is_new(void **seen, Dwarf_Lines *lines)
{
	Dwarf_Lines *const *node = tfind(lines, seen, compare_tables);

	return !node && tsearch(lines, seen, compare_tables);
}

static void keep(void *lines __unused)
{
}

static int see_all(struct search *search, Dwarf *dwarf, struct fault *fault)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Lines *lines;
	Dwarf_Die die;
	void *seen = NULL;
	size_t i, nr;
	int result = 0;

	while (!result && !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL)) {
		if (dwarf_getsrclines(&die, &lines, &nr) || !is_new(&seen, lines))
			continue;
		for (i = 0; i < nr && !result; i++)
			result = see_row(search, lines, i, fault);
	}
	/* The tables are libdw's. */
	tdestroy(seen, keep);
	return result;
}

int lines_select(struct program *program, const char *pattern, struct fault *fault)
{
	Dwarf *dwarf;
	struct search search = { .program = program, .pattern = pattern, .next = INT_MAX };
	u64 number;

	if (*pattern == '!')
		return fault_say(fault, "%s: lines cannot be left out", pattern);
	dwarf = debug_dwarf(&program->debug, program->path, fault);
	if (!dwarf)
		return -1;
	search.length = find_colon(pattern, &number) - pattern;
	search.number = number;
	if (see_all(&search, dwarf, fault))
		return -1;
	/* Some compilers mark no statements in templates. */
	search.all = true;
	if (!search.nr && see_all(&search, dwarf, fault))
		return -1;
	if (search.nr)
		return 0;
	if (!search.found)
		return fault_say(fault, "no source file of %s is named %.*s", program->path,
				 (int)search.length, pattern);
	if (search.next == INT_MAX)
		return fault_say(fault, "%s has no code at %s or after it", program->path, pattern);
	return fault_say(fault, "%s has no code at %s; the next line with code is %d",
			 program->path, pattern, search.next);
}
