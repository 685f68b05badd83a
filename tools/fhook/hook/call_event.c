// SPDX-License-Identifier: GPL-2.0
/* An event on calls; the header describes it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "call_event.h"

void call_event_take(struct call_event *event, unsigned int argument,
		     struct enumeration *enumeration)
{
	struct enumeration *known = event->enumerations + argument;

	if (!event->seen[argument]) {
		event->seen[argument] = true;
		*known = *enumeration;
		return;
	}
	if (!enumeration_equal(known, enumeration))
		enumeration_free(known);
	if (known->scope && (!enumeration->scope || strcmp(known->scope, enumeration->scope))) {
		free(known->scope);
		known->scope = NULL;
	}
	enumeration_free(enumeration);
}

/* The names of the values of the argument whose label begins TEXT, or NULL. */
static const struct enumeration *names_of(const struct call_event *event, const char *text,
					  size_t length)
{
	unsigned int i;

	for (i = 0; i < event->spec.nr; i++)
		if (event->enumerations[i].nr && strlen(event->spec.labels[i]) == length &&
		    !strncmp(event->spec.labels[i], text, length))
			return event->enumerations + i;
	return NULL;
}

static int say_unknown(const struct enumeration *names, const char *word, struct fault *fault)
{
	const char *near = enumeration_near(names, word);

	if (names->has_functions)
		return fault_say(fault, "no function is named %s; %s name is \"%s\"", word,
				 near ? "the nearest" : "the first",
				 near ? near : names->all[0].name);
	return fault_say(fault, near ? "no value is named %s; the nearest name is %s" :
			 "no value is named %s: the first name is %s", word,
			 near ? near : names->all[0].name);
}

/* Add the value of a name to a set of flags. */
static int add_value(const struct enumeration *names, const char *text, size_t length,
		     u64 *value, struct fault *fault)
{
	char *word = strndup(text, length);
	u64 added = 0;
	int result;

	if (!word)
		return fault_say(fault, "there is not enough memory");
	result = enumeration_value(names, word, &added);
	*value |= added;
	if (result > 0)
		fault_say(fault,
			  "several functions are named %s: compare with \"%s\", or another one",
			  word, names->all[added].name);
	else if (result)
		say_unknown(names, word, fault);
	free(word);
	return result ? -1 : 0;
}

/* Copy the value that an argument is compared with. Returns the text after it, or NULL. */
static const char *copy_value(const struct enumeration *names, const char *text, FILE *out,
			      struct fault *fault)
{
	u64 value = 0;
	size_t length;

	if (names->has_functions && *text == '"') {
		length = strcspn(text + 1, "\"");
		if (add_value(names, text + 1, length, &value, fault))
			return NULL;
		fprintf(out, "%llu", value);
		return text + 1 + length + !!text[1 + length];
	}
	if (isdigit((unsigned char)*text) || !enumeration_name_length(text))
		return text;
	for (;;) {
		length = enumeration_name_length(text);
		if (add_value(names, text, length, &value, fault))
			return NULL;
		text += length;
		if (text[0] != '|' || text[1] == '|' || !enumeration_name_length(text + 1))
			break;
		if (names->has_functions || !enumeration_is_flags(names)) {
			fault_say(fault,
				  "values before and after '%.20s' are no flags: write each comparison, with || between them",
				  text);
			return NULL;
		}
		text++;
	}
	if (names->is_signed)
		fprintf(out, "%lld", (s64)(value << (64 - names->bits)) >> (64 - names->bits));
	else
		fprintf(out, "%llu", value);
	return text;
}

/* Copy a label, and the operator and the value after it. Returns the text after them, or NULL. */
static const char *copy_word(const struct call_event *event, const char *text, FILE *out,
			     struct fault *fault)
{
	const size_t length = name_length(text);
	const struct enumeration *names = names_of(event, text, length);
	size_t operator = 0;

	if (names) {
		operator = strspn(text + length, " \t");
		operator += strspn(text + length + operator, "=!<>&");
		operator += strspn(text + length + operator, " \t");
	}
	fwrite(text, 1, length + operator, out);
	text += length + operator;
	return operator ? copy_value(names, text, out, fault) : text;
}

/* Conditions compare labels: "retval", not "$retval". */
static int say_label(const char *text, struct fault *fault)
{
	const int length = name_length(text + 1);

	return fault_say(fault,
			 "the condition has %.*s: write the label of an argument, as in %.*s > 0",
			 1 + length, text, length, text + 1);
}

static int copy_filter(const struct call_event *event, const char *text, FILE *out,
		       struct fault *fault)
{
	size_t length;

	while (text && *text) {
		if (strchr("$%", *text) && name_length(text + 1))
			return say_label(text, fault);
		if (name_length(text)) {
			text = copy_word(event, text, out, fault);
			continue;
		}
		length = 1;
		if (*text == '"' || *text == '\'') {
			length += strcspn(text + 1, *text == '"' ? "\"" : "'");
			length += text[length] != '\0';
		}
		fwrite(text, 1, length, out);
		text += length;
	}
	return text ? 0 : -1;
}

char *call_event_filter(const struct call_event *event, struct fault *fault)
{
	char *filter = spec_filter(&event->spec), *text = NULL;
	FILE *out = filter ? open_memstream(&text, &(size_t) { 0 }) : NULL;
	int result = 0;

	if (out)
		result = copy_filter(event, filter, out, fault);
	free(filter);
	if (!out || fclose(out))
		result = fault_say(fault, "there is not enough memory");
	if (!result)
		return text;
	free(text);
	return NULL;
}

void call_event_free(struct call_event *event)
{
	unsigned int i;

	for (i = 0; i < event->spec.nr; i++)
		enumeration_free(event->enumerations + i);
	spec_free(&event->spec);
}
