// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace: its commands
 *
 * Those that need large libraries are programs of their own, "fhook-NAME" beside
 * this one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "calltrace.h"
#include "command.h"

/* Become the program that does it, which speaks by its own name. */
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

static const struct command commands[] = {
	{ "record", calltrace_record, "run a program and record its calls" },
	{ "print", calltrace_print, "print what was recorded" },
	{ "import", calltrace_import, "make a recording of perf's" },
	{ "map", calltrace_map, "print the map of a program that has stubs" },
	{ "instrument-ir", execute, "put stubs into LLVM bitcode" },
	{ "instrument-source", execute, "put stubs into C or C++ source" },
	{ "rewrite", execute, "put stubs into an executable file" },
	{ "attach", execute, "let the kernel put stubs into programs that run" },
	{ }
};

int calltrace_main(int argc, char **argv, struct fault *fault)
{
	argv[0] = "fhook calltrace";
	return command_run(commands, "Whole sequences of calls, from the processor's trace.\v",
			   argc, argv, fault);
}
