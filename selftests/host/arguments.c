// SPDX-License-Identifier: GPL-2.0
/*
 * Print arguments of functions of a program as "fhook trace" writes them into definitions, and
 * the names of their values
 *
 * Usage: arguments PROGRAM 'FUNCTION(ARGUMENT, ...) [if CONDITION]'...
 */
#include <stdio.h>
#include <stdlib.h>
#include "hook/arguments.h"

static void print_names(const struct call_event *event)
{
	unsigned int i;
	size_t n;

	for (i = 0; i < event->spec.nr; i++) {
		const struct enumeration *names = event->enumerations + i;

		if (!names->nr)
			continue;
		printf("%s", event->spec.labels[i]);
		for (n = 0; n < names->nr; n++)
			printf(" %s=%llu", names->all[n].name, names->all[n].value);
		printf("%s; 0, 5 and 64 are ", enumeration_is_flags(names) ? " flags" : "");
		enumeration_print(names, 0, stdout);
		fputc(' ', stdout);
		enumeration_print(names, 5, stdout);
		fputc(' ', stdout);
		enumeration_print(names, 64, stdout);
		fputc('\n', stdout);
	}
}

static int print_filter(const struct call_event *event, struct fault *fault)
{
	char *filter = call_event_filter(event, fault);

	if (filter && *filter)
		puts(filter);
	free(filter);
	return filter ? 0 : -1;
}

static int print(const char *path, struct call_event *event, struct fault *fault)
{
	struct program program;
	char *text;
	size_t i;
	int result = 0;

	if (program_select(&program, path, &event->spec.pattern, 1, fault))
		return -1;
	for (i = 0; i < program.nr && !result; i++) {
		text = arguments_at(&program, program.functions + i, &event->spec, event, fault);
		if (text)
			puts(text);
		else
			result = -1;
		free(text);
	}
	program_free(&program);
	print_names(event);
	return result ? result : print_filter(event, fault);
}

int main(int argc, char **argv)
{
	struct fault fault;
	int result = 0, i;

	for (i = 2; i < argc && !result; i++) {
		struct call_event event = { };

		result = spec_parse(&event.spec, argv[i], &fault);
		if (!result)
			result = print(argv[1], &event, &fault);
		call_event_free(&event);
	}
	if (result)
		fault_print("arguments", &fault);
	return result ? 1 : 0;
}
