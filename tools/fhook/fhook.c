// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the command of the host
 *
 * Only this file prints a failure, and only here the program ends.
 */
#include <argp.h>
#include "calltrace.h"
#include "command.h"

const char *argp_program_version = "fhook 1";

static const struct command commands[] = {
	{ "calltrace", calltrace_main, "record and print whole sequences of calls" },
	{ }
};

int main(int argc, char **argv)
{
	struct fault fault;
	int result;

	result = command_run(commands, "Function hooks for Linux: the tools of the host.\v", argc,
			     argv, &fault);
	if (result >= 0)
		return result;
	fault_print("fhook", &fault);
	return 1;
}
