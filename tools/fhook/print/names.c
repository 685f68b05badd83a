// SPDX-License-Identifier: GPL-2.0
/* The names that are printed for the functions of a map; the header describes them. */
#include <stdlib.h>
#include "lib/demangle.h"
#include "names.h"

static int no_memory(struct fault *fault)
{
	return fault_say(fault, "there is not enough memory for the names of the functions");
}

int names_find(struct names *names, const struct map *map, struct fault *fault)
{
	char *name;
	size_t i;

	names->text = calloc(map->nr_functions + 1, sizeof(*names->text));
	if (!names->text)
		return no_memory(fault);
	for (i = 0; i < map->nr_functions; i++) {
		name = demangle(map_name(map, i));
		names->text[i] = name ?: map_name(map, i);
		if (!name)
			continue;
		text_clean(name);
		if (grow(&names->own, &names->room_own, names->nr_own, sizeof(*names->own))) {
			free(name);
			return no_memory(fault);
		}
		names->own[names->nr_own++] = name;
	}
	return 0;
}

void names_free(struct names *names)
{
	size_t i;

	for (i = 0; i < names->nr_own; i++)
		free(names->own[i]);
	free(names->own);
	free(names->text);
}
