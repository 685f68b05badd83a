// SPDX-License-Identifier: GPL-2.0
/*
 * Joining several maps to one text: the kernel's, and those of programs
 *
 * A recording has one map. Two maps can only have the numbers of objects in
 * common, so the objects are renumbered.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base.h"
#include "map_join.h"

/* The number of words in the longest line, that of a tail stub. */
#define WORDS_MAX	9

/* The index of the word with the object's number in a line; 0 if there is none. */
static int object_word(const char *kind)
{
	static const struct {
		const char *kind;
		int word;
	} lines[] = { { "object", 1 }, { "block", 3 }, { "stub", 4 }, { "source", 1 } };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strcmp(kind, lines[i].kind))
			return lines[i].word;
	return 0;
}

static void write_line(struct map_join *join, char **words, int count, u32 first_id)
{
	int place = object_word(words[0]), i;

	for (i = 0; i < count; i++) {
		const char *end = i == count - 1 ? "\n" : " ";
		u64 id;

		if (i && i == place && !word_number(words[i], 10, 0xffff, &id)) {
			id += first_id;
			fprintf(join->to, "%llu%s", id, end);
			if (id >= join->next_id)
				join->next_id = id + 1;
		} else {
			fprintf(join->to, "%s%s", words[i], end);
		}
	}
}

int map_join_add(struct map_join *join, FILE *from)
{
	const u32 first_id = join->next_id;
	char *words[WORDS_MAX], *line = NULL;
	size_t room = 0;
	int count, error;

	if (!first_id)
		fputs("# calltrace map 1\n", join->to);
	while (line_read(&line, &room, from) >= 0) {
		count = words_split(line, words, WORDS_MAX);
		if (count && *words[0] != '#')
			write_line(join, words, count, first_id);
	}
	error = errno;
	free(line);
	return error || fflush(join->to) ? -1 : 0;
}
