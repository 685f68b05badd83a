// SPDX-License-Identifier: GPL-2.0
/* A function to hook, as the user writes it; the header has the syntax. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "spec.h"

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

/* A copy without blanks at either end. */
static char *copy(const char *text, size_t length)
{
	while (length && isspace((unsigned char)*text)) {
		text++;
		length--;
	}
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	return strndup(text, length);
}

/* The last name in an expression: "name" of file->f_path.dentry->d_name.name:string. */
static char *default_label(const struct spec *spec, const char *value)
{
	const char *end = value + strcspn(value, ":"), *begin;
	char *label;
	unsigned int i, same = 0;

	while (end > value && !is_name_letter(end[-1]))
		end--;
	begin = end;
	while (begin > value && is_name_letter(begin[-1]))
		begin--;
	/* A number, as in $arg1[0]. */
	if (begin == end || isdigit((unsigned char)*begin))
		return asprintf(&label, "arg%u", spec->nr + 1) < 0 ? NULL : label;

	for (i = 0; i < spec->nr; i++)
		same += strlen(spec->labels[i]) == (size_t)(end - begin) &&
			!strncmp(spec->labels[i], begin, end - begin);
	if (!same)
		return strndup(begin, end - begin);
	return asprintf(&label, "%.*s_%u", (int)(end - begin), begin, spec->nr + 1) < 0 ? NULL :
											 label;
}

static int add_argument(struct spec *spec, const char *text, size_t length, struct fault *fault)
{
	const char *equals;
	char *word = copy(text, length), *label, *value;

	if (!word)
		return fault_say(fault, "there is not enough memory");
	if (!*word || spec->nr == SPEC_ARGUMENTS) {
		fault_say(fault, *word ? "%s has more than 32 arguments" :
			  "%s has an empty argument: write NAME(ARGUMENT, ARGUMENT)",
			  spec->pattern);
		free(word);
		return -1;
	}

	equals = word + name_length(word);
	if (equals == word || *equals != '=')
		equals = NULL;
	value = strdup(equals ? equals + 1 : word);
	label = equals ? strndup(word, equals - word) : value ? default_label(spec, value) : NULL;
	free(word);
	spec->values[spec->nr] = value;
	spec->labels[spec->nr++] = label;
	return value && label ? 0 : fault_say(fault, "there is not enough memory");
}

/* Parse "ARGUMENT, ...)". Returns the text after the bracket, or NULL. */
static const char *parse_arguments(struct spec *spec, const char *text, struct fault *fault)
{
	const char *begin = text;
	int depth = 0;

	if (*skip_blanks(text) == ')')
		return skip_blanks(text) + 1;
	for (; *text; text++) {
		if (*text == '(' || *text == '[')
			depth++;
		if ((*text == ')' || *text == ']') && depth-- == 0)
			break;
		if (*text != ',' || depth)
			continue;
		if (add_argument(spec, begin, text - begin, fault))
			return NULL;
		begin = text + 1;
	}
	if (!*text) {
		fault_say(fault, "%s(: the closing bracket is missing", spec->pattern);
		return NULL;
	}
	return add_argument(spec, begin, text - begin, fault) ? NULL : text + 1;
}

/* Parse "> TIME". Returns the text after it, or NULL. */
static const char *parse_longer(struct spec *spec, const char *text, struct fault *fault)
{
	size_t length;
	char *word;
	int bad;

	text = skip_blanks(text + 1);
	length = strcspn(text, " \t");
	word = strndup(text, length);
	bad = !word || word_time(word, &spec->longer);
	if (bad)
		fault_say(fault,
			  "'%s' is no time: it has a unit, ns, us, ms or s, as in 1.5ms%s",
			  word ? word : text,
			  strchr(spec->pattern, '<') || strstr(spec->pattern, "operator") ?
			  "; in the name of a function, write ? in place of >" : "");
	free(word);
	return bad ? NULL : text + length;
}

#define WRITE_MARKS	"in its name, write ? in place of brackets and blanks"

static int parse_filter(struct spec *spec, const char *text, struct fault *fault)
{
	text = skip_blanks(text);
	if (!*text)
		return 0;
	if (strncmp(text, "if", 2) || (!isspace((unsigned char)text[2]) && text[2] != '(') ||
	    !*skip_blanks(text + 2))
		return fault_say(fault,
				 "'%s' is not understood: write NAME(ARGUMENTS) > TIME if CONDITION; %s",
				 text, WRITE_MARKS);
	spec->filter = copy(text + 2, strlen(text + 2));
	return spec->filter ? 0 : fault_say(fault, "there is not enough memory");
}

int spec_parse(struct spec *spec, const char *text, struct fault *fault)
{
	size_t length;

	memset(spec, 0, sizeof(*spec));
	text = skip_blanks(text);
	length = strcspn(text, "( \t>");
	if (!length)
		return fault_say(fault, "'%s' does not begin with the name of a function; %s", text,
				 WRITE_MARKS);
	spec->pattern = strndup(text, length);
	if (!spec->pattern)
		return fault_say(fault, "there is not enough memory");

	text += length;
	if (*skip_blanks(text) == '(')
		text = parse_arguments(spec, skip_blanks(text) + 1, fault);
	if (text && *skip_blanks(text) == '>')
		text = parse_longer(spec, skip_blanks(text), fault);
	if (text && !parse_filter(spec, text, fault))
		return 0;
	spec_free(spec);
	return -1;
}

void spec_free(struct spec *spec)
{
	unsigned int i;

	for (i = 0; i < spec->nr; i++) {
		free(spec->labels[i]);
		free(spec->values[i]);
	}
	free(spec->pattern);
	free(spec->filter);
	memset(spec, 0, sizeof(*spec));
}

int spec_check_plain(const struct spec *spec, struct fault *fault)
{
	if (spec->nr || spec->filter || strpbrk(spec->pattern, "*?[!"))
		return fault_say(fault,
				 "%s: a condition of a program is the name of one function, or NAME > TIME",
				 spec->pattern);
	return 0;
}

char *spec_arguments(const struct spec *spec)
{
	char *text = NULL;
	unsigned int i;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	for (i = 0; i < spec->nr; i++)
		fprintf(file, " %s=%s", spec->labels[i], spec->values[i]);
	return fclose(file) ? NULL : text;
}

char *spec_filter(const struct spec *spec)
{
	char *text;
	int result;

	if (spec->longer && spec->filter)
		result = asprintf(&text, "(%s) && duration > %llu", spec->filter, spec->longer);
	else if (spec->longer)
		result = asprintf(&text, "duration > %llu", spec->longer);
	else
		result = asprintf(&text, "%s", spec->filter ? spec->filter : "");
	return result < 0 ? NULL : text;
}

bool spec_returns(const struct spec *spec)
{
	unsigned int i;

	for (i = 0; i < spec->nr; i++)
		if (strstr(spec->values[i], "$retval"))
			return true;
	return false;
}
