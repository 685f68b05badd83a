// SPDX-License-Identifier: GPL-2.0
/* The functions of an interpreter that have been called; the header describes them. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "named.h"

static int compare(const void *one, const void *other)
{
	const struct named *a = one, *b = other;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return strcmp(a->name, b->name) ?: strcmp(a->file, b->file);
}

/* A word of the map: "my file.py:f" becomes "my_file.py:f". */
static void make_word(char *text)
{
	for (; *text; text++)
		if ((u8)*text <= ' ')
			*text = '_';
}

/* The name of a file without directories, but "json/__init__.py", as there are many of these. */
static const char *short_path(const char *path)
{
	const char *last = strrchr(path, '/'), *from = last ? last + 1 : path;

	if (strncmp(from, "__", 2) || last == path || !last)
		return from;
	while (last > path && last[-1] != '/')
		last--;
	return last;
}

/* The name in the map: that of the file and that of the function. */
static char *name_in_map(const char *name, const char *file)
{
	char *text;

	if (asprintf(&text, "%s:%s", short_path(file), name) < 0)
		return NULL;
	make_word(text);
	return text;
}

struct named *named_find(const char *name, const char *file, u32 line)
{
	static void *all;
	struct named *named = calloc(1, sizeof(*named));
	struct named **found = NULL;

	if (!named)
		return NULL;
	*named = (struct named){
		.name = name_in_map(name, file), .file = strdup(file), .line = line,
	};
	if (named->name && named->file)
		found = tsearch(named, &all, compare);
	if (found && *found == named)
		return named;
	free(named->name);
	free(named->file);
	free(named);
	return found ? *found : NULL;
}

void named_print(const struct named *named, u32 object, u64 entry, unsigned int size,
		 u64 identity, FILE *to)
{
	fprintf(to, "stub 0x%llx %u entry %u %s 0x%llx\n", entry, size, object, named->name,
		identity);
	fprintf(to, "stub 0x%llx %u exit %u %s 0x%llx\n", entry + size, size, object, named->name,
		identity);
	fprintf(to, "source %u 0x%llx %u ", object, identity, named->line);
	word_escape(*named->file ? named->file : "?", to);
	putc('\n', to);
}
