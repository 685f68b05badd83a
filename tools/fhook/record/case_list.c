// SPDX-License-Identifier: GPL-2.0
/*
 * Reading a list of test cases
 *
 * A line is "NAME COMMAND..." or "NAME COMMAND... < FILE". The words of a command are split and
 * quoted as a shell does it; commands in words are not executed.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>
#include "cases.h"

/* Names are those of directories. */
static bool is_name(const char *name)
{
	size_t i;

	for (i = 0; name[i]; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_-+.", name[i]))
			return false;
	return i && i < 200 && name[0] != '.' && name[0] != '-';
}

/* Split a text into words; NULL, and errno, if that fails. */
static char **split(const char *text, size_t *nr)
{
	char **words = NULL;
	wordexp_t result;
	size_t i;
	int error;

	error = wordexp(text, &result, WRDE_NOCMD | WRDE_UNDEF);
	if (error) {
		errno = error == WRDE_NOSPACE ? ENOMEM : EINVAL;
		return NULL;
	}
	words = calloc(result.we_wordc + 1, sizeof(*words));
	for (i = 0; words && i < result.we_wordc; i++) {
		words[i] = result.we_wordv[i];
		result.we_wordv[i] = NULL;
	}
	*nr = result.we_wordc;
	wordfree(&result);
	return words;
}

static void free_words(char **words)
{
	size_t i;

	for (i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

/* The last "<" that is a word of its own and not quoted, or NULL. */
static char *find_redirection(char *command)
{
	char *at, *found = NULL;
	char quote = '\0';

	for (at = command; *at; at++) {
		if (*at == '\\' && quote != '\'' && at[1])
			at++;
		else if (quote)
			quote = *at == quote ? '\0' : quote;
		else if (*at == '\'' || *at == '"')
			quote = *at;
		else if (*at == '<' && at > command && isblank((unsigned char)at[-1]) &&
			 isblank((unsigned char)at[1]))
			found = at;
	}
	return found;
}

/* Split off the file after the redirection; true if there is none, or one with one file. */
static bool take_input(char *command, char **input)
{
	char *at = find_redirection(command), **words;
	size_t nr = 0;

	if (!at)
		return true;
	words = split(at + 1, &nr);
	*at = '\0';
	if (words && nr == 1) {
		*input = words[0];
		words[0] = NULL;
	}
	free_words(words);
	return *input;
}

static int add_case(struct case_list *list, char *line, const char *where, struct fault *fault)
{
	struct test_case added = { .before = STATUS_UNKNOWN };
	const size_t length = strcspn(line, " \t");
	char *command = line + length;
	size_t nr = 0, i;

	if (grow(&list->cases, &list->room, list->nr, sizeof(added)))
		return fault_say(fault, "there is not enough memory for the cases");
	added.name = strndup(line, length);
	list->cases[list->nr] = added;
	if (!added.name)
		return fault_say(fault, "there is not enough memory for the cases");
	list->nr++;
	if (!is_name(added.name))
		return fault_say(fault,
				 "%s: '%s' is no name of a case: use letters, digits, and any of _-+.",
				 where, added.name);
	for (i = 0; i + 1 < list->nr; i++)
		if (!strcmp(list->cases[i].name, added.name))
			return fault_say(fault, "%s: there is a case %s above", where, added.name);
	if (!take_input(command, &list->cases[list->nr - 1].input))
		return fault_say(fault, "%s: one file is expected after <", where);
	list->cases[list->nr - 1].argv = split(command, &nr);
	if (!list->cases[list->nr - 1].argv)
		return fault_say(fault,
				 "%s: these are not words of one command: %s", where, command);
	return nr ? 0 : fault_say(fault, "%s: the case %s has no command", where, added.name);
}

int case_list_read(struct case_list *list, const char *path, struct fault *fault)
{
	FILE *file = fopen(path, "r");
	unsigned int number = 0;
	char *line = NULL, *where;
	size_t room = 0;
	int ret = 0;

	if (!file)
		return fault_say(fault, "the list %s cannot be read: %s", path, strerror(errno));
	while (!ret && line_read(&line, &room, file) >= 0) {
		char *text = line_text(line);

		number++;
		if (!*text || *text == '#')
			continue;
		if (asprintf(&where, "%s:%u", path, number) < 0) {
			ret = fault_say(fault, "there is not enough memory for the cases");
			break;
		}
		ret = add_case(list, text, where, fault);
		free(where);
	}
	if (!ret && errno)
		ret = fault_say(fault, "the list %s cannot be read: %s", path, line_error());
	free(line);
	fclose(file);
	return ret || list->nr ? ret : fault_say(fault, "the list %s has no cases", path);
}

void case_list_free(struct case_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++) {
		free(list->cases[i].name);
		free(list->cases[i].input);
		free_words(list->cases[i].argv);
	}
	free(list->cases);
}
