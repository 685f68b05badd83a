// SPDX-License-Identifier: GPL-2.0
/* Declarations of functions, by DWARF; the header describes them. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include "declaration.h"
#include "lib/json.h"
#include "parameters.h"
#include "type.h"

/* Does a function take a variable number of arguments? */
static bool is_variable(Dwarf_Die *function)
{
	Dwarf_Die die;
	int result;

	for (result = dwarf_child(function, &die); !result; result = debug_sibling(&die))
		if (dwarf_tag(&die) == DW_TAG_unspecified_parameters)
			return true;
	return false;
}

static void print_text(Dwarf_Die *function, const char *name, FILE *out)
{
	char *text = type_declare_function(function, name);

	fputs(text ? text : name, out);
	free(text);
}

/* Print the type that an entry refers to as a JSON string. */
static void print_type(Dwarf_Die *die, FILE *out)
{
	char *text = type_declare(die, NULL);

	json_string(out, text ? text : "");
	free(text);
}

static void print_json(Dwarf_Die *function, const char *name __unused, FILE *out)
{
	Dwarf_Die parameter;
	bool first = true;
	const char *named;

	fputs(",\"returns\":", out);
	print_type(function, out);
	fputs(",\"parameters\":[", out);
	for (; !parameters_next(function, &parameter, first); first = false) {
		named = dwarf_diename(&parameter);
		fputs(first ? "{\"type\":" : ",{\"type\":", out);
		print_type(&parameter, out);
		fputs(",\"name\":", out);
		json_string(out, named ? named : "");
		fputs("}", out);
	}
	if (is_variable(function))
		fprintf(out, "%s{\"type\":\"...\",\"name\":\"\"}", first ? "" : ",");
	fputc(']', out);
}

static char *print(struct program *program, const struct program_function *function,
		   void (*print_die)(Dwarf_Die *die, const char *name, FILE *out))
{
	char *text = NULL;
	struct fault ignored;
	Dwarf_Die die;
	size_t size;
	FILE *out;

	if (parameters_function(&die, program, function, &ignored))
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	print_die(&die, function->name, out);
	fclose(out);
	if (text)
		text_clean(text);
	return text;
}

char *declaration_text(struct program *program, const struct program_function *function)
{
	return print(program, function, print_text);
}

char *declaration_json(struct program *program, const struct program_function *function)
{
	return print(program, function, print_json);
}
