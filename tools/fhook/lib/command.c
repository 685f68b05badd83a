// SPDX-License-Identifier: GPL-2.0
/* Commands with subcommands: selecting a subcommand by its name, and listing them. */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "command.h"
#include "list.h"

struct choice {
	const struct command *commands, *chosen;
	int first;
};

static const char *nearest(const struct command *commands, const char *word)
{
	unsigned int best = strlen(word) / 3 + 2, distance;
	const char *near = NULL;

	for (; commands->name; commands++) {
		distance = name_distance(word, commands->name);
		if (distance >= best)
			continue;
		best = distance;
		near = commands->name;
	}
	return near;
}

static error_t parse(int key, char *word, struct argp_state *state)
{
	struct choice *choice = state->input;
	const struct command *command;
	const char *near;

	if (key == ARGP_KEY_NO_ARGS)
		argp_usage(state);
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	for (command = choice->commands; command->name; command++)
		if (!strcmp(command->name, word))
			choice->chosen = command;
	near = choice->chosen ? NULL : nearest(choice->commands, word);
	if (!choice->chosen)
		argp_error(state, "there is no command '%s'%s%s", word,
			   near ? "; the nearest one is " : "", near ? near : "");
	/* The following arguments are those of the subcommand. */
	choice->first = state->next - 1;
	state->next = state->argc;
	return 0;
}

/* The help ends with the list of subcommands. */
static char *help(int key, const char *text, void *input)
{
	const struct choice *choice = input;
	const struct command *command;
	char *list = NULL;
	size_t size;
	FILE *file;

	if (key != ARGP_KEY_HELP_POST_DOC || !choice)
		return (char *)text;
	file = open_memstream(&list, &size);
	if (!file)
		return NULL;
	fputs("Commands:\n", file);
	for (command = choice->commands; command->name; command++)
		fprintf(file, "  %-18s %s\n", command->name, command->brief);
	fclose(file);
	return list;
}

int command_run(const struct command *commands, const char *does, int argc, char **argv,
		struct fault *fault)
{
	const struct argp argp = {
		.parser = parse, .args_doc = "COMMAND [ARGUMENT...]", .doc = does,
		.help_filter = help,
	};
	struct choice choice = { .commands = commands };

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
	return choice.chosen->run(argc - choice.first, argv + choice.first, fault);
}

char *program_in_path(const char *name)
{
	const char *path = getenv("PATH");
	char *paths = strdup(path ?: "/usr/bin:/bin"), *rest = paths, *directory, *file;
	struct stat status;

	while ((directory = strsep(&rest, ":"))) {
		/* An empty element of PATH is the current directory. */
		if (asprintf(&file, "%s/%s", *directory ? directory : ".", name) < 0)
			break;
		if (!access(file, X_OK) && !stat(file, &status) && S_ISREG(status.st_mode)) {
			free(paths);
			return file;
		}
		free(file);
	}
	free(paths);
	return NULL;
}

bool is_closed_pipe(void)
{
	struct pollfd output = { .fd = STDOUT_FILENO };

	return poll(&output, 1, 0) == 1 && output.revents & POLLERR;
}

int output_fault(struct fault *fault)
{
	const char *why = "is the disk full?";
	struct stat status;

	if (fstat(STDOUT_FILENO, &status))
		why = "it is closed";
	else if (S_ISFIFO(status.st_mode) || isatty(STDOUT_FILENO))
		why = "nobody read it when a signal came";
	return fault_say(fault, "the output cannot be written: %s", why);
}

static void check_output(int status, void *data __unused)
{
	struct fault fault;

	/* Whoever closes a pipe knows, and another failure has been explained. */
	if (status || (!fflush(stdout) && !ferror(stdout)) || is_closed_pipe())
		return;
	output_fault(&fault);
	fault_print(program_invocation_short_name, &fault);
	_exit(1);
}

void output_check_at_exit(void)
{
	on_exit(check_output, NULL);
}

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
	if (asprintf(&path, "%s/../lib/fhook/%s", program, name) < 0)
		return NULL;
	if (!access(path, F_OK))
		return path;
	free(path);
	return asprintf(&path, "%s/%s", program, name) < 0 ? NULL : path;
}
