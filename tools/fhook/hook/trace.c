// SPDX-License-Identifier: GPL-2.0
/* fhook trace: print calls of functions, with arguments */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "exits.h"
#include "kernel.h"
#include "lib/kernel_files.h"
#include "lib/work.h"
#include "live.h"
#include "program.h"
#include "session.h"
#include "spec.h"
#include "words.h"

static const struct word word = {
	.name = "fhook trace",
	.arguments = "'PATTERN[(ARGUMENT, ...)] [> TIME] [if CONDITION]'... [-- COMMAND...]",
	.does = "Print calls of functions.\n"
		"\vARGUMENT is the name of a parameter, a member as in file->f_mode, $arg3, a\n"
		"register, or $retval, optionally with a label and a type:\n"
		"LABEL=ARGUMENT:TYPE. With > TIME, only calls that took longer are printed,\n"
		"when they return. CONDITION compares arguments and common fields, as in:\n"
		"count > 4096 && comm == \"cat\". Strings are compared with ==, != and ~ (a\n"
		"glob).",
	.takes = "pdrsm",
	.least = 1,
};

/**
 * struct tracing - a run
 * @session: its events
 * @options: options of the command
 * @pipe: descriptor of trace_pipe, or -1
 * @nr: number of events
 */
struct tracing {
	struct session session;
	const struct options *options;
	int pipe;
	unsigned int nr;
};

/* An event is named after its pattern, which is what its lines show. */
static void name_event(const struct tracing *tracing, const struct spec *spec, char name[64])
{
	char *at;

	snprintf(name, 64, "%.48s", spec->pattern);
	for (at = name; *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *at))
			*at = '_';
	if (name[0] >= '0' && name[0] <= '9')
		name[0] = '_';
	if (tracing->nr)
		snprintf(name + strlen(name), 64 - strlen(name), "__%u", tracing->nr + 1);
}

/* Events with a return value or a duration are made at the return. */
static const char *suffix_of(const struct tracing *tracing, const struct spec *spec)
{
	if (spec->longer)
		return "%span";
	return tracing->options->returns || spec_returns(spec) ? "%return" : "";
}

static int define_in_kernel(const struct tracing *tracing, const struct spec *spec,
			    const char *name, const char *arguments, struct fault *fault)
{
	char *suffix;
	size_t functions;
	int result;

	if (asprintf(&suffix, "%s%s", suffix_of(tracing, spec), arguments) < 0)
		return fault_say(fault, "there is not enough memory");
	result = kernel_define(&tracing->session, name, (char **)&spec->pattern, 1, suffix,
			       &functions, fault);
	free(suffix);
	return result;
}

/* The place of an event on a function of a program, to be freed, or NULL. */
static char *place_of(const struct tracing *tracing, const struct spec *spec,
		      const struct program *program, const struct program_function *function,
		      struct fault *fault)
{
	const char *suffix = suffix_of(tracing, spec);
	unsigned int tails;
	char *place;

	/* Exits work where a return address must not be replaced. */
	if (*suffix && !tracing->session.mainline) {
		place = exits_span(program, function, &tails, fault);
		if (!place || !tails || !spec_returns(spec))
			return place;
		fault_say(fault, "%s ends by calling another function, which has the return value",
			  function->name);
		free(place);
		return NULL;
	}
	return asprintf(&place, "0x%llx", function->offset) < 0 ? NULL : place;
}

static int define_in_program(const struct tracing *tracing, const struct spec *spec,
			     const char *name, const char *arguments, struct fault *fault)
{
	const struct options *options = tracing->options;
	const bool returns = *suffix_of(tracing, spec);
	struct left_out left_out = { 0 };
	struct program program;
	char pid[24] = "", *place;
	int result;
	size_t i;

	if (tracing->session.mainline && (options->pid || options->stack))
		return fault_say(fault, "mainline's probes have no --stack, and no process");
	if (program_select(&program, options->program, (char **)&spec->pattern, 1, fault))
		return -1;
	if (options->pid)
		snprintf(pid, sizeof(pid), " pid=%d", options->pid);
	for (i = 0; i < program.nr && !work_stopped(); i++) {
		place = place_of(tracing, spec, &program, program.functions + i, fault);
		if (!place || session_define(&tracing->session, fault,
					     program_events(&tracing->session),
					     program_letter(&tracing->session, returns), name,
					     "%s:%s%s%s%s", program.path, place,
					     options->stack ? " stack=user" : "", pid, arguments))
			program_leave_out(&left_out, fault);
		free(place);
	}
	result = program_report(&program, &left_out, fault);
	program_free(&program);
	return result;
}

static int set_filter(const struct tracing *tracing, const char *name, const char *filter,
		      struct fault *fault)
{
	struct fault kernels;
	const char *reason;

	if (!session_set(&tracing->session, name, "filter", filter, &kernels))
		return 0;
	reason = strstr(kernels.text, "': ");
	return fault_say(fault,
			 "the condition \"%s\" is refused: %s; it compares labels, comm, common_pid",
			 filter, reason ? reason + strlen("': ") : kernels.text);
}

static int set_up(const struct tracing *tracing, const struct spec *spec, const char *name,
		  struct fault *fault)
{
	char *filter = spec_filter(spec);
	int result = 0;

	if (!filter)
		return fault_say(fault, "there is not enough memory");
	if (*filter)
		result = set_filter(tracing, name, filter, fault);
	/* Unlike a trigger, this option respects the filter. */
	if (!result && tracing->options->stack && !tracing->options->program)
		result = session_control(&tracing->session, "options/stacktrace", "1", fault);
	free(filter);
	return result || session_set(&tracing->session, name, "enable", "1", fault) ? -1 : 0;
}

static int add(struct tracing *tracing, const char *text, struct fault *fault)
{
	struct spec spec;
	char name[64], *arguments;
	int result;

	if (*text == '!')
		return fault_say(fault, "%s: fhook trace cannot leave functions out", text);
	if (spec_parse(&spec, text, fault))
		return -1;
	if (spec.longer && tracing->session.mainline) {
		spec_free(&spec);
		return fault_say(fault, "mainline's probes measure no times: leave out > TIME");
	}
	arguments = spec_arguments(&spec);
	name_event(tracing, &spec, name);
	if (!arguments)
		result = fault_say(fault, "there is not enough memory");
	else if (tracing->options->program)
		result = define_in_program(tracing, &spec, name, arguments, fault);
	else
		result = define_in_kernel(tracing, &spec, name, arguments, fault);
	if (!result)
		result = set_up(tracing, &spec, name, fault);
	tracing->nr++;
	free(arguments);
	spec_free(&spec);
	return result;
}

static int open_pipe(struct tracing *tracing, struct fault *fault)
{
	char *path;

	if (asprintf(&path, "%s/instances/%s/trace_pipe", kernel_files_path(),
		     tracing->session.name) < 0)
		return fault_say(fault, "there is not enough memory");
	tracing->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (tracing->pipe < 0)
		fault_say(fault, "%s cannot be read: %s", path, strerror(errno));
	free(path);
	return tracing->pipe < 0 ? -1 : 0;
}

/* Copy what is in the buffer; a buffer that fills faster than it is read is not waited for. */
static int copy_some(void *data, struct fault *fault)
{
	struct tracing *tracing = data;
	char text[65536];
	ssize_t size = read(tracing->pipe, text, sizeof(text));

	if (size < 0 && errno != EAGAIN && errno != EINTR)
		return fault_say(fault, "the trace cannot be read: %s", strerror(errno));
	if (size > 0) {
		fwrite(text, 1, size, stdout);
		fflush(stdout);
	}
	return size > 0;
}

static int input(void *data, struct fault *fault)
{
	return copy_some(data, fault) < 0 ? -1 : 0;
}

/* At the end nothing is recorded any more; another signal ends the output at once. */
static int show(void *data, bool last, struct fault *fault)
{
	struct tracing *tracing = data;
	const int signals = work_stopped();
	int result;

	if (!last)
		return 0;
	if (session_control(&tracing->session, "tracing_on", "0", fault))
		return -1;
	do {
		result = copy_some(data, fault);
	} while (result > 0 && !ferror(stdout) && work_stopped() == signals);
	return result < 0 ? -1 : 0;
}

static int open_all(void *data, struct options *options, struct fault *fault)
{
	struct tracing *tracing = data;
	char self[24];
	size_t i;

	tracing->options = options;
	snprintf(self, sizeof(self), "%d", getpid());
	if (session_begin(&tracing->session, options->mainline,
			  options->program ? "uhook_events" : "fhook_events", fault) ||
	    open_pipe(tracing, fault) ||
	    session_control(&tracing->session, "set_event_notrace_pid", self, fault))
		return -1;
	for (i = 0; i < options->nr_functions; i++)
		if (add(tracing, options->functions[i], fault))
			return -1;
	return 0;
}

static void close_all(void *data)
{
	struct tracing *tracing = data;

	if (tracing->pipe >= 0)
		close(tracing->pipe);
	session_end(&tracing->session);
}

int hook_trace(int argc, char **argv, struct fault *fault)
{
	struct tracing tracing = { .session.lock = -1, .pipe = -1 };
	const struct live live = {
		.word = &word, .open = open_all, .show = show, .input = input,
		.close = close_all, .fd = &tracing.pipe, .data = &tracing,
	};

	return live_run(&live, argc, argv, fault);
}
