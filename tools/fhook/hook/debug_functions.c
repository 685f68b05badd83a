// SPDX-License-Identifier: GPL-2.0
/* Functions of a program's debug information, by their addresses */
#include <dwarf.h>
#include <stdlib.h>
#include "debug.h"

/* Namespaces in namespaces. */
#define DEPTH_MAX	16
/* Parts of a function, such as a cold one. */
#define PARTS_MAX	16
/* More are looked up in an index of all. */
#define FEW_FUNCTIONS	100

/* Add a function under the start of each of its parts, the first of which is its entry. */
static void add_function(struct debug *debug, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	unsigned int i;

	for (i = 0; i < PARTS_MAX; i++) {
		offset = dwarf_ranges(die, offset, &base, &start, &end);
		if (offset <= 0 || grow(&debug->functions, &debug->room_functions,
					debug->nr_functions, sizeof(*debug->functions)))
			return;
		debug->functions[debug->nr_functions++] =
			(struct debug_function) { .address = start, .die = *die };
	}
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

	return x->address < y->address ? -1 : x->address > y->address;
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
	Dwarf *dwarf = dwfl_module_getdwarf(debug->module, &bias);
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

static int look_up(const struct debug *debug, u64 address, Dwarf_Die *die)
{
	const size_t first = first_index(debug->nr_functions, i,
					 debug->functions[i].address < address);

	if (first == debug->nr_functions || debug->functions[first].address != address)
		return -1;
	*die = debug->functions[first].die;
	return 0;
}

/* Look in the unit that has the address according to .debug_aranges, if there is one. */
static int look_up_in_unit(struct debug *debug, u64 address, Dwarf_Die *die)
{
	struct debug unit = { };
	Dwarf_Die entry, split = { };
	Dwarf_Off last = 0;
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(debug->module, &bias);
	int result;

	if (!dwarf || !dwarf_addrdie(dwarf, address, &entry) ||
	    dwarf_cu_info(entry.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL))
		return -1;
	add_functions(&unit, debug_entries(&entry, &split), 0, &last);
	sort_functions(&unit);
	result = look_up(&unit, address, die);
	free(unit.functions);
	return result;
}

int debug_function(struct debug *debug, u64 address, Dwarf_Die *die)
{
	/* Units of a few functions are read faster than all. */
	if (!debug->indexed && debug->looked_up++ < FEW_FUNCTIONS &&
	    !look_up_in_unit(debug, address, die))
		return 0;
	if (!debug->indexed)
		index_functions(debug);
	return look_up(debug, address, die);
}
