// SPDX-License-Identifier: GPL-2.0
/* fhook list: functions that can be hooked */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exits.h"
#include "kernel.h"
#include "kernel_types.h"
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
		"span (the entry and the exits), or the reason why the exits are not known,\n"
		"and the parameters, if there is debug information.\n"
		"With --program, 'usdt:*' lists USDT probes with their arguments, and\n"
		"FILE:NUMBER a line of the source.\n"
		"Of the kernel, with --verbose or --json also the prototypes; with --verbose,\n"
		"also why a function that is named cannot be hooked.",
	.takes = "pvj",
};

/* "PROTOTYPE [MODULE]", or the line as it is if the function has no type data. */
static void print_declaration(const struct prototypes *prototypes, u32 number, const char *name,
			      const char *line)
{
	char *text = prototype_text(prototypes, number, name);

	printf("%s%s\n", text ? text : name, line + strlen(name));
	free(text);
}

/* Print "NAME" or "NAME [MODULE]". */
static void print_kernel(const struct options *options, struct kernel_types *types,
			 const char *line)
{
	const struct prototypes *prototypes;
	char name[KERNEL_NAME], module[128] = "", *text;
	u32 number = 0;

	prototypes = sscanf(line, "%511s [%127[^]]", name, module) < 1 ? NULL :
		     kernel_types_of(types, module);
	if (prototypes)
		number = prototype_number(prototypes, name);
	if (options->json) {
		text = number ? prototype_json(prototypes, number) : NULL;
		printf("{\"function\":");
		json_string(stdout, line);
		printf("%s}\n", text ? text : "");
		free(text);
	} else if (number) {
		print_declaration(prototypes, number, name, line);
	} else {
		puts(line);
	}
}

/* Print the functions of a list, which is split. Returns their number. */
static size_t print_available(const struct options *options, char *text, struct fault *fault)
{
	struct kernel_types types = { };
	size_t found = 0;
	char *line;

	if ((options->verbose || options->json) && kernel_types_open(&types, fault))
		fault_print("fhook", fault);
	while ((line = strsep(&text, "\n")) && !ferror(stdout)) {
		if (!*line || !kernel_wants(options->functions, options->nr_functions, line))
			continue;
		print_kernel(options, &types, line);
		found++;
	}
	kernel_types_close(&types);
	return found;
}

static int list_kernel(const struct options *options, struct fault *fault)
{
	char *text, *copy;
	size_t found, refused = 0;
	int result = 0;

	if (kernel_open(fault))
		return -1;
	text = kernel_functions(false, fault);
	if (!text)
		return -1;
	copy = strdup(text);
	found = copy ? print_available(options, copy, fault) : 0;
	if (options->verbose)
		result = refused_print(options, text, &refused, fault);
	free(copy);
	free(text);
	if (!result && !found && !refused)
		return fault_say(fault, "no function that can be hooked matches: try 'NAME*'");
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
		print_field(options, key, text);
	}
	free(text);
}

static void print_verbose(const struct options *options, struct program *program,
			  const struct program_function *function)
{
	struct fault why;
	char *span = exits_span(program, function, NULL, &why);

	print_field(options, span ? "span" : "refused", span ? span : why.text);
	free(span);
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
	program_free(&program);
	return 0;
}

int hook_list(int argc, char **argv, struct fault *fault)
{
	struct options options;
	int result;

	options_parse(&options, &word, argc, argv);
	result = options.program ? list_program(&options, fault) : list_kernel(&options, fault);
	options_free(&options);
	return result;
}
