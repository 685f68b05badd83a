// SPDX-License-Identifier: GPL-2.0
/* Options that several words of fhook share; the header describes them. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "options.h"
#include "program.h"

/* Options in the order of the help. */
static const struct argp_option all[] = {
	{ "output", 'o', "FILE", 0,
	  "Write to this file, instead of trace.dat or the standard output" },
	{ "program", 'p', "PROGRAM|PID", 0,
	  "Functions of a program, library or process, instead of the kernel's" },
	{ "interval", 'i', "SECONDS", 0, "Time between two outputs" },
	{ "duration", 'd', "SECONDS", 0, "Stop after this time, instead of at Ctrl-C" },
	{ "by", 'b', "comm|pid|cpu", 0, "Separate the calls by this" },
	{ "lines", 'n', "NUMBER", 0, "Print this many lines of a table at most" },
	{ "hist", 'H', NULL, 0, "Print a histogram of each function" },
	{ "returns", 'r', NULL, 0, "Record returns instead of calls" },
	{ "stack", 's', NULL, 0, "Record the stack" },
	{ "folded", 'f', NULL, 0, "Print a stack per line, outermost function first" },
	{ "flame", 'F', "FILE.svg|FILE.html", 0, "Write a flame graph" },
	{ "json", 'j', NULL, 0, "Print JSON" },
	{ "mainline", 'm', NULL, 0, "Use mainline's probes, for comparison" },
	{ "verbose", 'v', NULL, 0, "Print more" },
	{ }
};

/**
 * struct parsing - arguments while they are parsed
 * @word: the word that takes them
 * @options: receives them
 */
struct parsing {
	const struct word *word;
	struct options *options;
};

static double time_of(struct argp_state *state, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0 && value < 1e9))
		argp_error(state, "'%s' is not a time in seconds", text);
	return value;
}

static void add_function(struct argp_state *state, struct options *options, char *text)
{
	if (grow(&options->functions, &options->room_functions, options->nr_functions,
		 sizeof(char *)))
		argp_failure(state, 1, 0, "there is not enough memory");
	options->functions[options->nr_functions++] = text;
}

static void set_by(struct argp_state *state, struct options *options, const char *text)
{
	if (strcmp(text, "comm") && strcmp(text, "pid") && strcmp(text, "cpu"))
		argp_error(state, "--by takes comm, pid or cpu, not '%s'", text);
	options->by = text;
}

static void set_program(struct argp_state *state, struct options *options, const char *text)
{
	struct fault fault;

	free(options->program);
	options->pid = 0;
	options->program = program_find(text, &options->pid, &fault);
	if (!options->program)
		argp_failure(state, 1, 0, "%s", fault.text);
}

static void set_flame(struct argp_state *state, struct options *options, const char *text)
{
	const char *suffix = strrchr(text, '.');

	options->html = suffix && !strcmp(suffix, ".html");
	if (!options->html && (!suffix || strcmp(suffix, ".svg")))
		argp_error(state, "--flame writes FILE.svg or FILE.html, not '%s'", text);
	options->flame = text;
}

static void set_lines(struct argp_state *state, struct options *options, const char *text)
{
	u64 number;

	if (word_number(text, 10, 1000000, &number))
		argp_error(state, "'%s' is no number of lines", text);
	options->lines = number;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct options *options = ((struct parsing *)state->input)->options;

	switch (key) {
	case 'p':
		set_program(state, options, text);
		return 0;
	case 'i':
		options->interval = time_of(state, text);
		return 0;
	case 'd':
		options->duration = time_of(state, text);
		return 0;
	case 'b':
		set_by(state, options, text);
		return 0;
	case 'n':
		set_lines(state, options, text);
		return 0;
	case 'H':
		options->hist = true;
		return 0;
	case 'r':
		options->returns = true;
		return 0;
	case 's':
		options->stack = true;
		return 0;
	case 'f':
		options->folded = true;
		return 0;
	case 'F':
		set_flame(state, options, text);
		return 0;
	case 'o':
		options->output = text;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case 'm':
		options->mainline = true;
		return 0;
	case 'v':
		options->verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

bool options_only_exclude(const struct options *options)
{
	size_t i;

	for (i = 0; i < options->nr_functions && *options->functions[i] == '!'; i++)
		;
	return options->nr_functions && i == options->nr_functions;
}

/* One form of the output, which is not limited if it is no table. */
static void check_forms(struct argp_state *state, const struct options *options)
{
	if (!!options->flame + options->json + options->folded > 1)
		argp_error(state, "--flame, --json and --folded exclude each other: give one");
	if (options->flame && options->lines)
		argp_error(state, "--lines limits a table: leave it out with --flame");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct parsing *parsing = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		add_function(state, parsing->options, text);
		return 0;
	case ARGP_KEY_END:
		if (parsing->options->nr_functions < parsing->word->least)
			argp_error(state, "name at least one function");
		if (parsing->options->nr_functions && !*parsing->word->arguments)
			argp_error(state, "takes no arguments, but there is '%s'",
				   parsing->options->functions[0]);
		if (parsing->word->least && options_only_exclude(parsing->options))
			argp_error(state, "name at least one function that is not left out");
		check_forms(state, parsing->options);
		return 0;
	default:
		return parse_option(key, text, state);
	}
}

/* argp would mix the arguments before and after "--". Returns the number of those before. */
static int split_command(struct options *options, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		;
	if (i < argc - 1)
		options->command = argv + i + 1;
	if (i < argc)
		argv[i] = NULL;
	return i;
}

void options_parse(struct options *options, const struct word *word, int argc, char **argv)
{
	struct argp_option taken[ARRAY_SIZE(all)] = { };
	const struct argp argp = {
		.options = taken, .parser = parse, .args_doc = word->arguments, .doc = word->does,
	};
	struct parsing parsing = { word, options };
	unsigned int i, nr = 0;

	memset(options, 0, sizeof(*options));
	for (i = 0; all[i].key; i++)
		if (strchr(word->takes, all[i].key))
			taken[nr++] = all[i];
	argv[0] = (char *)word->name;
	argc = split_command(options, argc, argv);
	argp_parse(&argp, argc, argv, 0, NULL, &parsing);
	if (options->command && !strchr(word->takes, 'd'))
		options_wrong(word, "runs no command: leave out -- and what follows");
	if (options->command && !*options->command[0])
		options_wrong(word, "the name of the command after -- is empty: name a command");
}

void options_wrong(const struct word *word, const char *what)
{
	fprintf(stderr, "%s: %s\n", word->name, what);
	exit(argp_err_exit_status);
}

void options_free(struct options *options)
{
	free(options->functions);
	free(options->program);
}
