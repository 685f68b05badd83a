// SPDX-License-Identifier: GPL-2.0
/* Debug information of a program; the header describes it. */
#include <dwarf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "debug.h"
#include "debug_fetch.h"
#include "lib/elf_image.h"

/* Namespaces in namespaces. */
#define DEPTH_MAX	16
/* Parts of a function, such as a cold one. */
#define PARTS_MAX	16
/* More are looked up in an index of all. */
#define FEW_FUNCTIONS	100

/* The path of a file that libdwfl has opened: it does not always know it itself. */
static char *path_of(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path));
	return length > 0 ? strndup(path, length) : NULL;
}

/* A file that was fetched before, if none may be fetched now. Returns a descriptor, or -1. */
static int find_fetched(Dwfl_Module *module, char **found)
{
	const unsigned char *bytes;
	char id[BUILD_ID_TEXT];
	GElf_Addr address;
	const int length = dwfl_module_build_id(module, &bytes, &address);
	int fd;

	if (length <= 0 || getenv("DEBUGINFOD_URLS"))
		return -1;
	build_id_of(bytes, length, id);
	*found = debug_fetch(id);
	fd = *found ? open(*found, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		free(*found);
		*found = NULL;
	}
	return fd;
}

static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word checksum, char **found)
{
	struct debug *debug = *data;
	int fd = dwfl_standard_find_debuginfo(module, data, name, base, file, link, checksum,
					      found);

	if (fd < 0)
		fd = find_fetched(module, found);
	if (fd >= 0) {
		free(debug->separate);
		debug->separate = path_of(fd);
	}
	return fd;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

int debug_open(struct debug *debug, const char *path, struct fault *fault)
{
	void **data;

	if (debug->dwfl)
		return 0;
	debug->dwfl = dwfl_begin(&callbacks);
	if (debug->dwfl)
		debug->module = dwfl_report_offline(debug->dwfl, "", path, -1);
	if (!debug->module || dwfl_report_end(debug->dwfl, NULL, NULL)) {
		fault_say(fault, "the debug information of %s cannot be read: %s", path,
			  dwfl_errmsg(-1));
		debug_close(debug);
		return -1;
	}
	debug_fetch_follow(debug->dwfl);
	dwfl_module_info(debug->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = debug;
	return 0;
}

void debug_close(struct debug *debug)
{
	if (debug->dwfl)
		dwfl_end(debug->dwfl);
	free(debug->separate);
	free(debug->functions);
	memset(debug, 0, sizeof(*debug));
}

const char *debug_symbols(struct debug *debug)
{
	/* For a stripped file, this looks for the debug file. */
	dwfl_module_getsymtab(debug->module);
	return debug->separate;
}

Dwarf *debug_dwarf(struct debug *debug, const char *path, struct fault *fault)
{
	Dwarf_Addr bias;
	Dwarf *dwarf = NULL;

	if (!debug_open(debug, path, fault))
		dwarf = dwfl_module_getdwarf(debug->module, &bias);
	if (!dwarf)
		fault_say(fault, "%s has no debug information: build it with -g, " DEBUG_HELP,
			  path);
	return dwarf;
}

int debug_sibling(Dwarf_Die *die)
{
	const Dwarf_Off before = dwarf_dieoffset(die);
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) || dwarf_dieoffset(&next) <= before)
		return -1;
	*die = next;
	return 0;
}

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

/* The entry that has a unit's functions and types: in split DWARF, it is in another file. */
static Dwarf_Die *entries_of(Dwarf_Die *unit, Dwarf_Die *split)
{
	return dwarf_tag(unit) != DW_TAG_type_unit && split->cu ? split : unit;
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
		add_functions(debug, entries_of(&die, &split), 0, &last);
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
	add_functions(&unit, entries_of(&entry, &split), 0, &last);
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

/* Is a type declared in no namespace, function or other type? */
static bool is_outermost(Dwarf_Die *die)
{
	Dwarf_Die unit, child;
	int result;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	for (result = dwarf_child(&unit, &child); !result; result = debug_sibling(&child))
		if (child.addr == die->addr)
			return true;
	return false;
}

/* May a type be declared with one of these tags, and defined with the other? */
static bool same_kind(int tag, int other)
{
	return tag == other ||
	       (tag == DW_TAG_class_type && other == DW_TAG_structure_type) ||
	       (tag == DW_TAG_structure_type && other == DW_TAG_class_type);
}

/* Do definitions with one name come from the same line? */
static bool same_definition(Dwarf_Die *one, Dwarf_Die *two)
{
	int lines[] = { 0, 0 }, i;
	const char *files[2];

	files[0] = dwarf_decl_file(one);
	files[1] = dwarf_decl_file(two);
	dwarf_decl_line(one, &lines[0]);
	dwarf_decl_line(two, &lines[1]);
	for (i = 0; i < 2; i++)
		if (files[i] && strrchr(files[i], '/'))
			files[i] = strrchr(files[i], '/') + 1;
	return dwarf_bytesize(one) == dwarf_bytesize(two) && lines[0] == lines[1] &&
	       (files[0] && files[1] ? !strcmp(files[0], files[1]) : files[0] == files[1]);
}

/* The definition of NAME among the entries of a unit. */
static bool find_definition(Dwarf_Die *unit, int tag, const char *name, Dwarf_Die *found)
{
	const char *other;
	int result;

	for (result = dwarf_child(unit, found); !result; result = debug_sibling(found)) {
		if (!same_kind(dwarf_tag(found), tag) || dwarf_hasattr(found, DW_AT_declaration))
			continue;
		other = dwarf_diename(found);
		if (other && !strcmp(other, name))
			return true;
	}
	return false;
}

int debug_structure(struct debug *debug, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	const int tag = dwarf_tag(die);
	Dwarf_Die split, unit_die, other, found = { };
	Dwarf_CU *unit = NULL;
	Dwarf_Addr bias;
	Dwarf *dwarf = NULL;

	if (name && is_outermost(die))
		dwarf = dwfl_module_getdwarf(debug->module, &bias);
	while (dwarf && !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &unit_die, &split)) {
		if (!find_definition(entries_of(&unit_die, &split), tag, name, &other))
			continue;
		if (found.addr && !same_definition(&found, &other))
			return -1;
		found = other;
	}
	if (!found.addr)
		return -1;
	*die = found;
	return 0;
}
