// SPDX-License-Identifier: GPL-2.0
/* fhook fail: let functions of the kernel return errors */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel.h"
#include "kernel_arguments.h"
#include "lib/kernel_files.h"
#include "live.h"
#include "session.h"
#include "words.h"

static const struct word word = {
	.name = "fhook fail",
	.arguments = "'FUNCTION[(ARGUMENT, ...)]=VALUE [if CONDITION]'... [-- COMMAND...]",
	.does = "Let functions of the kernel return VALUE instead of running.\n"
		"\vOnly functions in /sys/kernel/debug/error_injection/list can fail. VALUE is\n"
		"a negative error number, as -28, if the list has ERRNO after the function;\n"
		"0, for a null pointer, if it has NULL; either with ERRNO_NULL; and 1 with\n"
		"TRUE. Calls for which CONDITION, as in fhook trace, is false run as usual.\n"
		"It compares arguments, and common fields: common_pid == 214. Calls by fhook\n"
		"itself also run as usual. Ends with the command, after --duration, or at\n"
		"Ctrl-C, and prints how many calls returned VALUE.",
	.takes = "d",
	.least = 1,
};

/**
 * struct failing - a run
 * @session: the run's events
 * @info: types of the kernel's functions
 */
struct failing {
	struct session session;
	struct kernel_info info;
};

/* Split "FUNCTION(...)=VALUE if ..." into a function with its condition, and the value. */
static int split(const char *text, char **function, char **value, struct fault *fault)
{
	const char *equals, *end;
	int depth = 0;

	for (equals = text; *equals && ((*equals != '=' && *equals != ' ') || depth); equals++)
		depth += (*equals == '(') - (*equals == ')');
	end = equals + strcspn(equals, " \t");
	if (*equals != '=' || end == equals + 1)
		return fault_say(fault,
				 "'%s' has no value to return: write FUNCTION=VALUE, as in %.*s=-28",
				 text, (int)strcspn(text, "(= \t"), text);
	*value = strndup(equals + 1, end - equals - 1);
	if (asprintf(function, "%.*s%s", (int)(equals - text), text, end) < 0)
		*function = NULL;
	return *value && *function ? 0 : fault_say(fault, "there is not enough memory");
}

/* Calls by this process, which has to end the override, are left out. */
static int define(struct failing *failing, unsigned int number, struct call_event *event,
		  const char *value, struct fault *fault)
{
	const struct spec *spec = &event->spec;
	char *arguments = kernel_arguments(&failing->info, (char **)&spec->pattern, 1, spec,
					   event, fault);
	char *filter = arguments ? call_event_filter(event, fault) : NULL;
	int result = -1;

	snprintf(event->name, sizeof(event->name), "fail%u", number);
	if (filter)
		result = session_define(&failing->session, fault, "fhook_events", 'h',
					event->name, "%s override=%s%s if %s%s%scommon_pid != %d",
					spec->pattern, value, arguments, *filter ? "(" : "", filter,
					*filter ? ") && " : "", failing->session.task) ||
			 session_set(&failing->session, event->name, "enable", "1", fault) ?
			 -1 : 0;
	free(filter);
	free(arguments);
	return result;
}

static int add(struct failing *failing, unsigned int number, const char *text,
	       struct fault *fault)
{
	char *function = NULL, *value = NULL;
	struct call_event event = { };
	int result = split(text, &function, &value, fault);

	if (!result)
		result = spec_parse(&event.spec, function, fault);
	if (!result && event.spec.longer)
		result = fault_say(fault,
				   "%s does not run, and takes no time: leave out > TIME",
				   event.spec.pattern);
	if (!result)
		result = define(failing, number, &event, value, fault);
	call_event_free(&event);
	free(function);
	free(value);
	return result;
}

/* Print the lines of this run: "FUNCTION returns VALUE by GROUP/EVENT, N calls, if ...". */
static int show(void *data, bool last, struct fault *fault)
{
	const struct session *session = &((struct failing *)data)->session;
	char *text, *rest, *line, mark[40];

	if (!last)
		return 0;
	snprintf(mark, sizeof(mark), "by %s/", session->name);
	text = kernel_file_read("fhook/overrides", fault);
	for (rest = text; rest && (line = strsep(&rest, "\n"));)
		if (strstr(line, mark))
			puts(line);
	free(text);
	return text ? 0 : -1;
}

static int open_all(void *data, struct options *options, struct fault *fault)
{
	struct failing *failing = data;
	size_t i;

	if (!kernel_file_exists("fhook_events"))
		return fault_say(fault,
				 "fhook fail needs CONFIG_FHOOK_EVENTS, which this kernel lacks");
	if (!kernel_file_exists("fhook/overrides"))
		return fault_say(fault,
				 "fhook fail needs CONFIG_FUNCTION_ERROR_INJECTION, which this kernel lacks");
	if (kernel_check_enabled(fault) ||
	    session_begin(&failing->session, false, "fhook_events", fault))
		return -1;
	for (i = 0; i < options->nr_functions; i++)
		if (add(failing, i, options->functions[i], fault))
			return -1;
	return 0;
}

static void close_all(void *data)
{
	struct failing *failing = data;

	session_end(&failing->session);
	kernel_info_close(&failing->info);
}

int hook_fail(int argc, char **argv, struct fault *fault)
{
	struct failing failing = { .session.lock = -1 };
	const struct live live = {
		.word = &word, .open = open_all, .show = show, .close = close_all,
		.data = &failing,
	};

	return live_run(&live, argc, argv, fault);
}
