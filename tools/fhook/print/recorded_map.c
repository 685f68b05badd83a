// SPDX-License-Identifier: GPL-2.0
/* The map that a recording is decoded with; the header describes it. */
#include <stdlib.h>
#include "recorded_map.h"

static int read_own(struct map *map, const struct recording *recording, struct fault *fault)
{
	char *path = recording_path(recording, "map");
	int result;

	if (!path)
		return fault_say(fault, "there is not enough memory");
	result = map_read_file(map, path, fault);
	free(path);
	return result;
}

int recorded_map_read(struct map *map, const struct recording *recording,
		      const struct map_choice *choice, struct fault *fault)
{
	size_t i;
	int result;

	if (recording->profile == PROFILE_BRANCHES)
		return fault_say(fault,
				 "%s is a trace of all branches: it can be measured, but has no stubs to decode",
				 recording->directory);
	result = choice->nr ? map_read_files(map, choice->paths, choice->nr, fault) :
		 read_own(map, recording, fault);
	if (!result && !choice->raw)
		map_clean_names(map);
	for (i = 0; !result && i < recording->nr_loads; i++)
		result = map_load(map, recording->loads[i].object, recording->loads[i].bias,
				  fault);
	return result;
}
