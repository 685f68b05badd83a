// SPDX-License-Identifier: GPL-2.0
/* fhook trace: print calls of functions, with arguments */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "call_events.h"
#include "lib/own_task.h"
#include "lib/work.h"
#include "live.h"
#include "task_events.h"
#include "trace_line.h"
#include "words.h"

/* For the output: more than what one read becomes, with the names of values. */
static char room[1024 * 1024];

static const struct word word = {
	.name = "fhook trace",
	.arguments = "'PATTERN[(ARGUMENT, ...)] [> TIME] [if CONDITION]'... [-- COMMAND...]",
	.does = "Print calls of functions.\n"
		"\vARGUMENT is the name of a parameter, a member as in file->f_mode, $arg3 in the\n"
		"kernel, a register as %di in a program, or $retval, optionally with a label\n"
		"and a type: LABEL=ARGUMENT:TYPE. With > TIME, only calls that took longer are\n"
		"printed, when they return. Of a USDT probe, usdt:PROVIDER:NAME, ARGUMENT is\n"
		"arg1 and so on; at a line of the source, FILE:NUMBER, it is a register.\n"
		"CONDITION compares arguments and common fields, as in: count > 4096 &&\n"
		"comm == \"cat\". Strings are compared with ==, != and ~ (a glob), values of\n"
		"enum types with their names.",
	.takes = "opdrsjm",
	.least = 1,
};

/**
 * struct tracing - a run
 * @events: events of the run
 * @lines: writer of the lines
 * @tasks: code of programs, by which addresses in their stacks are named
 * @maps: changes of @tasks; its descriptor is -1 if addresses are not named
 * @pipe: descriptor of trace_pipe, or -1
 * @ready: descriptor that is readable when @pipe, or @maps, should be read, or -1
 * @name: name of the output, or NULL for the standard output
 * @error: error number if the output could not be written, otherwise 0
 */
struct tracing {
	struct call_events events;
	struct trace_lines lines;
	struct tasks tasks;
	struct task_events maps;
	int pipe, ready;
	const char *name;
	int error;
};

static int open_out(struct tracing *tracing, const char *name, struct fault *fault)
{
	tracing->name = name;
	tracing->lines.events = &tracing->events;
	tracing->lines.out = name ? fopen(name, "we") : stdout;
	if (!tracing->lines.out)
		return fault_say(fault, "%s cannot be written: %s", name, strerror(errno));
	/* The command writes to the same output: write whole lines, by fflush() alone. */
	setvbuf(tracing->lines.out, room, _IOFBF, sizeof(room));
	return 0;
}

static int open_pipe(struct tracing *tracing, struct fault *fault)
{
	tracing->pipe = session_open(&tracing->events.session, "trace_pipe", fault);
	return tracing->pipe < 0 ? -1 : 0;
}

/* Wait for what is recorded, and for mappings, for which perf has little room. */
static int open_ready(struct tracing *tracing, struct fault *fault)
{
	struct epoll_event ready = { .events = EPOLLIN };

	tracing->ready = epoll_create1(EPOLL_CLOEXEC);
	if (tracing->ready < 0 ||
	    epoll_ctl(tracing->ready, EPOLL_CTL_ADD, tracing->pipe, &ready) ||
	    (tracing->maps.fd >= 0 &&
	     epoll_ctl(tracing->ready, EPOLL_CTL_ADD, tracing->maps.fd, &ready)))
		return fault_say(fault, "the trace cannot be waited for: %s", strerror(errno));
	return 0;
}

/* Without perf, and in a PID namespace, where numbers of tasks differ, addresses stay. */
static void open_maps(struct tracing *tracing, const struct options *options)
{
	struct fault fault;

	if (!options->program || !options->stack || own_task_is_contained())
		return;
	if (task_events_open(&tracing->maps, &tracing->tasks, &fault)) {
		fault_print("fhook", &fault);
		task_events_close(&tracing->maps);
		return;
	}
	tracing->lines.tasks = &tracing->tasks;
	tracing->events.records_callers = true;
}

/*
 * Copy what is in the buffer; a buffer that fills faster than it is read is not waited for.
 * Returns 1 if there was something, 0 otherwise, also if it could not be written.
 */
static int copy_some(void *data, struct fault *fault)
{
	struct tracing *tracing = data;
	char text[65536];
	ssize_t size = read(tracing->pipe, text, sizeof(text));

	if (size < 0 && errno != EAGAIN && errno != EINTR)
		return fault_say(fault, "the trace cannot be read: %s", strerror(errno));
	/* Code is mapped before it is called. */
	if (tracing->lines.tasks && task_events_read(&tracing->maps, fault))
		return -1;
	if (size <= 0)
		return 0;
	/* Another attempt would wait again for somebody to read. */
	if (!tracing->error &&
	    (trace_lines_write(&tracing->lines, text, size) || fflush(tracing->lines.out)))
		tracing->error = errno ? errno : EIO;
	return !tracing->error;
}

/* An output that cannot be written ends the run. */
static int input(void *data, struct fault *fault)
{
	struct tracing *tracing = data;

	return copy_some(data, fault) < 0 ? -1 : !!tracing->error;
}

/* The standard output is checked at the end of the program. */
static int check_file(const struct tracing *tracing, struct fault *fault)
{
	if (!tracing->name || !tracing->error)
		return 0;
	return fault_say(fault, "%s cannot be written any more: %s", tracing->name,
			 strerror(tracing->error));
}

/* At the end nothing is recorded any more; another signal ends the output at once. */
static int show(void *data, bool last, struct fault *fault)
{
	struct tracing *tracing = data;
	const int signals = work_stopped();
	int result;

	if (!last)
		return 0;
	if (session_control(&tracing->events.session, "tracing_on", "0", fault))
		return -1;
	do {
		result = copy_some(data, fault);
	} while (result > 0 && work_stopped() == signals);
	if (tracing->lines.tasks)
		task_events_warn(&tracing->maps);
	return result < 0 ? -1 : check_file(tracing, fault);
}

static int open_recorder(struct tracing *tracing, const struct options *options,
			 struct fault *fault)
{
	open_maps(tracing, options);
	return open_ready(tracing, fault) || call_events_add(&tracing->events, fault) ? -1 : 0;
}

static int open_all(void *data, struct options *options, struct fault *fault)
{
	struct tracing *tracing = data;

	/* The file keeps its contents if the run cannot begin. */
	return call_events_mark(&tracing->events, fault) ||
	       call_events_begin(&tracing->events, options, fault) ||
	       open_pipe(tracing, fault) || open_recorder(tracing, options, fault) ||
	       open_out(tracing, options->output, fault) ? -1 : 0;
}

static void close_all(void *data)
{
	struct tracing *tracing = data;

	if (tracing->pipe >= 0)
		close(tracing->pipe);
	if (tracing->ready >= 0)
		close(tracing->ready);
	if (tracing->name && tracing->lines.out)
		fclose(tracing->lines.out);
	trace_lines_free(&tracing->lines);
	task_events_close(&tracing->maps);
	tasks_free(&tracing->tasks);
	call_events_end(&tracing->events);
}

int hook_trace(int argc, char **argv, struct fault *fault)
{
	struct tracing tracing = {
		.events.session.lock = -1, .maps.fd = -1, .pipe = -1, .ready = -1,
	};
	const struct live live = {
		.word = &word, .open = open_all, .show = show, .input = input,
		.close = close_all, .fd = &tracing.ready, .data = &tracing,
	};

	return live_run(&live, argc, argv, fault);
}
