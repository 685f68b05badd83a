// SPDX-License-Identifier: GPL-2.0
/* The object of a map that is a file; the header describes it. */
#include <string.h>
#include "lib/elf_image.h"
#include "object.h"

int object_find(const struct map *map, const char *path, struct fault *fault)
{
	char build_id[BUILD_ID_TEXT];
	struct elf_image image;
	size_t i;

	if (elf_open(&image, path, fault))
		return -1;
	build_id_text(&image, build_id);
	elf_close(&image);
	if (!strcmp(build_id, "-"))
		return fault_say(fault,
				 "%s has no build id, so that nobody knows whether the recording is of it",
				 path);
	for (i = 0; i < map->nr_objects; i++)
		if (!strcmp(map->objects[i].build_id, build_id))
			return i;
	if (map->nr_objects == 1)
		return fault_say(fault,
				 "%s has build id %s, but the recording is of %s with build id %s",
				 path, build_id, map->objects[0].name, map->objects[0].build_id);
	return fault_say(fault, "%s has build id %s, and the recording has no object of this build",
			 path, build_id);
}
