// SPDX-License-Identifier: GPL-2.0
/* Arguments of events on programs; the header describes them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arguments.h"
#include "parameters.h"
#include "type.h"
#include "usdt.h"

/* The first name in an expression, or NULL; and its length, with members as in a->b.c. */
static const char *find_name(const char *text, size_t *length)
{
	const char *bracket = strrchr(text, '('), *at = bracket ? bracket + 1 : text, *end;
	size_t mark;

	if (isdigit((unsigned char)*at) || !name_length(at))
		return NULL;
	end = at + name_length(at);
	while ((mark = *end == '.' ? 1 : !strncmp(end, "->", 2) ? 2 : 0) &&
	       name_length(end + mark))
		end += mark + name_length(end + mark);
	*length = end - at;
	return at;
}

bool arguments_named(const struct spec *spec)
{
	unsigned int i;
	size_t length;

	for (i = 0; i < spec->nr; i++)
		if (find_name(spec->values[i], &length))
			return true;
	return false;
}

static int value_of(struct program *program, const struct program_function *place,
		    const char *name, struct program_value *value, struct fault *fault)
{
	if (place->kind == PROGRAM_USDT)
		return usdt_value(program, place, name, value, fault);
	if (place->kind == PROGRAM_FUNCTION)
		return parameters_value(program, place, name, value, fault);
	return fault_say(fault, "%s: names are known at entries of functions: name a register",
			 place->name);
}

/* A string is at the address that its argument is. */
static bool is_string(const char *type)
{
	return !strcmp(type, ":string") || !strcmp(type, ":ustring");
}

/* Can the text around a name, which begins at NAME and ends at REST, be applied to its value? */
static int check_use(const char *text, const char *name, const char *rest,
		     const struct program_value *value, struct fault *fault)
{
	const bool alone = name == text;

	if (*rest && !strchr(alone ? ":" : ")", *rest))
		return fault_say(fault,
				 "'%s' is not understood: write NAME, NAME:TYPE or +OFFSET(NAME):TYPE",
				 text);
	if (!alone && (value->is_memory || *value->type == 'b' || !strstr(value->type, "64")))
		return fault_say(fault, "'%s' reads from an address, which %.*s is not", text,
				 (int)(rest - name), name);
	if (alone && *rest && *value->type == 'b')
		return fault_say(fault, "%.*s is a bit-field: leave out its type",
				 (int)(rest - name), name);
	if (alone && !*rest && !*value->type)
		return fault_say(fault,
				 "%s is neither a number, a pointer nor text: write a member or a type, as in %s:x8[4]",
				 text, text);
	return 0;
}

/* Write an argument, of which the name at NAME, with LENGTH letters, has a value. */
static int write_named(const char *text, const char *name, size_t length,
		       const struct program_value *value, FILE *out, struct fault *fault)
{
	const char *rest = name + length;

	if (check_use(text, name, rest, value, fault))
		return -1;
	if (name == text && is_string(rest) && !value->is_memory)
		fprintf(out, "+0(%s)%s", value->text, rest);
	else
		fprintf(out, "%.*s%s%s", (int)(name - text), text, value->text, rest);
	if (name == text && !*rest)
		fprintf(out, ":%s", value->type);
	return 0;
}

/* As with parameters, a string is at the address in a register or in $retval. */
static void write_unnamed(const char *text, FILE *out)
{
	const char *type = strchr(text, ':');

	if (type && is_string(type) && strchr("$%", *text) && strncmp(text, "$comm:", 6))
		fprintf(out, "+0(%.*s)%s", (int)(type - text), text, type);
	else
		fputs(text, out);
}

/* With a type that the user has given, and in brackets, a value has no name. */
static void take_names(struct call_event *event, unsigned int nr, const char *text,
		       size_t length, struct program_value *value)
{
	struct enumeration names = { };

	if (value->die.addr && !text[length] &&
	    type_enumeration(&value->die, value->type, &names))
		enumeration_free(&names);
	call_event_take(event, nr, &names);
}

/* Has uhook_events an option of this name? */
static bool is_option(const char *label)
{
	return !strcmp(label, "user") || !strcmp(label, "pid") || !strcmp(label, "vectors") ||
	       !strcmp(label, "stack");
}

static int write_argument(struct program *program, const struct program_function *place,
			  const struct spec *spec, unsigned int nr, struct call_event *event,
			  FILE *out, struct fault *fault)
{
	const char *text = spec->values[nr], *label = spec->labels[nr], *name;
	struct program_value value = { };
	size_t length;
	char *copy;
	int result;

	fprintf(out, " %s=", label);
	name = find_name(text, &length);
	if (!name) {
		write_unnamed(text, out);
		return 0;
	}
	/* Only parameters have types with members. */
	if (place->kind != PROGRAM_FUNCTION)
		length = name_length(name);
	if (!program->is_kernel && is_option(label))
		return fault_say(fault, "no field can be named %s: write a label, as in the_%s=%s",
				 label, label, text);
	copy = strndup(name, length);
	if (!copy)
		return fault_say(fault, "there is not enough memory");
	result = value_of(program, place, copy, &value, fault);
	free(copy);
	if (result || write_named(text, name, length, &value, out, fault))
		return -1;
	if (event)
		take_names(event, nr, text, length, &value);
	return 0;
}

char *arguments_at(struct program *program, const struct program_function *place,
		   const struct spec *spec, struct call_event *event, struct fault *fault)
{
	char *text = NULL;
	unsigned int i;
	int result = 0;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (i = 0; out && i < spec->nr && !result; i++)
		result = write_argument(program, place, spec, i, event, out, fault);
	if (!out || fclose(out)) {
		fault_say(fault, "there is not enough memory");
		result = -1;
	}
	if (!result)
		return text;
	free(text);
	return NULL;
}
