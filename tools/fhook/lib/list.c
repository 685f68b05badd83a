// SPDX-License-Identifier: GPL-2.0
/* The list of functions to instrument; the header describes it. */
#include <errno.h>
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "demangle.h"
#include "list.h"
#include "symbol_part.h"

#define NEAR_LENGTH	64

/* How an address is compared. */
#define ADDRESS		"0x%llx"

int list_check_pattern(const char *text, struct fault *fault)
{
	text += *text == '!';
	if (!*text)
		return fault_say(fault,
				 "A pattern is empty: write the name of a function, or a glob.");
	if (*text == '!')
		return fault_say(fault,
				 "A pattern begins with '!!': write one '!' to leave functions out.");
	return 0;
}

int list_add(struct list *list, const char *text, struct fault *fault)
{
	struct list_pattern pattern = { .excludes = text[0] == '!' };
	u64 address;

	if (list_check_pattern(text, fault))
		return -1;
	text += pattern.excludes;
	pattern.is_glob = strpbrk(text, "*?[");
	pattern.is_address = !word_number(text, 16, ~0ULL, &address);
	if (!pattern.is_address)
		pattern.text = strdup(text);
	else if (asprintf(&pattern.text, ADDRESS, address) < 0)
		pattern.text = NULL;
	if (!pattern.text || grow(&list->patterns, &list->room_patterns, list->nr_patterns,
				  sizeof(pattern))) {
		free(pattern.text);
		return fault_say(fault, "There is no memory for the list.");
	}
	list->patterns[list->nr_patterns++] = pattern;
	return 0;
}

static int add_line(struct list *list, char *line, struct fault *fault)
{
	char *end;

	line = line_text(line);
	end = line + strcspn(line, "#");
	while (end > line && strchr(" \t", end[-1]))
		end--;
	*end = '\0';
	return *line ? list_add(list, line, fault) : 0;
}

int list_read(struct list *list, const char *path, struct fault *fault)
{
	FILE *file = fopen(path, "r");
	size_t size = 0;
	char *line = NULL;
	int ret = 0;

	if (!file)
		return fault_say(fault, "The list %s cannot be read: %s.", path, strerror(errno));
	while (!ret && line_read(&line, &size, file) >= 0)
		ret = add_line(list, line, fault);
	if (!ret && errno)
		ret = fault_say(fault, "The list %s cannot be read: %s.", path, line_error());
	free(line);
	fclose(file);
	return ret;
}

int list_check(const struct list *list, struct fault *fault)
{
	size_t i;

	for (i = 0; i < list->nr_patterns; i++) {
		if (!list->patterns[i].excludes)
			return 0;
	}
	return fault_say(fault, "No function was chosen: -F 'parse_*' or -f FILE says which.");
}

/*
 * "int a::f<int>(int) const" is also called "a::f<int>": omit the return type and the
 * parameters. The text after "operator" is not parsed.
 */
static char *brief_name(const char *full)
{
	const char *begin = full, *at;
	int depth = 0;

	for (at = full; *at; at++) {
		if (!strncmp(at, "operator", 8)) {
			at += strncmp(at + 8, "()", 2) ? 8 : 10;
			at += strcspn(at, "(");
			break;
		}
		if (*at == '(' && !depth && strncmp(at, "(anonymous namespace)", 21))
			break;
		if (*at == '<' || *at == '(')
			depth++;
		else if (*at == '>' || *at == ')')
			depth--;
		else if (*at == ' ' && !depth)
			begin = at + 1;
	}
	return strndup(begin, at - begin);
}

/* The length of a name without " [clone .isra.0]", which compilers add. */
static size_t plain_length(const char *full)
{
	const char *clone = strstr(full, " [clone ");

	return clone ? (size_t)(clone - full) : strlen(full);
}

static int compare_patterns(const void *a, const void *b, void *data)
{
	const struct list_pattern *patterns = data;
	const struct list_pattern *x = patterns + *(const size_t *)a;
	const struct list_pattern *y = patterns + *(const size_t *)b;

	if (x->is_glob != y->is_glob)
		return x->is_glob ? 1 : -1;
	return (x->is_glob ? 0 : strcmp(x->text, y->text)) ?: x < y ? -1 : x > y;
}

/* A list may have as many names as the file has functions: sort it once. */
static int sort(struct list *list)
{
	size_t i;

	if (list->nr_ordered == list->nr_patterns)
		return 0;
	free(list->order);
	list->nr_ordered = 0;
	list->nr_exact = 0;
	list->order = calloc(list->nr_patterns, sizeof(*list->order));
	if (!list->order)
		return -1;
	for (i = 0; i < list->nr_patterns; i++) {
		list->order[i] = i;
		list->nr_exact += !list->patterns[i].is_glob;
	}
	qsort_r(list->order, list->nr_patterns, sizeof(*list->order), compare_patterns,
		list->patterns);
	list->nr_ordered = list->nr_patterns;
	return 0;
}

/* The position of the first name in the order that is not before this one. */
static size_t first_name(const struct list *list, const char *name)
{
	return first_index(list->nr_exact, i,
			   strcmp(list->patterns[list->order[i]].text, name) < 0);
}

void list_remember(struct list *list, const char *symbol)
{
	char *name = strdup(symbol);

	/* Without memory, this name is only missing among the suggestions. */
	if (!name || grow(&list->names, &list->room_names, list->nr_names, sizeof(name)))
		free(name);
	else
		list->names[list->nr_names++] = name;
}

/* The answer so far, and the result of a matching pattern. */
struct answer {
	enum list_answer answer;
	bool excluded;
};

static void take(struct answer *answer, struct list_pattern *pattern, bool by_name)
{
	pattern->matched = true;
	if (pattern->excludes)
		answer->excluded = true;
	else if (by_name)
		answer->answer = LIST_BY_NAME;
	else if (answer->answer == LIST_NO)
		answer->answer = LIST_BY_GLOB;
}

static void ask_exact(struct list *list, const char *name, struct answer *answer)
{
	struct list_pattern *pattern;
	size_t i;

	for (i = first_name(list, name); i < list->nr_exact; i++) {
		pattern = list->patterns + list->order[i];
		if (strcmp(pattern->text, name))
			break;
		take(answer, pattern, true);
	}
}

static void ask(struct list *list, const char *name, struct answer *answer)
{
	struct list_pattern *pattern;
	size_t i;

	if (!name)
		return;
	ask_exact(list, name, answer);
	for (i = list->nr_exact; i < list->nr_ordered; i++) {
		pattern = list->patterns + list->order[i];
		/* Names may have brackets: "f(int) [clone .isra.0]". */
		if (!strcmp(pattern->text, name))
			take(answer, pattern, true);
		else if (!fnmatch(pattern->text, name, 0))
			take(answer, pattern, false);
	}
}

/* Part of a function has its names, but is selected only by its own. */
static void ask_shared(struct list *list, const char *name, bool is_part, struct answer *answer)
{
	struct answer shared = { .answer = LIST_NO };

	ask(list, name, &shared);
	answer->excluded |= shared.excluded;
	if (shared.answer == LIST_BY_NAME && is_part)
		shared.answer = LIST_BY_GLOB;
	if (shared.answer == LIST_BY_NAME || answer->answer == LIST_NO)
		answer->answer = shared.answer;
}

static enum list_answer wants(struct list *list, const char *symbol, const char *address)
{
	char *full = demangle(symbol);
	char *plain = full ? strndup(full, plain_length(full)) : NULL;
	char *brief = plain ? brief_name(plain) : NULL;
	const bool is_clone = plain && strcmp(plain, full), is_part = symbol_part_of(symbol);
	struct answer answer = { .answer = LIST_NO };

	list_remember(list, brief ? brief : symbol);
	if (is_clone && !is_part)
		list_remember(list, symbol);
	if (!sort(list)) {
		ask(list, symbol, &answer);
		ask(list, full, &answer);
		if (is_clone)
			ask_shared(list, plain, is_part, &answer);
		ask_shared(list, brief, is_part, &answer);
		if (address)
			ask_exact(list, address, &answer);
	}
	free(brief);
	free(plain);
	free(full);
	return answer.excluded ? LIST_NO : answer.answer;
}

enum list_answer list_wants(struct list *list, const char *symbol)
{
	return wants(list, symbol, NULL);
}

enum list_answer list_wants_at(struct list *list, const char *symbol, u64 address)
{
	char text[sizeof(ADDRESS) + 16];

	snprintf(text, sizeof(text), ADDRESS, address);
	return wants(list, symbol, text);
}

enum list_answer list_wants_address(struct list *list, u64 address)
{
	struct answer answer = { .answer = LIST_NO };
	char text[sizeof(ADDRESS) + 16];

	snprintf(text, sizeof(text), ADDRESS, address);
	if (!sort(list))
		ask_exact(list, text, &answer);
	return answer.excluded ? LIST_NO : answer.answer;
}

bool list_has_addresses(const struct list *list)
{
	size_t i;

	for (i = 0; i < list->nr_patterns; i++) {
		if (list->patterns[i].is_address)
			return true;
	}
	return false;
}

bool list_has_globs(const struct list *list)
{
	size_t i;

	for (i = 0; i < list->nr_patterns; i++)
		if (list->patterns[i].is_glob && !list->patterns[i].excludes)
			return true;
	return false;
}

unsigned int name_distance(const char *a, const char *b)
{
	unsigned int row[NEAR_LENGTH + 1], i, j, diagonal, above;
	size_t length = strlen(b);

	if (length > NEAR_LENGTH || strlen(a) > NEAR_LENGTH)
		return NEAR_LENGTH;
	for (j = 0; j <= length; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		diagonal = row[0];
		row[0] = i;
		for (j = 1; j <= length; j++) {
			above = row[j];
			row[j] = diagonal + (a[i - 1] != b[j - 1]);
			if (above + 1 < row[j])
				row[j] = above + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			diagonal = above;
		}
	}
	return row[length];
}

bool name_has_suffix(const char *name, const char *text)
{
	const size_t length = strlen(text);

	return !strncmp(name, text, length) && name[length] == '.';
}

/* Is this the name without the classes and namespaces around it? */
static bool is_unqualified(const char *name, const char *text)
{
	const size_t length = strlen(name), tail = strlen(text);

	return length > tail + 2 && !strcmp(name + length - tail, text) &&
	       !strncmp(name + length - tail - 2, "::", 2);
}

const char *list_near(const struct list *list, const char *text)
{
	unsigned int best = strlen(text) / 3 + 2, d;
	const char *near = NULL;
	size_t i;

	for (i = 0; i < list->nr_names; i++) {
		if (name_has_suffix(list->names[i], text) || is_unqualified(list->names[i], text))
			return list->names[i];
		d = name_distance(text, list->names[i]);
		if (d < best) {
			best = d;
			near = list->names[i];
		}
	}
	return near;
}

void list_free(struct list *list)
{
	size_t i;

	for (i = 0; i < list->nr_patterns; i++)
		free(list->patterns[i].text);
	for (i = 0; i < list->nr_names; i++)
		free(list->names[i]);
	free(list->patterns);
	free(list->order);
	free(list->names);
}
