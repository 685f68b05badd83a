// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace: find the subcommand
 *
 * Those that need large libraries are programs of their own, "fhook-NAME" beside
 * this one.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "calltrace.h"

struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv, struct fault *fault);
	const char *brief;
};

static const struct subcommand subcommands[] = {
	{ "record", calltrace_record, "run a program and record its calls" },
	{ "print", calltrace_print, "print what was recorded" },
	{ "import", calltrace_import, "make a recording of perf's" },
	{ "map", calltrace_map, "print the map of a program that has stubs" },
	{ "instrument-ir", NULL, "put stubs into LLVM bitcode" },
	{ "instrument-source", NULL, "put stubs into C or C++ source" },
	{ "rewrite", NULL, "put stubs into an executable file" },
};

char *own_file(const char *name)
{
	char program[4096], *slash, *path;
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (length < 0)
		return NULL;
	program[length] = '\0';
	slash = strrchr(program, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	return asprintf(&path, "%s/%s", program, name) < 0 ? NULL : path;
}

static int execute(char **argv, struct fault *fault)
{
	char name[64], *path;

	snprintf(name, sizeof(name), "fhook-%s", argv[0]);
	path = own_file(name);
	if (path)
		execv(path, argv);
	fault_say(fault,
		  "%s cannot be run: %s; it is built beside fhook, if its libraries are there",
		  path ? path : name, strerror(errno));
	free(path);
	return -1;
}

/* The list of subcommands, for the help. */
static char *help(int key, const char *text, void *input __unused)
{
	char *list = NULL;
	size_t size, i;
	FILE *file;

	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	file = open_memstream(&list, &size);
	if (!file)
		return NULL;
	fputs("Commands:\n", file);
	for (i = 0; i < ARRAY_SIZE(subcommands); i++)
		fprintf(file, "  %-18s %s\n", subcommands[i].name, subcommands[i].brief);
	fclose(file);
	return list;
}

struct arguments {
	const struct subcommand *subcommand;
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
	for (i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (!strcmp(subcommands[i].name, word))
			arguments->subcommand = &subcommands[i];
	if (!arguments->subcommand)
		argp_error(state, "there is no command '%s'", word);
	arguments->first = state->next - 1;
	state->next = state->argc;
	return 0;
}

int calltrace_main(int argc, char **argv, struct fault *fault)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "COMMAND [ARGUMENT...]",
		.doc = "Whole sequences of calls, from the processor's trace.\v",
		.help_filter = help,
	};
	struct arguments arguments = { 0 };

	argv[0] = "fhook calltrace";
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments);
	argc -= arguments.first;
	argv += arguments.first;
	if (!arguments.subcommand->run)
		return execute(argv, fault);
	return arguments.subcommand->run(argc, argv, fault);
}
