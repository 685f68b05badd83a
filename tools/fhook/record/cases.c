// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace cases: record test cases, and compare them with earlier recordings
 *
 * Each case is recorded by "fhook calltrace record" in a directory with the name of the case,
 * and compared by "fhook calltrace diff" with that of the baseline. The exit statuses of the
 * cases are in the file ".statuses" of the directory of all, and are compared as well.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "calltrace.h"
#include "cases.h"
#include "lib/recording.h"
#include "record.h"

/* No case has a name that begins so. */
#define STATUSES	".statuses"
/* The first of the options that have no letter. */
#define KEY_RECORDER	256

/**
 * struct cases - options of the command line, and what they refer to
 * @list: the cases
 * @path: path of the list
 * @output: directory of the recordings
 * @baseline: directory of earlier ones, or NULL
 * @counts: compare only numbers of calls
 * @how: recorder
 * @profile: name of the profile, or NULL
 * @statuses: file with the exit statuses
 */
struct cases {
	struct case_list list;
	const char *path, *output, *baseline;
	bool counts;
	enum record_how how;
	char *profile;
	FILE *statuses;
};

static error_t parse(int key, char *word, struct argp_state *state)
{
	struct cases *cases = state->input;
	struct fault fault;

	switch (key) {
	case 'o':
		cases->output = word;
		return 0;
	case 'b':
		cases->baseline = word;
		return 0;
	case 'c':
		cases->counts = true;
		return 0;
	case 'p':
		cases->profile = word;
		return 0;
	case KEY_RECORDER + RECORD_PLUGIN:
	case KEY_RECORDER + RECORD_HARDWARE:
	case KEY_RECORDER + RECORD_SOFTWARE:
	case KEY_RECORDER + RECORD_PYTHON:
		if (record_choose_how(&cases->how, key - KEY_RECORDER, &fault))
			argp_failure(state, 1, 0, "%s", fault.text);
		return 0;
	case ARGP_KEY_ARG:
		if (cases->path)
			argp_error(state, "'%s' is one list too many", word);
		cases->path = word;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void parse_arguments(int argc, char **argv, struct cases *cases)
{
	static const struct argp_option options[] = {
		{ "output", 'o', "DIRECTORY", 0,
		  "The recordings, one for each case (default: calltrace.cases)" },
		{ "baseline", 'b', "DIRECTORY", 0, "Compare with these recordings" },
		{ "counts", 'c', NULL, 0,
		  "Compare how often functions are called, and not in which order" },
		{ "profile", 'p', "NAME", 0, "As for fhook calltrace record" },
		{ "plugin", KEY_RECORDER + RECORD_PLUGIN, NULL, 0,
		  "As for fhook calltrace record" },
		{ "hardware", KEY_RECORDER + RECORD_HARDWARE, NULL, 0,
		  "As for fhook calltrace record" },
		{ "software", KEY_RECORDER + RECORD_SOFTWARE, NULL, 0,
		  "As for fhook calltrace record" },
		{ "python", KEY_RECORDER + RECORD_PYTHON, NULL, 0,
		  "As for fhook calltrace record" },
		{ }
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "LIST",
		.doc =
		"Record test cases, and compare them with earlier recordings.\vA line of the list is: NAME COMMAND..., or NAME COMMAND... < FILE.\n"
		"The status is 1 if a case differs from the baseline, has no recording, or cannot be compared.",
	};

	argv[0] = "fhook calltrace cases";
	argp_parse(&argp, argc, argv, 0, NULL, cases);
}

/* The exit status of this program with other arguments, or STATUS_UNKNOWN. */
static int run(char **argv, const char *input)
{
	posix_spawn_file_actions_t actions;
	int status, error;
	pid_t pid;

	fflush(stdout);
	if (posix_spawn_file_actions_init(&actions))
		return STATUS_UNKNOWN;
	error = input ? posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY,
							 0) : 0;
	error = error ?: posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error || waitpid(pid, &status, 0) != pid)
		return STATUS_UNKNOWN;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int record(const struct cases *cases, const struct test_case *test, char *directory)
{
	size_t count = 0, nr = 0;
	char **argv;
	int status;

	while (test->argv[count])
		count++;
	argv = calloc(count + 10, sizeof(*argv));
	if (!argv)
		return STATUS_UNKNOWN;
	argv[nr++] = "fhook";
	argv[nr++] = "calltrace";
	argv[nr++] = "record";
	if (cases->how == RECORD_PLUGIN_PYTHON)
		argv[nr++] = (char *)record_how_option(RECORD_PLUGIN);
	if (cases->how)
		argv[nr++] = (char *)record_how_option(cases->how);
	if (cases->profile) {
		argv[nr++] = "-p";
		argv[nr++] = cases->profile;
	}
	argv[nr++] = "-o";
	argv[nr++] = directory;
	memcpy(argv + nr, test->argv, count * sizeof(*argv));
	status = run(argv, test->input);
	free(argv);
	return status;
}

/* Compare two recordings. Returns 0, 1 if they differ, or another status. */
static int compare(const struct cases *cases, char *before, char *directory)
{
	char *argv[7] = { "fhook", "calltrace", "diff", before, directory };

	if (cases->counts)
		argv[5] = "--counts";
	return run(argv, NULL);
}

static bool has_recording(const char *directory)
{
	struct fault holds_one;

	return !access(directory, F_OK) && recording_check(directory, &holds_one);
}

/* The result of a case, and in *DIFFERS whether that is a failure. NULL without memory. */
static const char *do_case(const struct cases *cases, const struct test_case *test, bool *differs)
{
	char *directory = NULL, *before = NULL;
	const char *result = NULL;
	int status, compared;

	if (asprintf(&directory, "%s/%s", cases->output, test->name) < 0 ||
	    asprintf(&before, "%s/%s", cases->baseline ?: "", test->name) < 0)
		return NULL;
	status = record(cases, test, directory);
	if (!has_recording(directory)) {
		result = "no recording";
		*differs = true;
	} else {
		fprintf(cases->statuses, "%s %d\n", test->name, status);
		if (!cases->baseline)
			result = "recorded";
		else if (!has_recording(before))
			result = "new";
	}
	if (!result) {
		compared = compare(cases, before, directory);
		if (test->before != STATUS_UNKNOWN && test->before != status) {
			printf("! status %d, then %d\n", test->before, status);
			compared = compared ?: 1;
		}
		*differs |= compared;
		result = compared > 1 ? "not compared" : compared ? "differs" : "same";
	}
	free(directory);
	free(before);
	return result;
}

static FILE *open_statuses(const char *directory, const char *mode)
{
	FILE *file = NULL;
	char *path;

	if (asprintf(&path, "%s/" STATUSES, directory) < 0)
		return NULL;
	file = fopen(path, mode);
	free(path);
	return file;
}

/* A baseline may lack the statuses, or have cases that are no longer in the list. */
static void read_statuses(struct cases *cases)
{
	FILE *file = open_statuses(cases->baseline, "re");
	char *line = NULL, *words[3];
	size_t room = 0, i;
	u64 status;

	while (file && line_read(&line, &room, file) >= 0) {
		if (words_split(line, words, 3) != 2 || word_number(words[1], 10, 255, &status))
			continue;
		for (i = 0; i < cases->list.nr; i++) {
			if (!strcmp(cases->list.cases[i].name, words[0]))
				cases->list.cases[i].before = status;
		}
	}
	free(line);
	if (file)
		fclose(file);
}

/* Check everything that can be checked, and make the directory. */
static int prepare(struct cases *cases, struct fault *fault)
{
	struct stat baseline;

	if (case_list_read(&cases->list, cases->path, fault))
		return -1;
	if (cases->baseline && (stat(cases->baseline, &baseline) || !S_ISDIR(baseline.st_mode)))
		return fault_say(fault, "the baseline %s is no directory", cases->baseline);
	if (mkdir(cases->output, 0777))
		return fault_say(fault, "%s cannot be made: %s: choose another by -o",
				 cases->output, strerror(errno));
	cases->statuses = open_statuses(cases->output, "wxe");
	if (!cases->statuses)
		return fault_say(fault, "%s/" STATUSES " cannot be written: %s", cases->output,
				 strerror(errno));
	if (cases->baseline)
		read_statuses(cases);
	return 0;
}

int calltrace_cases(int argc, char **argv, struct fault *fault)
{
	struct cases cases = { .output = "calltrace.cases" };
	const char *result;
	bool differs = false;
	size_t i;
	int ret;

	parse_arguments(argc, argv, &cases);
	ret = prepare(&cases, fault);
	for (i = 0; !ret && i < cases.list.nr; i++) {
		result = do_case(&cases, cases.list.cases + i, &differs);
		if (result)
			printf("%s: %s\n", cases.list.cases[i].name, result);
		else
			ret = fault_say(fault, "there is not enough memory for the cases");
	}
	if (cases.statuses && close_checked(cases.statuses) && !ret)
		ret = fault_say(fault, "%s/" STATUSES " cannot be written: %s", cases.output,
				strerror(errno));
	case_list_free(&cases.list);
	return ret ?: differs;
}
