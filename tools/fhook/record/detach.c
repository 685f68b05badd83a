// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace detach: remove the kernel's stubs from single programs
 *
 * Those of the others stay.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "calltrace.h"
#include "lib/kernel_files.h"

#define PROGRAMS	"fhook/calltrace/programs"

enum { KEY_TRACEFS = 256 };

/**
 * struct detach - options of the command line
 * @paths: programs to detach
 * @nr_paths: number of programs
 * @tracefs: directory of the kernel's files; NULL: the mounted tracefs
 */
struct detach {
	char **paths;
	size_t nr_paths;
	const char *tracefs;
};

static error_t parse(int key, char *word, struct argp_state *state)
{
	struct detach *detach = state->input;

	switch (key) {
	case KEY_TRACEFS:
		detach->tracefs = word;
		return 0;
	case ARGP_KEY_ARGS:
		detach->paths = state->argv + state->next;
		detach->nr_paths = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Does the line, "PATH @ADDRESS OFFSET...", have this path? */
static bool has_path(const char *line, const char *path)
{
	const size_t length = strlen(path);

	return !strncmp(line, path, length) && line[length] == ' ';
}

/* The kernel has the path that attach found, which may no longer exist. */
static bool is_program(const char *line, const char *name)
{
	char *path = realpath(name, NULL);
	const bool is = has_path(line, name) || (path && has_path(line, path));

	free(path);
	return is;
}

static bool is_listed(const struct detach *detach, const char *line)
{
	size_t i;

	for (i = 0; i < detach->nr_paths; i++)
		if (is_program(line, detach->paths[i]))
			return true;
	return false;
}

/* A program may be listed in several lines, of which one removal removes all. */
static bool is_repeated(char **lines, size_t nr)
{
	const size_t length = strcspn(lines[nr], " ");
	size_t i;

	for (i = 0; i < nr; i++)
		if (strcspn(lines[i], " ") == length && !strncmp(lines[i], lines[nr], length))
			return true;
	return false;
}

/* Split the text into lines, without comments; returns their number. */
static size_t split(char *text, char **lines)
{
	size_t nr = 0;
	char *line;

	while ((line = strsep(&text, "\n")))
		if (*line && *line != '#')
			lines[nr++] = line;
	return nr;
}

static int check(const struct detach *detach, char **lines, size_t nr, struct fault *fault)
{
	size_t i, j;

	for (i = 0; i < detach->nr_paths; i++) {
		for (j = 0; j < nr && !is_program(lines[j], detach->paths[i]); j++)
			;
		if (j == nr)
			return fault_say(fault,
					 "%s is not attached: %s/" PROGRAMS " lists the programs",
					 detach->paths[i], kernel_files_path());
	}
	return 0;
}

/* All at once: the kernel removes each program that has such a path, or none. */
static int remove_listed(const struct detach *detach, char **lines, size_t nr,
			 struct fault *fault)
{
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);
	int result;

	if (!out)
		return fault_say(fault, "there is not enough memory");
	for (i = 0; i < nr; i++)
		if (is_listed(detach, lines[i]) && !is_repeated(lines, i))
			fprintf(out, "!%.*s\n", (int)strcspn(lines[i], " "), lines[i]);
	result = fclose(out) ? fault_say(fault, "there is not enough memory") :
			       kernel_file_append(PROGRAMS, text, fault);
	free(text);
	return result;
}

static int detach_all(const struct detach *detach, struct fault *fault)
{
	char *text = kernel_file_read(PROGRAMS, fault), **lines;
	int result = -1;
	size_t nr;

	if (!text)
		return -1;
	/* A line has at least two letters, one of them its end. */
	lines = calloc(strlen(text) / 2 + 1, sizeof(*lines));
	if (lines) {
		nr = split(text, lines);
		result = check(detach, lines, nr, fault) ?:
			 remove_listed(detach, lines, nr, fault);
	} else {
		fault_say(fault, "there is not enough memory");
	}
	free(lines);
	free(text);
	return result;
}

int calltrace_detach(int argc, char **argv, struct fault *fault)
{
	static const struct argp_option options[] = {
		{ "tracefs", KEY_TRACEFS, "DIRECTORY", 0,
		  "The kernel's files (default: where tracefs is mounted)" },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE...",
		.doc = "Remove the stubs that attach has put into programs. Others keep theirs.",
	};
	struct detach detach = { 0 };
	int result;

	argv[0] = "fhook calltrace detach";
	argp_parse(&argp, argc, argv, 0, NULL, &detach);
	if (kernel_files_open(detach.tracefs, fault))
		return -1;
	result = detach_all(&detach, fault);
	kernel_files_close();
	return result;
}
