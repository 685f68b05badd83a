// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the command of the host
 *
 * Only this file prints a failure, and only here the program ends.
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>
#include "calltrace.h"

const char *argp_program_version = "fhook 1";

struct command {
	const char *name;
	int (*run)(int argc, char **argv, struct fault *fault);
};

static const struct command commands[] = {
	{ "calltrace", calltrace_main },
};

struct arguments {
	const struct command *command;
	int first;
};

static error_t parse(int key, char *word, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	unsigned int i;

	if (key == ARGP_KEY_NO_ARGS)
		argp_usage(state);
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, word))
			arguments->command = &commands[i];
	if (!arguments->command)
		argp_error(state, "there is no command '%s'", word);
	/* The rest is the command's. */
	arguments->first = state->next - 1;
	state->next = state->argc;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "COMMAND [ARGUMENT...]",
		.doc = "Function hooks for Linux: the tools of the host. See calltrace --help.",
	};
	struct arguments arguments = { 0 };
	struct fault fault;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments);
	if (arguments.command->run(argc - arguments.first, argv + arguments.first, &fault)) {
		fault_print("fhook", &fault);
		return 1;
	}
	return 0;
}
