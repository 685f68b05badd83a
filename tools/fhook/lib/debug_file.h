/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program in a session of libdwfl, and its separate debug file
 *
 * libdwfl finds the debug file: by build id below /usr/lib/debug/.build-id, by .gnu_debuglink,
 * or from the servers in DEBUGINFOD_URLS.
 */
#ifndef FHOOK_DEBUG_FILE_H
#define FHOOK_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include "base.h"

/**
 * struct debug_file - a program and its debug file
 * @dwfl: session of libdwfl, or NULL
 * @module: the program in the session
 * @separate: path of the separate debug file, or NULL
 */
struct debug_file {
	Dwfl *dwfl;
	Dwfl_Module *module;
	char *separate;
};

/* Begin with a program; debug_file_close() may be called in any case. */
int debug_file_open(struct debug_file *file, const char *path, struct fault *fault);
void debug_file_close(struct debug_file *file);

/* The separate file with the symbols of a stripped program, or NULL. */
const char *debug_file_symbols(struct debug_file *file);

#endif /* FHOOK_DEBUG_FILE_H */
