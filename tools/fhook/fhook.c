// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the command, with a word for each use
 *
 * Only this file prints failures and ends the program. Commands that need large libraries
 * are programs of their own, "fhook-NAME" in the same directory.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "calltrace.h"
#include "hook/words.h"
#include "lib/command.h"
#include "lib/elf_map.h"

const char *argp_program_version = "fhook " FHOOK_VERSION;

static error_t parse_map(int key, char *word __unused, struct argp_state *state)
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

static int calltrace_map(int argc, char **argv, struct fault *fault)
{
	static const struct argp argp = {
		.parser = parse_map,
		.args_doc = "FILE...",
		.doc = "Print the map of programs and libraries that have stubs.",
	};
	int first = 0;

	argv[0] = "fhook calltrace map";
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &first);
	return elf_map_write(argv + first, argc - first, stdout, fault);
}

/* Execute the program of a command, which prints its own messages. */
static int execute(int argc __unused, char **argv, struct fault *fault)
{
	char name[64], *path;

	snprintf(name, sizeof(name), "fhook-%s", argv[0]);
	path = own_file(name);
	argv[0] = name;
	if (path)
		execv(path, argv);
	fault_say(fault,
		  "%s cannot be run: %s; it is built beside fhook, if its libraries are there",
		  path ? path : name, strerror(errno));
	free(path);
	return -1;
}

static const struct command calltrace_commands[] = {
	{ "record", calltrace_record, "run a program and record its calls" },
	{ "print", calltrace_print, "print what was recorded" },
	{ "diff", calltrace_diff, "compare the calls of two recordings" },
	{ "cases", calltrace_cases, "record test cases and compare them with earlier ones" },
	{ "import", calltrace_import, "make a recording of perf's" },
	{ "map", calltrace_map, "print the map of a program that has stubs" },
	{ "instrument-ir", execute, "put stubs into LLVM bitcode" },
	{ "instrument-source", execute, "put stubs into C or C++ source" },
	{ "rewrite", execute, "put stubs into an executable file" },
	{ "attach", execute, "let the kernel put stubs into programs that run" },
	{ "detach", calltrace_detach, "let the kernel remove them from single programs" },
	{ }
};

static int calltrace_main(int argc, char **argv, struct fault *fault)
{
	argv[0] = "fhook calltrace";
	return command_run(calltrace_commands,
			   "Whole sequences of calls, from the processor's trace.\v", argc, argv,
			   fault);
}

static const struct command commands[] = {
	{ "list", hook_list, "list functions that can be hooked" },
	{ "count", hook_count, "count calls" },
	{ "trace", hook_trace, "print calls, with arguments" },
	{ "record", hook_record, "record calls to a file" },
	{ "report", hook_report, "print a file of recorded calls" },
	{ "time", hook_time, "measure how long calls take" },
	{ "top", hook_top, "show the functions that take most time" },
	{ "stacks", hook_stacks, "count calls by the stack of their callers" },
	{ "fail", hook_fail, "let functions return errors" },
	{ "patch", hook_patch, "list or revert redirects and live patches" },
	{ "stat", hook_stat, "show who hooks what" },
	{ "off", hook_off, "remove all hooks from the kernel" },
	{ "on", hook_on, "restore them" },
	{ "doctor", hook_doctor, "check what this kernel can do" },
	{ "calltrace", calltrace_main, "record and print whole sequences of calls" },
	{ }
};

int main(int argc, char **argv)
{
	struct fault fault;
	int result;

	output_check_at_exit();
	result = command_run(commands, "Function hooks for Linux, in the kernel and in programs.\v",
			     argc, argv, &fault);
	if (result >= 0 && !ferror(stdout) && !fflush(stdout))
		return result;
	/* Whoever closes a pipe knows. */
	if (result >= 0 && is_closed_pipe())
		return 1;
	if (result >= 0)
		output_fault(&fault);
	fault_print("fhook", &fault);
	/* exit() would write the rest, and wait if nobody reads it. */
	if (ferror(stdout))
		_exit(1);
	return 1;
}
