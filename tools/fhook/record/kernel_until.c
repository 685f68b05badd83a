// SPDX-License-Identifier: GPL-2.0
/* Conditions that end a recording of the kernel; the header describes them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include "kernel_until.h"
#include "lib/kernel_files.h"

/* It counts down, which shows whether it has acted. */
#define TRIGGER_NAME	"traceoff"
#define TRIGGER		TRIGGER_NAME ":1"
#define ACTED		TRIGGER_NAME ":count=0"

static const char *kind_of(const struct spec *spec)
{
	if (spec->longer)
		return "%span";
	return spec_returns(spec) ? "%return" : "";
}

static int define(struct kernel_until *until, size_t number, struct fault *fault)
{
	const struct spec *spec = &until->record->until[number];
	char *arguments = spec_arguments(spec), *definition = NULL;
	int result = -1;

	if (!arguments ||
	    asprintf(&definition, "h:%s/until%zu %s%s%s\n", until->events->group, number,
		     spec->pattern, kind_of(spec), arguments) < 0) {
		fault_say(fault, "there is not enough memory to record");
	} else if (!kernel_file_append("fhook_events", definition, fault)) {
		until->nr_defined++;
		result = 0;
	}
	free(arguments);
	free(definition);
	return result;
}

int kernel_until_make(struct kernel_until *until, struct fault *fault)
{
	size_t i;

	for (i = 0; i < until->record->nr_until; i++)
		if (define(until, i, fault))
			return -1;
	return 0;
}

static void trigger_file(const struct kernel_until *until, size_t number, char *file, size_t size)
{
	snprintf(file, size, "events/%s/until%zu/trigger", until->events->group, number);
}

static int arm(const struct kernel_until *until, size_t number, struct fault *fault)
{
	const struct spec *spec = &until->record->until[number];
	char *filter = spec_filter(spec), *text = NULL, file[80];
	int result = 0;

	trigger_file(until, number, file, sizeof(file));
	/* With a condition, the kernel also leaves out this process, as with other events. */
	if (!filter || asprintf(&text, TRIGGER " if %s\n",
				*filter ? filter : "common_pid >= 0") < 0)
		result = fault_say(fault, "there is not enough memory to record");
	else if (tracefs_instance_file_append(until->events->instance, file, text) < 0)
		result = fault_say(fault,
				   "the kernel refuses the condition '%s' of %s: %s; it compares the labels of arguments and common fields with numbers and strings",
				   filter, spec->pattern, strerror(errno));
	free(filter);
	free(text);
	return result;
}

int kernel_until_arm(const struct kernel_until *until, struct fault *fault)
{
	size_t i;

	for (i = 0; i < until->nr_defined; i++)
		if (arm(until, i, fault))
			return -1;
	return 0;
}

bool kernel_until_ended(const struct kernel_until *until)
{
	return until->nr_defined && !tracefs_trace_is_on(until->events->instance);
}

u32 kernel_until_reason(const struct kernel_until *until)
{
	size_t i;

	for (i = 0; i < until->nr_defined; i++) {
		char file[80], *text;
		bool acted;

		trigger_file(until, i, file, sizeof(file));
		text = tracefs_instance_file_read(until->events->instance, file, NULL);
		acted = text && strstr(text, ACTED);
		free(text);
		if (acted)
			return i + 1;
	}
	return 0;
}

static void remove_one(const struct kernel_until *until, size_t number)
{
	char text[80], file[80];
	struct fault fault;

	trigger_file(until, number, file, sizeof(file));
	/* It fails if the condition was not armed. */
	if (until->events->instance)
		tracefs_instance_file_append(until->events->instance, file, "!" TRIGGER_NAME "\n");
	snprintf(text, sizeof(text), "-:%s/until%zu\n", until->events->group, number);
	if (kernel_file_append("fhook_events", text, &fault))
		fault_print("fhook", &fault);
}

void kernel_until_remove(struct kernel_until *until)
{
	while (until->nr_defined)
		remove_one(until, --until->nr_defined);
}
