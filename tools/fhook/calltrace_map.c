// SPDX-License-Identifier: GPL-2.0
/* fhook calltrace map: the map of linked files that have stubs. */
#include <argp.h>
#include <stdio.h>
#include "calltrace.h"
#include "lib/elf_map.h"

static error_t parse(int key, char *word __unused, struct argp_state *state)
{
	int *first = state->input;

	if (key == ARGP_KEY_NO_ARGS)
		argp_usage(state);
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	*first = state->next - 1;
	state->next = state->argc;
	return 0;
}

int calltrace_map(int argc, char **argv, struct fault *fault)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "FILE...",
		.doc = "Print the map of programs and libraries that have stubs.",
	};
	int first = 0;

	argv[0] = "fhook calltrace map";
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &first);
	return elf_map_write(argv + first, argc - first, stdout, fault);
}
