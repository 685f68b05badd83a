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
	free(debug->unread);
	debug_free_types(debug);
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

Dwarf_Die *debug_entries(Dwarf_Die *unit, Dwarf_Die *split)
{
	return dwarf_tag(unit) != DW_TAG_type_unit && split->cu ? split : unit;
}

/* The unit with an address whose other part, which is in a split DWARF file, is not found. */
static bool find_skeleton(struct debug *debug, u64 address, Dwarf_Die *skeleton)
{
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(debug->module, &bias);
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
		return fault_say(fault, "the debug information of %s does not have %s", path,
				 function);
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
