// SPDX-License-Identifier: GPL-2.0
/* Events on calls, defined as the user writes them; the header describes them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "arguments.h"
#include "call_events.h"
#include "exits.h"
#include "kernel.h"
#include "progress.h"

/* An event is named after its pattern, which its lines show, with a number if another one is. */
static void name_event(const struct call_events *events, const struct spec *spec,
		       char name[CALL_EVENT_NAME])
{
	size_t n = events->nr + 1;
	char *at, *end;

	snprintf(name, CALL_EVENT_NAME, "%.48s", spec->pattern);
	for (at = name; *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *at))
			*at = '_';
	if (name[0] >= '0' && name[0] <= '9')
		name[0] = '_';
	end = name + strlen(name);
	snprintf(end, CALL_EVENT_NAME - (end - name), "%s", events->mark);
	for (; call_events_find(events, name); n++)
		snprintf(end, CALL_EVENT_NAME - (end - name), "__%zu%s", n, events->mark);
}

/* Events with a return value or a duration are made at the return. */
static const char *suffix_of(const struct call_events *events, const struct spec *spec)
{
	if (spec->longer)
		return "%span";
	return events->options->returns || spec_returns(spec) ? "%return" : "";
}

static int define_in_kernel(struct call_events *events, struct call_event *event,
			    struct fault *fault)
{
	struct spec *spec = &event->spec;
	char *arguments, *suffix;
	size_t functions;
	int result;

	if (events->options->json)
		arguments_texts_last(NULL, NULL, spec);
	arguments = kernel_arguments(&events->info, &spec->pattern, 1, spec, event, fault);
	if (!arguments)
		return -1;
	result = asprintf(&suffix, "%s%s", suffix_of(events, spec), arguments);
	free(arguments);
	if (result < 0)
		return fault_say(fault, "there is not enough memory");
	result = kernel_define(&events->session, event->name, &spec->pattern, 1, suffix, &functions,
			       fault);
	free(suffix);
	return result;
}

char *call_events_span(const struct program *program, const struct program_function *function,
		       const struct spec *spec, struct fault *fault)
{
	unsigned int tails;
	char *places = exits_span(program, function, &tails, fault);

	if (!places || !tails || !spec || !spec_returns(spec))
		return places;
	fault_say(fault, "%s ends by calling another function, which has the return value",
		  function->name);
	free(places);
	return NULL;
}

/* The place of an event on a function of a program, to be freed, or NULL. */
static char *place_of(const struct call_events *events, const struct spec *spec,
		      const struct program *program, const struct program_function *function,
		      struct fault *fault)
{
	const char *suffix = suffix_of(events, spec);

	/* Exits work where a return address must not be replaced. */
	if (*suffix && !events->session.mainline)
		return call_events_span(program, function, spec, fault);
	if (*suffix && program_check_function(function, fault))
		return NULL;
	return program_place(function, fault);
}

/* Functions of a program have addresses that differ between runs: name them in a field. */
#define FUNCTION	"func"

static bool has_label(const struct spec *spec, const char *label)
{
	unsigned int i;

	for (i = 0; i < spec->nr; i++)
		if (!strcmp(spec->labels[i], label))
			return true;
	return false;
}

/* Add an argument before the others. */
static int put_first(struct spec *spec, const char *label, const char *value)
{
	memmove(spec->labels + 1, spec->labels, spec->nr * sizeof(*spec->labels));
	memmove(spec->values + 1, spec->values, spec->nr * sizeof(*spec->values));
	spec->nr++;
	spec->labels[0] = strdup(label);
	spec->values[0] = strdup(value);
	return spec->labels[0] && spec->values[0] ? 0 : -1;
}

/*
 * The kernel follows frame pointers, which at the entry of a function lead to the caller of its
 * caller: add the address to which the function returns.
 */
static int record_caller(const struct call_events *events, struct call_event *event,
			 const struct program *program, struct fault *fault)
{
	struct spec *spec = &event->spec;

	if (!events->records_callers || !events->options->stack || spec->nr == SPEC_ARGUMENTS ||
	    program->functions->kind != PROGRAM_FUNCTION || has_label(spec, CALL_EVENT_CALLER))
		return 0;
	event->has_caller = true;
	return put_first(spec, CALL_EVENT_CALLER, program_return_address(program)) ?
	       fault_say(fault, "there is not enough memory") : 0;
}

/*
 * Add an argument before the others, whose value is the number of the function, or of the first
 * one with its name.
 */
static int name_functions(struct call_event *event, const struct program *program,
			  struct fault *fault)
{
	struct spec *spec = &event->spec;
	struct enumeration *names = event->enumerations;
	int result;
	size_t i;

	if (program->nr < 2 || spec->nr == SPEC_ARGUMENTS || has_label(spec, FUNCTION))
		return 0;
	result = put_first(spec, FUNCTION, "");
	enumeration_begin(names, "u32");
	for (i = 0; i < program->nr && !result; i++)
		result = enumeration_add_text(names, program->functions[i].name, i);
	if (!result)
		result = enumeration_join_functions(names);
	event->names_functions = true;
	return result ? fault_say(fault, "there is not enough memory") : 0;
}

static int number_function(struct call_event *event, size_t number, struct fault *fault)
{
	char **value = event->spec.values;

	if (!event->names_functions)
		return 0;
	free(*value);
	if (asprintf(value, "\\%llu:u32", event->enumerations->all[number].value) >= 0)
		return 0;
	*value = NULL;
	return fault_say(fault, "there is not enough memory");
}

static int define_place(const struct call_events *events, struct call_event *event,
			struct program *program, size_t number, struct fault *fault)
{
	const struct options *options = events->options;
	const struct spec *spec = &event->spec;
	const struct program_function *function = program->functions + number;
	char *arguments, *place;
	char pid[24] = "";
	int result = -1;

	if (number_function(event, number, fault))
		return -1;
	arguments = arguments_at(program, function, spec, event, fault);
	if (options->pid)
		snprintf(pid, sizeof(pid), " pid=%d", options->pid);
	place = arguments ? place_of(events, spec, program, function, fault) : NULL;
	if (place)
		result = session_define(&events->session, fault,
					program_events(&events->session),
					program_letter(&events->session,
						       *suffix_of(events, spec)),
					event->name, "%s:%s%s%s%s", program->path, place,
					options->stack ? " stack=user" : "", pid, arguments);
	free(place);
	free(arguments);
	return result;
}

static int define_in_program(const struct call_events *events, struct call_event *event,
			     struct fault *fault)
{
	const struct options *options = events->options;
	struct spec *spec = &event->spec;
	struct left_out left_out = { 0 };
	struct progress progress;
	struct program program;
	int result = 0;
	size_t i;

	if (events->session.mainline && (options->pid || options->stack))
		return session_refuse(&events->session,
				      options->pid ? "-p PID" : "--stack with -p", fault);
	if (events->session.mainline && *suffix_of(events, spec) && arguments_named(spec))
		return fault_say(fault,
				 "mainline's returns have no parameters: leave out $retval and -r");
	if (program_select(&program, options->program, &spec->pattern, 1, fault))
		return -1;
	if (options->json)
		arguments_texts_last(&program, program.functions, spec);
	result = program_check_machine(&program, fault) ||
		 record_caller(events, event, &program, fault) ||
		 name_functions(event, &program, fault) ? -1 : 0;
	progress_begin(&progress, program.path, program.nr);
	for (i = 0; i < program.nr && !result; i++) {
		result = progress_step(&progress, fault);
		if (!result && define_place(events, event, &program, i, fault))
			program_leave_out(&left_out, fault);
	}
	progress_end(&progress);
	if (!result)
		result = program_report(&program, &left_out, fault);
	program_free(&program);
	return result;
}

static bool is_field(const struct spec *spec, const char *name)
{
	return has_label(spec, name) || !strncmp(name, "common_", strlen("common_")) ||
	       !strcasecmp(name, "comm") || !strcasecmp(name, "cpu") || !strcmp(name, "duration");
}

/*
 * The first field of a condition that an event has not, to be freed; or NULL. Fields begin
 * comparisons.
 */
static char *unknown_field(const struct spec *spec)
{
	const char *text = spec->filter;
	bool begins = true;
	size_t length;
	char *name;

	for (; text && *text; text += length) {
		length = name_length(text);
		if (length && begins) {
			name = strndup(text, length);
			if (!name || !is_field(spec, name))
				return name;
			free(name);
		}
		if (length)
			begins = false;
		else if (*text == '(' || (*text == '!' && text[1] != '=') ||
			 !strncmp(text, "&&", 2) || !strncmp(text, "||", 2))
			begins = true;
		if (!length) {
			length = 1 + (*text == '"' ? strcspn(text + 1, "\"") : 0);
			length += *text == '"' && text[length];
		}
	}
	return NULL;
}

static int say_field(const struct spec *spec, const char *name, struct fault *fault)
{
	return fault_say(fault,
			 "the condition compares %s, which is no argument: write %s(%s%s) if %s",
			 name, spec->pattern, spec->nr ? "..., " : "", name, spec->filter);
}

static int set_filter(const struct call_events *events, const struct call_event *event,
		      const char *filter, struct fault *fault)
{
	struct fault kernels;
	const char *reason;
	char *field;

	if (!session_set(&events->session, event->name, "filter", filter, &kernels))
		return 0;
	field = strstr(kernels.text, "Field not found") ? unknown_field(&event->spec) : NULL;
	if (field) {
		say_field(&event->spec, field, fault);
		free(field);
		return -1;
	}
	reason = strstr(kernels.text, "': ");
	reason = reason ? reason + strlen("': ") : "it is not understood";
	/* So the kernel calls an error of which it knows no more. */
	if (!strcmp(reason, "Error"))
		reason = "it is not understood";
	return fault_say(fault,
			 "the condition \"%s\" is refused: %s; it compares labels, comm, common_pid",
			 filter, reason);
}

static int set_up(const struct call_events *events, const struct call_event *event,
		  struct fault *fault)
{
	char *filter = call_event_filter(event, fault);
	int result = 0;

	if (!filter)
		return -1;
	if (*filter)
		result = set_filter(events, event, filter, fault);
	/* Unlike a trigger, this option respects the filter. */
	if (!result && events->options->stack && !events->options->program)
		result = session_control(&events->session, "options/stacktrace", "1", fault);
	free(filter);
	return result || session_set(&events->session, event->name, "enable", "1", fault) ? -1 : 0;
}

static int define(struct call_events *events, struct call_event *event,
		  struct fault *fault)
{
	if (event->spec.longer && events->session.mainline)
		return session_refuse(&events->session, "> TIME", fault);
	name_event(events, &event->spec, event->name);
	return (events->options->program ? define_in_program(events, event, fault) :
		define_in_kernel(events, event, fault)) || set_up(events, event, fault) ? -1 : 0;
}

static int add(struct call_events *events, const char *text, struct fault *fault)
{
	struct call_event *event;
	int result;

	if (*text == '!')
		return fault_say(fault, "%s: trace and record cannot leave functions out", text);
	if (grow(&events->all, &events->room, events->nr, sizeof(*events->all)))
		return fault_say(fault, "there is not enough memory");
	event = events->all + events->nr;
	*event = (struct call_event) { };
	if (spec_parse(&event->spec, text, fault))
		return -1;
	result = define(events, event, fault);
	events->nr++;
	return result;
}

int call_events_begin(struct call_events *events, const struct options *options,
		      struct fault *fault)
{
	char self[24];

	events->options = options;
	if (session_begin(&events->session, options->mainline,
			  options->program ? "uhook_events" : "fhook_events", fault))
		return -1;
	snprintf(self, sizeof(self), "%d", events->session.task);
	return session_control(&events->session, "set_event_notrace_pid", self, fault);
}

int call_events_mark(struct call_events *events, struct fault *fault)
{
	u32 number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return fault_say(fault, "there is no random number: %s", strerror(errno));
	snprintf(events->mark, sizeof(events->mark), "_%08x", number);
	return 0;
}

int call_events_add(struct call_events *events, struct fault *fault)
{
	size_t i;

	for (i = 0; i < events->options->nr_functions; i++)
		if (add(events, events->options->functions[i], fault))
			return -1;
	return 0;
}

const struct call_event *call_events_find(const struct call_events *events, const char *name)
{
	size_t i;

	for (i = 0; i < events->nr; i++)
		if (!strcmp(events->all[i].name, name))
			return events->all + i;
	return NULL;
}

void call_events_end(struct call_events *events)
{
	size_t i;

	session_end(&events->session);
	kernel_info_close(&events->info);
	for (i = 0; i < events->nr; i++)
		call_event_free(events->all + i);
	free(events->all);
	events->all = NULL;
	events->nr = 0;
}
