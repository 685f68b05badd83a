/* SPDX-License-Identifier: GPL-2.0 */
/* The arguments of fhook calltrace print */
#ifndef FHOOK_PRINT_OPTIONS_H
#define FHOOK_PRINT_OPTIONS_H

#include "filter.h"
#include "lib/children.h"

#define PRINT_MAPS	16
#define PRINT_FILES	16

/**
 * struct print_options - arguments of the command
 * @ops: kind of output
 * @other: another kind that was given, which is an error; or NULL
 * @directories: directories of the recordings
 * @object: file that must be of the same build, or NULL
 * @maps: maps to use instead of the recording's
 * @nr_maps: number of elements of @maps
 * @files: files whose debug information has the lines of functions
 * @nr_files: number of elements of @files
 * @thread: the thread or task to print; -1: all
 * @choice: calls to print; its depth is that of the option
 * @has_depth: the option was given
 * @children: print the recordings of children, too
 * @given: bits of options that may be given once and have been given
 * @mangled: print names as the map has them
 */
struct print_options {
	const struct sink_ops *ops, *other;
	struct directories directories;
	const char *object, *maps[PRINT_MAPS];
	size_t nr_maps;
	const char *files[PRINT_FILES];
	size_t nr_files;
	s64 thread;
	struct filter_choice choice;
	u32 given;
	bool has_depth, children, mangled;
};

/*
 * Parse the arguments. Returns 0, or -1 and a sentence; ends the program if they are wrong, or
 * ask for help.
 */
int print_options_parse(struct print_options *options, int argc, char **argv, struct fault *fault);
void print_options_free(struct print_options *options);

#endif /* FHOOK_PRINT_OPTIONS_H */
