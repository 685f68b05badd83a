// SPDX-License-Identifier: GPL-2.0
/* fhook list: functions that can be hooked */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "declaration.h"
#include "exits.h"
#include "kernel.h"
#include "kernel_arguments.h"
#include "lib/debug_fetch.h"
#include "lib/json.h"
#include "options.h"
#include "parameters.h"
#include "program.h"
#include "refused.h"
#include "usdt.h"
#include "words.h"

static const struct word word = {
	.name = "fhook list",
	.arguments = "[PATTERN...]",
	.does = "List functions that can be hooked.\n"
		"\vOf a program, also the offset in the file; with --verbose, the places of a\n"
		"span (the entry and the exits), or the reason why there is none, with the\n"
		"exits alone if they are known; and the parameters, if there is debug\n"
		"information.\n"
		"With --program, 'usdt:*' lists USDT probes with their arguments, and\n"
		"FILE:NUMBER a line of the source.\n"
		"Of the kernel, with --verbose or --json also the prototypes, if it has type\n"
		"information or its debug file is installed; with --verbose, also why a\n"
		"function that is named cannot be hooked.",
	.takes = "pvj",
};

/* Without type data and debug information, functions have their names alone. */
static void open_prototypes(struct kernel_info *info)
{
	struct fault types, debug, why;

	if (!kernel_types_open(&info->types, &types) || !kernel_debug_open(&info->debug, &debug))
		return;
	fault_say(&why, "%s; %s", types.text, debug.text);
	fault_print("fhook", &why);
}

static char *by_types(struct kernel_types *types, const char *name, const char *module, bool json)
{
	const struct prototypes *prototypes = kernel_types_of(types, module);
	const u32 number = prototypes ? prototype_number(prototypes, name) : 0;

	if (!number)
		return NULL;
	return json ? prototype_json(prototypes, number) :
		      prototype_text(prototypes, number, name);
}

static char *by_debug(struct kernel_debug *debug, const char *name, const char *module, bool json)
{
	const struct program_function *function;
	struct fault ignored;

	if (*module || !debug->program.path)
		return NULL;
	function = kernel_debug_function(debug, name, &ignored);
	if (!function)
		return NULL;
	return json ? declaration_json(&debug->program, function) :
		      declaration_text(&debug->program, function);
}

/* Print "NAME" or "NAME [MODULE]", with the prototype if it is known. */
static void print_kernel(const struct options *options, struct kernel_info *info, const char *line)
{
	char name[KERNEL_NAME], module[128] = "", *text = NULL;

	if (sscanf(line, "%511s [%127[^]]", name, module) >= 1) {
		text = by_types(&info->types, name, module, options->json);
		if (!text)
			text = by_debug(&info->debug, name, module, options->json);
	}
	if (options->json) {
		printf("{\"function\":");
		json_string(stdout, line);
		printf("%s}\n", text ? text : "");
	} else if (text) {
		printf("%s%s\n", text, line + strlen(name));
	} else {
		puts(line);
	}
	free(text);
}

/* Print the functions of a list, which is split. Returns their number. */
static size_t print_available(const struct options *options, char *text)
{
	struct kernel_info info = { };
	size_t found = 0;
	char *line;

	if (options->verbose || options->json)
		open_prototypes(&info);
	while ((line = strsep(&text, "\n")) && !ferror(stdout)) {
		if (!*line || !kernel_wants(options->functions, options->nr_functions, line))
			continue;
		print_kernel(options, &info, line);
		found++;
	}
	kernel_info_close(&info);
	return found;
}

static int list_kernel(const struct options *options, struct fault *fault)
{
	char *text, *copy;
	size_t found, refused = 0, i;
	int result = 0;

	for (i = 0; i < options->nr_functions; i++)
		if (kernel_check_pattern(options->functions[i], fault))
			return -1;
	if (kernel_open(fault))
		return -1;
	text = kernel_functions(false, fault);
	if (!text)
		return -1;
	copy = strdup(text);
	found = copy ? print_available(options, copy) : 0;
	if (options->verbose)
		result = refused_print(options, text, &refused, fault);
	if (!result && !found && !refused)
		result = kernel_say_unknown(options->functions, options->nr_functions, text,
					    fault);
	free(copy);
	free(text);
	return result;
}

/* Print in which function a line is. */
static void print_where(struct program *program, const struct program_function *place, FILE *out)
{
	const struct elf_symbol *symbol = elf_symbol_of(&program->image, place->address);
	char *name = symbol ? program_demangle(symbol->name) : NULL;

	if (name)
		fprintf(out, "%s+0x%llx", name, place->address - symbol->address);
	free(name);
}

static void print_field(const struct options *options, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	if (options->json) {
		printf(",\"%s\":", key);
		json_string(stdout, text);
	} else {
		printf("  %s", text);
	}
}

/* Print a field whose text PRINT writes. */
static void print_by(const struct options *options, const char *key, struct program *program,
		     const struct program_function *place,
		     void (*print)(struct program *program, const struct program_function *place,
				   FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out) {
		print(program, place, out);
		fclose(out);
		if (text && !options->json)
			text_clean(text);
		print_field(options, key, text);
	}
	free(text);
}

static void print_verbose(const struct options *options, struct program *program,
			  const struct program_function *function)
{
	struct fault why;
	char *span = exits_span(program, function, NULL, &why);

	char *alone = span ? NULL : exits_alone(program, function);

	print_field(options, span ? "span" : "refused", span ? span : why.text);
	if (alone)
		print_field(options, "exits", alone);
	free(span);
	free(alone);
	print_by(options, "parameters", program, function, parameters_print);
}

static void print_function(const struct options *options, struct program *program,
			   const struct program_function *place)
{
	if (options->json) {
		printf("{\"function\":");
		json_string(stdout, place->name);
		printf(",\"offset\":%llu,\"size\":%llu", place->offset, place->size);
	} else {
		printf("0x%-10llx %s", place->offset, place->name);
	}
	if (place->kind == PROGRAM_USDT)
		print_by(options, "arguments", program, place, usdt_print);
	else if (place->kind == PROGRAM_LINE)
		print_by(options, "in", program, place, print_where);
	else if (options->verbose)
		print_verbose(options, program, place);
	puts(options->json ? "}" : "");
}

static int list_program(const struct options *options, struct fault *fault)
{
	struct program program;
	size_t i;

	if (program_select(&program, options->program, options->functions, options->nr_functions,
			   fault))
		return -1;
	for (i = 0; i < program.nr && !ferror(stdout); i++)
		print_function(options, &program, program.functions + i);
	debug_print_unread(&program.debug);
	program_free(&program);
	return 0;
}

int hook_list(int argc, char **argv, struct fault *fault)
{
	struct options options;
	int result;

	options_parse(&options, &word, argc, argv);
	/* A shell that completes names must not wait for servers. */
	debug_fetch_stop();
	result = options.program ? list_program(&options, fault) : list_kernel(&options, fault);
	options_free(&options);
	return result;
}
