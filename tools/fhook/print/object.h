/* SPDX-License-Identifier: GPL-2.0 */
/* The object of a map that is a file, by its build id */
#ifndef FHOOK_PRINT_OBJECT_H
#define FHOOK_PRINT_OBJECT_H

#include "lib/map.h"

/* The index of the object; -1 and a sentence if the file is of another build, or none. */
int object_find(const struct map *map, const char *path, struct fault *fault);

#endif /* FHOOK_PRINT_OBJECT_H */
