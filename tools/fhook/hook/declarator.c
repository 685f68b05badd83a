// SPDX-License-Identifier: GPL-2.0
/* Declarations as in C; the header describes them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "declarator.h"

/* Replace the text, which is freed. NULL means that there was an error before. */
static void __printf(2, 3) replace(struct declarator *declarator, const char *format, ...)
{
	char *old = declarator->text;
	va_list arguments;

	va_start(arguments, format);
	if (old && vasprintf(&declarator->text, format, arguments) < 0)
		declarator->text = NULL;
	va_end(arguments);
	free(old);
}

void declarator_begin(struct declarator *declarator, const char *name)
{
	*declarator = (struct declarator) { .text = strdup(name) };
}

static void add_qualifiers(struct declarator *declarator)
{
	size_t length;

	replace(declarator, "%s%s%s%s%s", declarator->is_const ? "const " : "",
		declarator->is_volatile ? "volatile " : "",
		declarator->is_restrict ? "restrict " : "",
		declarator->is_atomic ? "_Atomic " : "", declarator->text);
	declarator->is_const = false;
	declarator->is_volatile = false;
	declarator->is_restrict = false;
	declarator->is_atomic = false;
	/* Nothing follows a pointer without name. */
	length = declarator->text ? strlen(declarator->text) : 0;
	if (length && declarator->text[length - 1] == ' ')
		declarator->text[length - 1] = '\0';
}

void declarator_pointer(struct declarator *declarator, const char *mark)
{
	add_qualifiers(declarator);
	replace(declarator, "%s%s", mark, declarator->text);
	declarator->is_pointer = true;
}

void declarator_array(struct declarator *declarator, const char *size)
{
	replace(declarator, declarator->is_pointer ? "(%s)[%s]" : "%s[%s]", declarator->text,
		size);
	declarator->is_pointer = false;
}

void declarator_function(struct declarator *declarator, char *parameters)
{
	if (!parameters)
		declarator_fail(declarator);
	replace(declarator, declarator->is_pointer ? "(%s)(%s)" : "%s(%s)", declarator->text,
		parameters);
	free(parameters);
	declarator->is_pointer = false;
}

void declarator_attribute(struct declarator *declarator, const char *attribute)
{
	replace(declarator, "%s %s", attribute, declarator->text);
	declarator->is_pointer = false;
}

char *declarator_end(struct declarator *declarator, const char *keyword, const char *type)
{
	const char *text = declarator->text;

	replace(declarator, "%s%s%s%s", keyword, type, text && *text && *text != '[' ? " " : "",
		text);
	add_qualifiers(declarator);
	return declarator->text;
}

void declarator_fail(struct declarator *declarator)
{
	free(declarator->text);
	declarator->text = NULL;
}
