/* SPDX-License-Identifier: GPL-2.0 */
/* The map that a recording is decoded with */
#ifndef FHOOK_PRINT_RECORDED_MAP_H
#define FHOOK_PRINT_RECORDED_MAP_H

#include "lib/map.h"
#include "lib/recording.h"

/**
 * struct map_choice - how a map is read
 * @paths: maps to use instead of the recording's
 * @nr: number of elements of @paths; 0: the recording's map
 * @raw: the output escapes control characters in names; otherwise they are replaced
 */
struct map_choice {
	const char *const *paths;
	size_t nr;
	bool raw;
};

/*
 * Read the map of a recording, with the locations of objects. Returns 0, or -1 and a sentence,
 * also for a recording that no map can decode. map_free() may be called in any case.
 */
int recorded_map_read(struct map *map, const struct recording *recording,
		      const struct map_choice *choice, struct fault *fault);

#endif /* FHOOK_PRINT_RECORDED_MAP_H */
