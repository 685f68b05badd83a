/* SPDX-License-Identifier: GPL-2.0 */
/* The names that are printed for the functions of a map */
#ifndef FHOOK_PRINT_NAMES_H
#define FHOOK_PRINT_NAMES_H

#include "lib/map.h"

/**
 * struct names - names of the functions of a map
 * @text: the name of each function, by its index: the map's or one of @own
 * @own: the names that are not the map's: demangled ones
 * @nr_own: number of elements of @own
 * @room_own: number of elements that @own has room for
 */
struct names {
	const char **text;
	char **own;
	size_t nr_own, room_own;
};

/* Find the names of all functions. Returns 0, or -1 and a sentence. */
int names_find(struct names *names, const struct map *map, struct fault *fault);
void names_free(struct names *names);

#endif /* FHOOK_PRINT_NAMES_H */
