/* SPDX-License-Identifier: GPL-2.0 */
/* Commands with subcommands: selecting a subcommand by its name, and listing them. */
#ifndef FHOOK_COMMAND_H
#define FHOOK_COMMAND_H

#include "base.h"

/**
 * struct command - a subcommand
 * @name: name of the subcommand
 * @run: called with the arguments from the name on; returns the exit status, or -1 and a
 *	sentence
 * @brief: description for the help
 */
struct command {
	const char *name;
	int (*run)(int argc, char **argv, struct fault *fault);
	const char *brief;
};

/**
 * command_run - run the subcommand that the first argument names
 * @commands: the subcommands; the last element has no name
 * @does: description of the command for the help, a sentence
 * @argc: number of arguments
 * @argv: arguments; the first is the name of the command for messages
 * @fault: receives a sentence
 *
 * Returns the result of the subcommand, and ends the program if there is none to run.
 */
int command_run(const struct command *commands, const char *does, int argc, char **argv,
		struct fault *fault);

/* The path of a program in PATH, to be freed; or NULL if there is none. */
char *program_in_path(const char *name);

/* Is the standard output a pipe that nobody reads any more? */
bool is_closed_pipe(void);

/* Write the sentence on a standard output that cannot be written; returns -1. */
int output_fault(struct fault *fault);

/* Let the program fail if it ends with success, as after --help, and its output was not written. */
void output_check_at_exit(void);

/*
 * The path of a file of this program, which is to be freed, or NULL: in ../lib/fhook if it
 * was installed, otherwise beside the program.
 */
char *own_file(const char *name);

#endif /* FHOOK_COMMAND_H */
