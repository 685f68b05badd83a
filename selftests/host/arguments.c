// SPDX-License-Identifier: GPL-2.0
/*
 * Print arguments of functions of a program as "fhook trace" writes them into definitions
 *
 * Usage: arguments PROGRAM 'FUNCTION(ARGUMENT, ...)'...
 */
#include <stdio.h>
#include <stdlib.h>
#include "hook/arguments.h"

static int print(const char *path, struct spec *spec, struct fault *fault)
{
	struct program program;
	char *text;
	size_t i;
	int result = 0;

	if (program_select(&program, path, &spec->pattern, 1, fault))
		return -1;
	for (i = 0; i < program.nr && !result; i++) {
		text = arguments_at(&program, program.functions + i, spec, fault);
		if (text)
			puts(text);
		else
			result = -1;
		free(text);
	}
	program_free(&program);
	return result;
}

int main(int argc, char **argv)
{
	struct fault fault;
	struct spec spec;
	int result = 0, i;

	for (i = 2; i < argc && !result; i++) {
		result = spec_parse(&spec, argv[i], &fault);
		if (result)
			break;
		result = print(argv[1], &spec, &fault);
		spec_free(&spec);
	}
	if (result)
		fault_print("arguments", &fault);
	return result ? 1 : 0;
}
