/* SPDX-License-Identifier: GPL-2.0 */
/* What the ways to record a program share. */
#ifndef FHOOK_RECORD_H
#define FHOOK_RECORD_H

#include "base.h"

enum record_how {
	RECORD_BEST,
	RECORD_PLUGIN,
	RECORD_HARDWARE,
	RECORD_SOFTWARE,
};

/**
 * struct record - what the command line says
 * @directory: where to
 * @map: of the stubs; not needed by the software recorder
 * @profile: its name
 * @program: the path of what is run
 * @argv: its arguments, the first one being its name
 * @how: with what
 * @own_map: the map is a temporary file
 */
struct record {
	const char *directory, *map, *profile;
	char *program;
	char **argv;
	enum record_how how;
	bool own_map;
};

/* Run a program to its end; one that fails is a failure. */
int record_run(char **argv, struct fault *fault);

int record_hardware(struct record *record, struct fault *fault);

#endif /* FHOOK_RECORD_H */
