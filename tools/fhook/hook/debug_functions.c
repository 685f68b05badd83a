// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of a program's debug information, by their addresses and symbols
 *
 * Several functions may have one address: linkers and compilers keep one of those with the same
 * code. The others have entries with the same address, or without one.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "debug.h"

/* Namespaces in namespaces. */
#define DEPTH_MAX	16
/* Parts of a function, such as a cold one. */
#define PARTS_MAX	16
/* More are looked up in an index of all. */
#define FEW_FUNCTIONS	100

/* The address of functions whose code is that of others, or was discarded. */
#define NOWHERE		(~0ull)

/* The symbol that an entry had without a change by the compiler; empty if it has none. */
static const char *symbol_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (!name)
		name = dwarf_diename(die);
	return name ? name : "";
}

static void add_at(struct debug *debug, Dwarf_Die *die, u64 address)
{
	if (grow(&debug->functions, &debug->room_functions, debug->nr_functions,
		 sizeof(*debug->functions)))
		return;
	debug->functions[debug->nr_functions++] = (struct debug_function) {
		.address = address, .symbol = symbol_of(die), .die = *die,
	};
}

/* Linkers set addresses of discarded code to small or to very large numbers. */
static bool is_nowhere(u64 address)
{
	return address <= 1 || address >= NOWHERE - 1;
}

/* Add a function under the start of each of its parts, the first of which is its entry. */
static void add_function(struct debug *debug, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	unsigned int i, nr = 0;

	for (i = 0; i < PARTS_MAX; i++) {
		offset = dwarf_ranges(die, offset, &base, &start, &end);
		if (offset <= 0)
			break;
		if (is_nowhere(start))
			continue;
		add_at(debug, die, start);
		nr++;
	}
	if (!nr && !dwarf_hasattr(die, DW_AT_declaration) && !dwarf_hasattr(die, DW_AT_inline))
		add_at(debug, die, NOWHERE);
}

/*
 * Add the functions below an entry. Without memory, some are missing. Entries are in order;
 * LAST keeps the ones of a damaged file from being visited twice.
 */
static void add_functions(struct debug *debug, Dwarf_Die *parent, unsigned int depth,
			  Dwarf_Off *last)
{
	Dwarf_Die die;
	int result;

	for (result = dwarf_child(parent, &die); !result; result = debug_sibling(&die)) {
		const int tag = dwarf_tag(&die);

		if (dwarf_dieoffset(&die) <= *last)
			return;
		*last = dwarf_dieoffset(&die);
		if ((tag == DW_TAG_namespace || tag == DW_TAG_module) && depth < DEPTH_MAX)
			add_functions(debug, &die, depth + 1, last);
		else if (tag == DW_TAG_subprogram)
			add_function(debug, &die);
	}
}

static int compare_functions(const void *a, const void *b)
{
	const struct debug_function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return strcmp(x->symbol, y->symbol) ?:
	       x->die.addr < y->die.addr ? -1 : x->die.addr > y->die.addr;
}

static void sort_functions(struct debug *debug)
{
	if (debug->nr_functions)
		qsort(debug->functions, debug->nr_functions, sizeof(*debug->functions),
		      compare_functions);
}

static void index_functions(struct debug *debug)
{
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(debug->file.module, &bias);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	Dwarf_Off last;

	debug->indexed = true;
	while (dwarf && !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, &split)) {
		last = 0;
		add_functions(debug, debug_entries(&die, &split), 0, &last);
	}
	sort_functions(debug);
}

/* Compilers add a dot and a word to the symbols of copies. */
static bool is_symbol_of(const char *name, const char *symbol)
{
	const size_t length = strlen(name);

	return length && !strncmp(name, symbol, length) &&
	       (!symbol[length] || symbol[length] == '.');
}

/*
 * Find the function with an address and a symbol; or, if there is none, the first one with the
 * address, which has another name. Returns 2, 1, or 0 if there is none.
 */
static int look_up(const struct debug *debug, u64 address, const char *symbol, Dwarf_Die *die)
{
	const size_t first = first_index(debug->nr_functions, i,
					 debug->functions[i].address < address);
	size_t i;

	for (i = first; i < debug->nr_functions && debug->functions[i].address == address; i++) {
		const bool same = is_symbol_of(debug->functions[i].symbol, symbol);

		if (i == first || same)
			*die = debug->functions[i].die;
		if (same)
			return 2;
	}
	return i > first;
}

/* Is a function before those whose code is that of others, and that have this symbol? */
static bool is_before(const struct debug_function *function, const char *symbol)
{
	return function->address < NOWHERE || strcmp(function->symbol, symbol) < 0;
}

/* Find a function whose code is that of another one; false if there are different ones. */
static bool look_up_nowhere(const struct debug *debug, const char *symbol, Dwarf_Die *die)
{
	size_t i = first_index(debug->nr_functions, i, is_before(debug->functions + i, symbol));
	Dwarf_Die found = { };

	for (; i < debug->nr_functions && !strcmp(debug->functions[i].symbol, symbol); i++) {
		Dwarf_Die other = debug->functions[i].die;

		if (found.addr && !debug_same_source(&found, &other))
			return false;
		found = other;
	}
	if (!found.addr)
		return false;
	*die = found;
	return true;
}

/* Look in the unit that has the address according to .debug_aranges, if there is one. */
static int look_up_in_unit(struct debug *debug, u64 address, const char *symbol, Dwarf_Die *die)
{
	struct debug unit = { };
	Dwarf_Die entry, split = { };
	Dwarf_Off last = 0;
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(debug->file.module, &bias);
	int result;

	if (!dwarf || !dwarf_addrdie(dwarf, address, &entry) ||
	    dwarf_cu_info(entry.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL))
		return 0;
	add_functions(&unit, debug_entries(&entry, &split), 0, &last);
	sort_functions(&unit);
	result = look_up(&unit, address, symbol, die);
	if (result != 2 && look_up_nowhere(&unit, symbol, die))
		result = 2;
	free(unit.functions);
	return result;
}

/* Has an entry, or a namespace in it, anything but functions? */
static bool has_types(Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;
	int result;

	for (result = dwarf_child(parent, &die); !result; result = debug_sibling(&die)) {
		const int tag = dwarf_tag(&die);

		if (tag == DW_TAG_namespace || tag == DW_TAG_module) {
			if (depth < DEPTH_MAX && has_types(&die, depth + 1))
				return true;
		} else if (tag != DW_TAG_subprogram) {
			return true;
		}
	}
	return false;
}

/* The same for a unit, whose functions are usually asked for one after the other. */
static bool unit_has_types(struct debug *debug, Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin, unit;

	/* With link-time optimization, it is in the unit of the source, and its code in another. */
	if (dwarf_attr(function, DW_AT_abstract_origin, &attribute) &&
	    dwarf_formref_die(&attribute, &origin))
		function = &origin;
	if (!dwarf_diecu(function, &unit, NULL, NULL))
		return true;
	if (debug->unit != unit.addr) {
		debug->unit = unit.addr;
		debug->unit_has_types = has_types(&unit, 0);
	}
	return debug->unit_has_types;
}

bool debug_has_parameters(struct debug *debug, Dwarf_Die *function)
{
	Dwarf_Die die;
	int result;

	if (dwarf_hasattr_integrate(function, DW_AT_type) ||
	    dwarf_hasattr_integrate(function, DW_AT_prototyped))
		return true;
	for (result = dwarf_child(function, &die); !result; result = debug_sibling(&die))
		if (dwarf_tag(&die) == DW_TAG_formal_parameter)
			return true;
	return unit_has_types(debug, function);
}

int debug_function(struct debug *debug, u64 address, const char *symbol, Dwarf_Die *die)
{
	int result;

	/* Units of a few functions are read faster than all. */
	if (!debug->indexed && debug->looked_up++ < FEW_FUNCTIONS &&
	    look_up_in_unit(debug, address, symbol, die) == 2)
		return 0;
	if (!debug->indexed)
		index_functions(debug);
	result = look_up(debug, address, symbol, die);
	return result == 2 || look_up_nowhere(debug, symbol, die) || result ? 0 : -1;
}
