/* SPDX-License-Identifier: GPL-2.0 */
/* Commands that have commands: the word that says which, and the list of them. */
#ifndef FHOOK_COMMAND_H
#define FHOOK_COMMAND_H

#include "base.h"

/**
 * struct command - one of them
 * @name: the word
 * @run: with the arguments from the word on; returns the exit status, or -1 and a sentence
 * @brief: what the help says of it
 */
struct command {
	const char *name;
	int (*run)(int argc, char **argv, struct fault *fault);
	const char *brief;
};

/**
 * command_run - run the command that the first argument names
 * @commands: those that there are; the last one has no name
 * @does: what they are, a sentence for the help
 * @argc: how many arguments there are
 * @argv: they; the first is what is called, as it is to be seen
 * @fault: receives a sentence
 *
 * Returns what the command returns, and ends the program where there is none to run.
 */
int command_run(const struct command *commands, const char *does, int argc, char **argv,
		struct fault *fault);

/* The path of a file beside this program, which is to be freed, or NULL. */
char *own_file(const char *name);

#endif /* FHOOK_COMMAND_H */
