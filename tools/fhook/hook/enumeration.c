// SPDX-License-Identifier: GPL-2.0
/* Enumerations; the header describes them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "enumeration.h"
#include "lib/json.h"
#include "lib/list.h"

#define NAME_MOST	255

void enumeration_begin(struct enumeration *enumeration, const char *type)
{
	*enumeration = (struct enumeration) {
		.bits = 64, .is_signed = *type == 's', .is_part = *type == 'b',
	};
	if (*type)
		enumeration->bits = strtoul(type + 1, NULL, 10);
}

static bool is_identifier(const char *name)
{
	const size_t length = name_length(name);

	return length && length <= NAME_MOST && !name[length] && !isdigit((unsigned char)*name);
}

int enumeration_add_text(struct enumeration *enumeration, const char *text, u64 value)
{
	char *copy = strdup(text), *at = copy;

	if (!copy || grow(&enumeration->all, &enumeration->room, enumeration->nr,
			  sizeof(*enumeration->all))) {
		free(copy);
		return -1;
	}
	text_clean(copy);
	while ((at = strpbrk(at, "\"\\")))
		*at = '?';
	enumeration->all[enumeration->nr++] = (struct enumerator) {
		.name = copy, .value = enumeration_cut(enumeration, value),
	};
	return 0;
}

int enumeration_add(struct enumeration *enumeration, const char *name, u64 value)
{
	/* It becomes a part of descriptions of events, which nothing else may enter. */
	if (!is_identifier(name))
		return 0;
	return enumeration->nr < ENUMERATORS_MAX ?
	       enumeration_add_text(enumeration, name, value) : -1;
}

static int compare_names(const void *a, const void *b)
{
	const struct enumerator *x = *(struct enumerator *const *)a;
	const struct enumerator *y = *(struct enumerator *const *)b;
	const int order = strcmp(x->name, y->name);

	return order ?: x->value < y->value ? -1 : x->value > y->value;
}

int enumeration_join_functions(struct enumeration *enumeration)
{
	struct enumerator **sorted = calloc(enumeration->nr, sizeof(*sorted));
	size_t i;

	if (!sorted)
		return -1;
	for (i = 0; i < enumeration->nr; i++)
		sorted[i] = enumeration->all + i;
	qsort(sorted, enumeration->nr, sizeof(*sorted), compare_names);
	for (i = 1; i < enumeration->nr; i++)
		if (!strcmp(sorted[i]->name, sorted[i - 1]->name))
			sorted[i]->value = sorted[i - 1]->value;
	free(sorted);
	enumeration->has_functions = true;
	return 0;
}

void enumeration_free(struct enumeration *enumeration)
{
	size_t i;

	for (i = 0; i < enumeration->nr; i++)
		free(enumeration->all[i].name);
	free(enumeration->all);
	free(enumeration->scope);
	*enumeration = (struct enumeration) { };
}

bool enumeration_equal(const struct enumeration *a, const struct enumeration *b)
{
	size_t i;

	if (a->nr != b->nr || a->bits != b->bits || a->is_signed != b->is_signed)
		return false;
	for (i = 0; i < a->nr; i++)
		if (a->all[i].value != b->all[i].value || strcmp(a->all[i].name, b->all[i].name))
			return false;
	return true;
}

bool enumeration_is_flags(const struct enumeration *enumeration)
{
	unsigned int flags = 0;
	u64 seen = 0;
	size_t i;

	for (i = 0; i < enumeration->nr; i++) {
		const u64 value = enumeration->all[i].value;

		if (value & (value - 1) || value & seen)
			return false;
		seen |= value;
		flags += value != 0;
	}
	return flags >= 3;
}

static const char *name_of(const struct enumeration *enumeration, u64 value)
{
	size_t i;

	for (i = 0; i < enumeration->nr; i++)
		if (enumeration->all[i].value == value)
			return enumeration->all[i].name;
	return NULL;
}

static void print_flags(const struct enumeration *enumeration, u64 value, FILE *out)
{
	const char *between = "";
	size_t i;

	for (i = 0; i < enumeration->nr; i++) {
		if (!(enumeration->all[i].value & value))
			continue;
		fprintf(out, "%s%s", between, enumeration->all[i].name);
		value &= ~enumeration->all[i].value;
		between = "|";
	}
	if (value)
		fprintf(out, "%s0x%llx", between, value);
}

void enumeration_print(const struct enumeration *enumeration, u64 value, FILE *out)
{
	const char *name;

	value = enumeration_cut(enumeration, value);
	name = name_of(enumeration, value);
	if (name)
		fputs(name, out);
	else if (!enumeration_is_flags(enumeration))
		fprintf(out, "0x%llx", value);
	else if (value)
		print_flags(enumeration, value, out);
	else
		fputc('0', out);
}

int enumeration_json(const struct enumeration *enumeration, u64 value, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *name = open_memstream(&text, &size);

	if (!name)
		return -1;
	enumeration_print(enumeration, value, name);
	if (!fclose(name))
		json_string(out, text);
	free(text);
	return 0;
}

size_t enumeration_name_length(const char *text)
{
	size_t length = strncmp(text, "::", 2) ? 0 : 2, part;

	while ((part = name_length(text + length))) {
		length += part;
		if (strncmp(text + length, "::", 2) || !name_length(text + length + 2))
			return length;
		length += 2;
	}
	return 0;
}

/* The part of a name after its qualification. */
static const char *unqualified(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

/* Is a qualification the SIZE letters of a scope, or the end of them? */
static bool is_end_of(const char *scope, size_t size, const char *text, size_t length)
{
	if (!strncmp(text, "::", 2))
		return length - 2 == size && !strncmp(scope, text + 2, size);
	return length && length <= size && !strncmp(scope + size - length, text, length) &&
	       (length == size || scope[size - length - 1] == ':');
}

/* May the name be written with its qualification? Names of C have none. */
static bool is_qualified_well(const char *scope, const char *name)
{
	const char *last = unqualified(name), *type;
	size_t length = last - name;

	if (!length)
		return true;
	if (!scope)
		return false;
	/* Without the :: at the end, unless it is also the one that begins the name. */
	length -= length > 2 ? 2 : 0;
	type = unqualified(scope);
	return (*type && is_end_of(scope, strlen(scope), name, length)) ||
	       is_end_of(scope, type > scope ? type - scope - 2 : 0, name, length);
}

/* The value of the name of a function, or of its name without parameters. */
static int function_value(const struct enumeration *enumeration, const char *name, u64 *value)
{
	const struct enumerator *at = enumeration->all, *found = NULL;
	const size_t length = strlen(name);
	bool several = false;

	for (; at < enumeration->all + enumeration->nr; at++) {
		if (strncmp(at->name, name, length) ||
		    (at->name[length] && at->name[length] != '('))
			continue;
		if (!found || !at->name[length]) {
			found = at;
			several = false;
		}
		if (!found->name[length])
			break;
		several |= found->value != at->value;
	}
	if (found)
		*value = found->value;
	return found ? several : -1;
}

int enumeration_value(const struct enumeration *enumeration, const char *name, u64 *value)
{
	size_t i;

	if (enumeration->has_functions)
		return function_value(enumeration, name, value);
	for (i = 0; i < enumeration->nr; i++) {
		if (strcmp(enumeration->all[i].name, unqualified(name)) ||
		    !is_qualified_well(enumeration->scope, name))
			continue;
		*value = enumeration->all[i].value;
		return 0;
	}
	return -1;
}

const char *enumeration_near(const struct enumeration *enumeration, const char *name)
{
	struct list list = { .names = NULL };
	const char *near;
	size_t i;

	for (i = 0; i < enumeration->nr; i++)
		list_remember(&list, enumeration->all[i].name);
	near = list_near(&list, enumeration->has_functions ? name : unqualified(name));
	for (i = 0; near && strcmp(enumeration->all[i].name, near); i++)
		;
	near = near ? enumeration->all[i].name : NULL;
	list_free(&list);
	return near;
}

u64 enumeration_cut(const struct enumeration *enumeration, u64 value)
{
	return enumeration->bits < 64 ? value & ((1ull << enumeration->bits) - 1) : value;
}
