// SPDX-License-Identifier: GPL-2.0
/*
 * Names of C++ and Rust functions, by their symbols
 *
 * A symbol is not trusted: each reference to an earlier part of it may double the length of the
 * name, and the whole would fill the memory. So names have a greatest length, and symbols of C++
 * a greatest number of references, which only somebody with this aim exceeds.
 */
#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "demangle.h"

#define MOST_REFERENCES	40
#define LONGEST_NAME	4096

/**
 * struct name - a name that is being written
 * @full: where to continue if it is too long
 * @text: the part that has been written
 * @length: length of @text
 */
struct name {
	jmp_buf full;
	char text[LONGEST_NAME + 1];
	size_t length;
};

static void append(const char *part, size_t size, void *data)
{
	struct name *name = data;

	/* The demangler takes no answer; it has allocated nothing that would have to be freed. */
	if (size > LONGEST_NAME - name->length)
		longjmp(name->full, 1);
	memcpy(name->text + name->length, part, size);
	name->length += size;
}

static bool has_many_references(const char *symbol)
{
	unsigned int references = 0;

	for (; *symbol; symbol++)
		references += (*symbol == 'S' || *symbol == 'T') &&
			      (isdigit((unsigned char)symbol[1]) ||
			       isupper((unsigned char)symbol[1]) || symbol[1] == '_');
	return references > MOST_REFERENCES;
}

char *demangle(const char *symbol)
{
	const bool is_rust = !strncmp(symbol, "_R", 2);
	struct name name;

	/* The demangler accepts types as well: a C function named i is not int. */
	if ((!is_rust && strncmp(symbol, "_Z", 2)) || strlen(symbol) > LONGEST_NAME)
		return NULL;
	name.length = 0;
	if (setjmp(name.full))
		return NULL;
	/* Older symbols of Rust look like those of C++, with a hash at their end. */
	if (!rust_demangle_callback(symbol, DMGL_PARAMS, append, &name)) {
		name.length = 0;
		if (is_rust || has_many_references(symbol) ||
		    !cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_ANSI, append, &name))
			return NULL;
	}
	return name.length ? strndup(name.text, name.length) : NULL;
}
