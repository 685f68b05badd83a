// SPDX-License-Identifier: GPL-2.0
/* The slowest call of each function; the header describes the functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hist.h"
#include "slowest.h"

/* A histogram has room for a power of two of entries. */
#define LEAST_ENTRIES	128

/* Saved besides the arguments. */
enum { SAVED_TIME, SAVED_PID, SAVED_COMM, NR_FIXED };

static const char *const fixed[NR_FIXED] = {
	[SAVED_TIME] = "common_timestamp", [SAVED_PID] = "common_pid", [SAVED_COMM] = SLOWEST_COMM,
};

/* Names of the fields of arguments: labels of one letter are not saved. */
static const char *const field_names[SLOWEST_ARGUMENTS] = {
	"value1", "value2", "value3", "value4", "value5", "value6", "value7", "value8", "value9",
	"value10", "value11",
};

/**
 * struct saves - the fields that are saved, strings last, because strings may contain anything
 * @names: their names
 * @arguments: number of the argument, -1 for the other ones
 * @kinds: kinds of their values
 * @nr: number of fields
 */
struct saves {
	const char *names[NR_FIXED + SLOWEST_ARGUMENTS];
	int arguments[NR_FIXED + SLOWEST_ARGUMENTS];
	enum value_kind kinds[NR_FIXED + SLOWEST_ARGUMENTS];
	size_t nr;
};

static void add_save(struct saves *saves, const char *name, int argument, enum value_kind kind)
{
	saves->names[saves->nr] = name;
	saves->arguments[saves->nr] = argument;
	saves->kinds[saves->nr++] = kind;
}

/*
 * The kind of a field by the event's "format": "field:TYPE NAME; ... signed:S;", "NAME=0x%Lx".
 * Fails for an array, of which the kernel would save a part.
 */
static int kind_of(const char *format, const char *name, enum value_kind *kind)
{
	const char *fields = strstr(format, "\tfield:"), *print = strstr(format, "\nprint fmt:");
	char mark[80], *field;

	snprintf(mark, sizeof(mark), " %.60s;", name);
	field = fields ? strstr(fields, mark) : NULL;
	if (!field || !print)
		return -1;
	while (field > fields && field[-1] != '\t')
		field--;
	snprintf(mark, sizeof(mark), " %.60s=0x", name);
	if (!strncmp(field, "field:__data_loc char[]", strlen("field:__data_loc char[]")))
		*kind = VALUE_STRING;
	else if (strstr(print, mark))
		*kind = VALUE_HEX;
	else if (!strncmp(field + strcspn(field, "\n") - strlen("signed:1;"), "signed:1;",
			  strlen("signed:1;")))
		*kind = VALUE_SIGNED;
	else
		*kind = VALUE_UNSIGNED;
	return 0;
}

/* Find out which fields of an event are saved, and their order. */
static int find_saves(struct saves *saves, const struct session *session, const char *event,
		      const struct spec *spec, struct fault *fault)
{
	char *format = session_get(session, event, "format", fault);
	enum value_kind kinds[SLOWEST_ARGUMENTS];
	unsigned int i;

	if (!format)
		return -1;
	saves->nr = 0;
	add_save(saves, fixed[SAVED_TIME], -1, VALUE_UNSIGNED);
	add_save(saves, fixed[SAVED_PID], -1, VALUE_UNSIGNED);
	for (i = 0; i < spec->nr; i++) {
		if (kind_of(format, field_names[i], &kinds[i])) {
			free(format);
			return fault_say(fault, "%s of %s is not saved: take integers and strings",
					 spec->labels[i], spec->pattern);
		}
		if (kinds[i] != VALUE_STRING)
			add_save(saves, field_names[i], i, kinds[i]);
	}
	add_save(saves, fixed[SAVED_COMM], -1, VALUE_STRING);
	for (i = 0; i < spec->nr; i++)
		if (kinds[i] == VALUE_STRING)
			add_save(saves, field_names[i], i, VALUE_STRING);
	free(format);
	return 0;
}

static char *trigger_of(const struct saves *saves, const char *key, size_t functions,
			const char *condition)
{
	const size_t size = hist_size(functions, LEAST_ENTRIES);
	size_t length, i;
	char *text = NULL;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	fprintf(out, "hist:keys=%s:slowest=duration:size=%zu:clock=boot:onmax($slowest).save(", key,
		size);
	for (i = 0; i < saves->nr; i++)
		fprintf(out, "%s%s", i ? "," : "", saves->names[i]);
	fprintf(out, ")%s", condition);
	return fclose(out) ? NULL : text;
}

struct spec slowest_fields(const struct spec *spec)
{
	struct spec fields = *spec;
	unsigned int i;

	for (i = 0; i < spec->nr && i < SLOWEST_ARGUMENTS; i++)
		fields.labels[i] = (char *)field_names[i];
	return fields;
}

int slowest_begin(const struct session *session, const char *event, const char *key,
		  size_t functions, const struct spec *spec, const char *condition,
		  struct fault *fault)
{
	struct fault kernels;
	const char *reason;
	struct saves saves;
	char *trigger;
	int result;

	if (spec->nr > SLOWEST_ARGUMENTS)
		return fault_say(fault, "%s has %u arguments: the kernel saves at most %d",
				 spec->pattern, spec->nr, SLOWEST_ARGUMENTS);
	if (find_saves(&saves, session, event, spec, fault))
		return -1;
	trigger = trigger_of(&saves, key, functions, condition);
	if (!trigger)
		return fault_say(fault, "there is not enough memory");
	result = session_add_up(session, event, trigger, &kernels);
	free(trigger);
	if (!result)
		return 0;
	reason = strstr(kernels.text, "': ");
	return fault_say(fault, "the kernel does not save the arguments of %s: %s", spec->pattern,
			 reason ? reason + strlen("': ") : kernels.text);
}

/* Take a row, whose strings become those of the call. */
static int add_call(struct slowest *slowest, struct hist_row *row, const char *function,
		    const struct saves *saves, const struct spec *spec)
{
	struct slow_call *call;
	size_t i;

	if (grow(&slowest->calls, &slowest->room, slowest->nr, sizeof(*slowest->calls)))
		return -1;
	call = slowest->calls + slowest->nr++;
	*call = (struct slow_call){ .ns = row->max, .spec = spec };
	call->function = strdup(function ? function : hist_symbol(row->keys[0]));
	call->ended = strtoull(row->saved[SAVED_TIME], NULL, 10);
	call->pid = strtoull(row->saved[SAVED_PID], NULL, 10);
	for (i = SAVED_PID + 1; i < saves->nr; i++) {
		char *value = strdup(row->saved[i]);

		if (!value)
			return -1;
		if (saves->arguments[i] < 0) {
			call->comm = value;
			continue;
		}
		call->values[saves->arguments[i]] = value;
		call->kinds[saves->arguments[i]] = saves->kinds[i];
	}
	return call->function ? 0 : -1;
}

int slowest_read(struct slowest *slowest, const struct session *session, const char *event,
		 const char *function, const struct spec *spec, struct fault *fault)
{
	const char *const names[] = { function ? SLOWEST_ONLY : "__probe_func", NULL };
	struct hist hist = { 0 };
	struct saves saves;
	char *text, *second;
	int result = 0;
	size_t i;

	if (find_saves(&saves, session, event, spec, fault))
		return -1;
	text = session_get(session, event, "hist", fault);
	if (!text)
		return -1;
	hist.saves = saves.names;
	hist.nr_saves = saves.nr;
	second = hist_of_trigger(text, true);
	if (second)
		result = hist_parse(&hist, second, names, fault);
	free(text);
	if (hist.forged)
		fprintf(stderr,
			"fhook: the slowest calls of %s are not printed: a string looks like the kernel's text.\n",
			spec->pattern);
	for (i = 0; i < hist.nr && !result && !hist.forged; i++)
		if (hist.rows[i].max && add_call(slowest, hist.rows + i, function, &saves, spec))
			result = fault_say(fault, "there is not enough memory");
	hist_free(&hist);
	return result;
}

void slowest_free(struct slowest *slowest)
{
	unsigned int i;

	while (slowest->nr) {
		struct slow_call *call = slowest->calls + --slowest->nr;

		for (i = 0; i < SLOWEST_ARGUMENTS; i++)
			free(call->values[i]);
		free(call->function);
		free(call->comm);
	}
	free(slowest->calls);
	*slowest = (struct slowest){ };
}
