// SPDX-License-Identifier: GPL-2.0
/* Debug information of a program; the header describes it. */
#include <dwarf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "debug.h"

int debug_open(struct debug *debug, const char *path, struct fault *fault)
{
	return debug_file_open(&debug->file, path, fault);
}

void debug_close(struct debug *debug)
{
	debug_file_close(&debug->file);
	free(debug->functions);
	free(debug->unread);
	debug_free_types(debug);
	memset(debug, 0, sizeof(*debug));
}

const char *debug_symbols(struct debug *debug)
{
	return debug_file_symbols(&debug->file);
}

Dwarf *debug_dwarf(struct debug *debug, const char *path, struct fault *fault)
{
	Dwarf_Addr bias;
	Dwarf *dwarf = NULL;

	if (!debug_open(debug, path, fault))
		dwarf = dwfl_module_getdwarf(debug->file.module, &bias);
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

Dwarf_Die *debug_entries(Dwarf_Die *unit, Dwarf_Die *split)
{
	return dwarf_tag(unit) != DW_TAG_type_unit && split->cu ? split : unit;
}

/* The unit with an address whose other part, which is in a split DWARF file, is not found. */
static bool find_skeleton(struct debug *debug, u64 address, Dwarf_Die *skeleton)
{
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(debug->file.module, &bias);
	Dwarf_CU *unit = NULL;
	Dwarf_Die split;
	u8 type;

	while (dwarf && !dwarf_get_units(dwarf, unit, &unit, NULL, &type, skeleton, &split))
		if (type == DW_UT_skeleton && !split.cu && dwarf_haspc(skeleton, address) == 1)
			return true;
	return false;
}

static const char *string_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

/* Is a file in a directory, or in that of the program? */
static bool exists(const char *directory, const char *name, const char *program)
{
	const char *slash = strrchr(program, '/');
	char path[2 * PATH_MAX];

	if (*name == '/')
		return !access(name, F_OK);
	snprintf(path, sizeof(path), "%s/%s", directory ? directory : ".", name);
	if (!access(path, F_OK))
		return true;
	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - program) : 0, program,
		 name);
	return !access(path, F_OK);
}

/* Say why the other part of a unit is not found. */
static int say_unread(Dwarf_Die *unit, const char *path, const char *function,
		      struct fault *fault)
{
	const char *name = string_of(unit, DW_AT_dwo_name) ?: string_of(unit, DW_AT_GNU_dwo_name);
	const char *directory = string_of(unit, DW_AT_comp_dir);
	char package[PATH_MAX];

	name = name ? name : "a file without a name";
	snprintf(package, sizeof(package), "%s.dwp", path);
	if (exists(directory, name, path))
		return fault_say(fault,
				 "the debug information of %s is in %s, which libdw %s cannot read: build without -fdebug-types-section",
				 function, name, dwfl_version(NULL));
	if (!access(package, F_OK))
		return fault_say(fault,
				 "the debug information of %s is in %s, which libdw %s cannot read: keep %s",
				 function, package, dwfl_version(NULL), name);
	return fault_say(fault,
			 "the debug information of %s is in %s, which is missing: it was made in %s",
			 function, name, directory ? directory : "an unknown directory");
}

int debug_say_missing(struct debug *debug, const char *path, const char *function, u64 address,
		      struct fault *fault)
{
	Dwarf_Die unit;

	if (!find_skeleton(debug, address, &unit))
		return fault_say(fault,
				 "the debug information of %s does not have %s: build its file with -g",
				 path, function);
	say_unread(&unit, path, function, fault);
	if (!debug->nr_unread++)
		debug->unread = strdup(fault->text);
	return -1;
}

void debug_print_unread(const struct debug *debug)
{
	struct fault fault;

	if (!debug->unread)
		return;
	fault_say(&fault, "%s%s", debug->unread,
		  debug->nr_unread > 1 ? "; that of other functions is not read either" : "");
	fault_print("fhook", &fault);
}
