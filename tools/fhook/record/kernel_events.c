// SPDX-License-Identifier: GPL-2.0
/* fhook's events for a software recorder; the header describes them. */
#include <errno.h>
#include <event-parse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>
#include "kernel_events.h"
#include "lib/kernel_files.h"
#include "lib/own_task.h"

#define ENTER	"enter"
#define LEAVE	"leave"

static int define(const struct kernel_events *events, const char *event, const char *pattern,
		  const char *where, struct fault *fault)
{
	char *definition;
	int result;

	if (asprintf(&definition, "h:%s/%s %s%s\n", events->group, event, pattern, where) < 0)
		return fault_say(fault, "there is not enough memory to record");
	result = kernel_file_append("fhook_events", definition, fault);
	free(definition);
	return result;
}

static int define_all(const struct kernel_events *events, const struct choice *choice,
		      struct fault *fault)
{
	size_t i;

	for (i = 0; i < choice->nr_patterns; i++) {
		if (define(events, ENTER, choice->patterns[i], "", fault) ||
		    define(events, LEAVE, choice->patterns[i], "%return", fault))
			return -1;
	}
	return 0;
}

static int set(const struct kernel_events *events, const char *file, const char *text,
	       struct fault *fault)
{
	if (tracefs_instance_file_write(events->instance, file, text) >= 0)
		return 0;
	return fault_say(fault, "%s/instances/%s/%s does not take '%s': %s",
			 kernel_files_path(), events->group, file, text, strerror(errno));
}

static int make_instance(struct kernel_events *events, u64 buffer_kb, struct fault *fault)
{
	char size[24], own[24];
	pid_t task;

	snprintf(size, sizeof(size), "%llu", buffer_kb);
	instance_sweep();
	events->lock = instance_make(INSTANCE_CALLTRACE, events->group, fault);
	if (events->lock < 0)
		return -1;
	events->instance = tracefs_instance_create(events->group);
	if (!events->instance)
		return fault_say(fault, "%s/instances/%s cannot be used: %s",
				 kernel_files_path(), events->group, strerror(errno));
	if (own_task_find(events->group, &task, fault))
		return -1;
	snprintf(own, sizeof(own), "%d", task);
	/* Older kernels do not keep the processes of tasks. */
	tracefs_instance_file_write(events->instance, "options/record-tgid", "1");
	/* Of all clocks, this one is the same on all CPUs. */
	return set(events, "tracing_on", "0", fault) ||
	       set(events, "options/overwrite", "1", fault) ||
	       set(events, "trace_clock", "mono", fault) ||
	       set(events, "buffer_size_kb", size, fault) ||
	       set(events, "set_event_notrace_pid", own, fault) ? -1 : 0;
}

static int find_fields(struct tep_event *event, const char *function, struct page_event *kind)
{
	struct tep_format_field *field = event ? tep_find_field(event, function) : NULL;

	if (!field || field->size != sizeof(u64))
		return -1;
	kind->id = event->id;
	kind->function = field->offset;
	return 0;
}

static int read_format(struct kernel_events *events, struct fault *fault)
{
	const char *const systems[] = { events->group, NULL };
	struct tep_handle *tep = tracefs_local_events_system(kernel_files_path(), systems);
	struct tep_event *enter = tep ? tep_find_event_by_name(tep, events->group, ENTER) : NULL;
	struct tep_event *leave = tep ? tep_find_event_by_name(tep, events->group, LEAVE) : NULL;
	struct tep_format_field *id = enter ? tep_find_common_field(enter, "common_type") : NULL;
	struct tep_format_field *task = enter ? tep_find_common_field(enter, "common_pid") : NULL;
	int result = 0;

	if (!id || id->size != sizeof(u16) || !task || task->size != sizeof(u32) ||
	    find_fields(enter, "__probe_ip", &events->format.enter) ||
	    find_fields(leave, "__probe_func", &events->format.leave)) {
		result = fault_say(fault, "%s/events/%s: the format of the events is not known",
				   kernel_files_path(), events->group);
	} else {
		events->format.id = id->offset;
		events->format.task = task->offset;
		events->page_size = tep_get_sub_buffer_size(tep);
		if (events->page_size <= 0)
			events->page_size = getpagesize();
	}
	tep_free(tep);
	return result;
}

int kernel_events_make(struct kernel_events *events, const struct choice *choice, u64 buffer_kb,
		       struct fault *fault)
{
	return make_instance(events, buffer_kb, fault) || define_all(events, choice, fault) ||
	       read_format(events, fault) ? -1 : 0;
}

static int enable_event(const struct kernel_events *events, const char *event, const char *on,
			struct fault *fault)
{
	char file[80];

	snprintf(file, sizeof(file), "events/%s/%s/enable", events->group, event);
	return set(events, file, on, fault);
}

int kernel_events_hook(struct kernel_events *events, struct fault *fault)
{
	return enable_event(events, LEAVE, "1", fault) || enable_event(events, ENTER, "1", fault) ?
	       -1 : 0;
}

int kernel_events_record(struct kernel_events *events, bool on, struct fault *fault)
{
	return set(events, "tracing_on", on ? "1" : "0", fault);
}

u64 kernel_events_missed(const struct kernel_events *events)
{
	struct fault ignored;
	char *text = kernel_file_read("fhook/stat", &ignored), *rest = text, *line;
	const size_t length = strlen(events->group);
	unsigned long long missed, sum = 0;

	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, events->group, length) && line[length] == '/' &&
		    sscanf(line, "%*s %*u %*u %llu", &missed) == 1)
			sum += missed;
	free(text);
	return sum;
}

void kernel_events_remove(struct kernel_events *events)
{
	if (events->instance)
		tracefs_instance_free(events->instance);
	events->instance = NULL;
	if (events->lock >= 0)
		instance_remove(events->group, events->lock);
	events->lock = -1;
}
