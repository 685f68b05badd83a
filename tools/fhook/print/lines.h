/* SPDX-License-Identifier: GPL-2.0 */
/* The lines of the source in which functions begin, by the debug information of their files */
#ifndef FHOOK_PRINT_LINES_H
#define FHOOK_PRINT_LINES_H

#include "decode/sink.h"

/**
 * struct lines - the lines of the functions of a map
 * @places: the place of each function, by its index
 * @nr: number of elements of @places
 */
struct lines {
	struct place *places;
	size_t nr;
};

/* Does the map itself have lines of functions? */
bool lines_are_known(const struct map *map);

/*
 * Find the lines of the functions of these files, each of which must be an object of the map.
 * Returns 0, or -1 and a sentence. lines_free() may be called in any case.
 */
int lines_find(struct lines *lines, const struct map *map, const char *const *files, size_t count,
	       struct fault *fault);
void lines_free(struct lines *lines);

#endif /* FHOOK_PRINT_LINES_H */
