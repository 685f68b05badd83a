// SPDX-License-Identifier: GPL-2.0
/*
 * Print arguments of functions of a program as "fhook trace" writes them into definitions, and
 * the names of their values; and declarations as "fhook list -v" prints them
 *
 * Usage: arguments PROGRAM 'FUNCTION(ARGUMENT, ...) [if CONDITION]'...
 *	  arguments -t PROGRAM FUNCTION(...)...		with texts last, as for "--json"
 *	  arguments -k FILE BUILD-ID FUNCTION(...)...	of a kernel that has this debug file
 *	  arguments -d FILE BUILD-ID FUNCTION...	declarations
 *	  arguments -r FUNCTION(...)...			of this machine's kernel
 *	  arguments -s PROGRAM FUNCTION			the span, after a signal
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hook/arguments.h"
#include "hook/declaration.h"
#include "hook/exits.h"
#include "hook/kernel_debug.h"
#include "lib/work.h"

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

static int print_place(struct program *program, const struct program_function *place,
		       struct call_event *event, struct fault *fault)
{
	char *text = arguments_at(program, place, &event->spec, event, fault);

	if (text)
		puts(text);
	free(text);
	return text ? 0 : -1;
}

static int print_program(const char *path, struct call_event *event, bool texts_last,
			 struct fault *fault)
{
	struct program program;
	size_t i;
	int result = 0;

	if (program_select(&program, path, &event->spec.pattern, 1, fault))
		return -1;
	if (texts_last)
		arguments_texts_last(&program, program.functions, &event->spec);
	for (i = 0; i < program.nr && !result; i++)
		result = print_place(&program, program.functions + i, event, fault);
	program_free(&program);
	return result;
}

static int print_kernel(struct kernel_debug *debug, struct call_event *event, struct fault *fault)
{
	const struct program_function *function = kernel_debug_function(debug, event->spec.pattern,
									fault);

	return function ? print_place(&debug->program, function, event, fault) : -1;
}

static int print_declaration(struct kernel_debug *debug, const char *name, struct fault *fault)
{
	const struct program_function *function = kernel_debug_function(debug, name, fault);
	char *text = function ? declaration_text(&debug->program, function) : NULL;
	char *json = function ? declaration_json(&debug->program, function) : NULL;

	if (text && json)
		printf("%s\n%s\n", text, json);
	free(text);
	free(json);
	return function ? 0 : -1;
}

static int print_stopped(const char *path, char *name, struct fault *fault)
{
	struct program program;
	char *span;

	if (program_select(&program, path, &name, 1, fault))
		return -1;
	work_begin();
	raise(SIGTERM);
	span = exits_span(&program, program.functions, NULL, fault);
	work_end();
	if (span)
		puts(span);
	free(span);
	program_free(&program);
	return span ? 0 : -1;
}

int main(int argc, char **argv)
{
	const bool stopped = argc == 4 && !strcmp(argv[1], "-s");
	const bool declarations = argc > 4 && !strcmp(argv[1], "-d");
	const bool file = declarations || (argc > 4 && !strcmp(argv[1], "-k"));
	const bool running = argc > 2 && !strcmp(argv[1], "-r");
	const bool texts_last = argc > 3 && !strcmp(argv[1], "-t");
	struct kernel_debug debug = { };
	struct fault fault;
	int result = 0, i;

	if (file)
		result = kernel_debug_open_file(&debug, argv[2], argv[3], &fault);
	else if (running)
		result = kernel_debug_open(&debug, &fault);
	else if (stopped)
		result = print_stopped(argv[2], argv[3], &fault);
	for (i = stopped ? argc : file ? 4 : texts_last ? 3 : 2; i < argc && !result; i++) {
		struct call_event event = { };

		if (declarations) {
			result = print_declaration(&debug, argv[i], &fault);
			continue;
		}
		result = spec_parse(&event.spec, argv[i], &fault);
		if (!result)
			result = file || running ?
				 print_kernel(&debug, &event, &fault) :
				 print_program(argv[1 + texts_last], &event, texts_last, &fault);
		print_names(&event);
		if (!result)
			result = print_filter(&event, &fault);
		call_event_free(&event);
	}
	kernel_debug_close(&debug);
	if (result)
		fault_print("arguments", &fault);
	return result ? 1 : 0;
}
