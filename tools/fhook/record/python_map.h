/* SPDX-License-Identifier: GPL-2.0 */
/* The map of a recording in which functions of Python have stubs, see python_stubs.h. */
#ifndef FHOOK_RECORD_PYTHON_MAP_H
#define FHOOK_RECORD_PYTHON_MAP_H

#include "record.h"

/**
 * struct python_map - the map, and the environment that has the program use it
 * @map: file with the map, to which the program appends its functions
 * @path: path of the map
 * @size: size of the map before the program runs
 * @preload: setting of LD_PRELOAD
 * @stubs: setting of PYTHON_STUB_MAP
 */
struct python_map {
	FILE *map;
	char *path;
	long size;
	char *preload, *stubs;
};

/* The libraries to be preloaded: fhook-python.so, and those that are preloaded anyway; or NULL. */
char *python_preload(struct fault *fault);

/* Make a map of the stubs of the program, or those of a map that was given, and of Python's. */
int python_map_make(struct python_map *python, const struct record *record, struct fault *fault);

/* Append the functions of Python to the maps of the recording and its children. */
int python_map_finish(const struct python_map *python, const struct record *record,
		      struct fault *fault);
void python_map_free(struct python_map *python);

#endif /* FHOOK_RECORD_PYTHON_MAP_H */
