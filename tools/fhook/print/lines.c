// SPDX-License-Identifier: GPL-2.0
/* The lines of the source in which functions begin; the header describes them. */
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include "lines.h"
#include "object.h"

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static int no_memory(struct fault *fault)
{
	return fault_say(fault, "there is not enough memory for lines of the source");
}

/* Find the line of one function. It may have none. */
static int find_place(struct place *place, Dwfl_Module *module, u64 address, struct fault *fault)
{
	Dwfl_Line *line = dwfl_module_getsrc(module, address);
	const char *file = line ? dwfl_lineinfo(line, NULL, &place->line, NULL, NULL, NULL) : NULL;

	if (!file)
		return 0;
	place->file = strdup(file);
	if (!place->file)
		return no_memory(fault);
	text_clean(place->file);
	return 0;
}

/* Find the lines of the functions of one object. */
static int find(struct lines *lines, Dwfl *dwfl, const struct map *map, const char *file,
		struct fault *fault)
{
	const int object = object_find(map, file, fault);
	Dwfl_Module *module;
	Dwarf_Addr bias;
	size_t i;

	if (object < 0)
		return -1;
	dwfl_report_begin_add(dwfl);
	module = dwfl_report_offline(dwfl, file, file, -1);
	if (!module || dwfl_report_end(dwfl, NULL, NULL))
		return fault_say(fault, "the debug information of %s cannot be read: %s", file,
				 dwfl_errmsg(-1));
	if (!dwfl_module_getdwarf(module, &bias))
		return fault_say(fault,
				 "%s has no debug information: build it with -g, or install its debug symbols",
				 file);
	for (i = 0; i < lines->nr; i++)
		if (map->functions[i].object == object && !lines->places[i].file &&
		    find_place(&lines->places[i], module, map->functions[i].entry + bias, fault))
			return -1;
	return 0;
}

/* Copy the places that the map itself has: those of an interpreter's functions. */
static int copy_places(struct lines *lines, const struct map *map, struct fault *fault)
{
	size_t i;

	for (i = 0; i < lines->nr; i++) {
		const struct map_function *function = &map->functions[i];
		struct place *place = &lines->places[i];

		if (!function->line)
			continue;
		place->line = function->line;
		place->file = strdup(map->strings[function->file]);
		if (!place->file)
			return no_memory(fault);
	}
	return 0;
}

bool lines_are_known(const struct map *map)
{
	size_t i;

	for (i = 0; i < map->nr_functions; i++)
		if (map->functions[i].line)
			return true;
	return false;
}

int lines_find(struct lines *lines, const struct map *map, const char *const *files, size_t count,
	       struct fault *fault)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);
	int result = 0;
	size_t i;

	lines->nr = map->nr_functions;
	lines->places = calloc(lines->nr + 1, sizeof(*lines->places));
	if (!lines->places || !dwfl)
		result = no_memory(fault);
	else
		result = copy_places(lines, map, fault);
	for (i = 0; i < count && !result; i++)
		result = find(lines, dwfl, map, files[i], fault);
	if (dwfl)
		dwfl_end(dwfl);
	return result;
}

void lines_free(struct lines *lines)
{
	size_t i;

	for (i = 0; lines->places && i < lines->nr; i++)
		free(lines->places[i].file);
	free(lines->places);
}
