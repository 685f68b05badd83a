// SPDX-License-Identifier: GPL-2.0
/* fhook report: print recorded calls */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <trace-cmd/trace-cmd.h>
#include <unistd.h>
#include "lib/command.h"
#include "live.h"
#include "report.h"
#include "trace_dat.h"
#include "words.h"

/* Exit statuses of the process that reads a file. */
#define OUTPUT_FAILED	1
#define NOT_READ	2

static const struct word word = {
	.name = "fhook report",
	.arguments = "[FILE]",
	.does = "Print calls that fhook record has recorded.\n"
		"\vFILE is trace.dat if none is given. The form is that of fhook trace. With\n"
		"--json, it is the Chrome trace event format, which Perfetto and\n"
		"chrome://tracing open: calls with a duration are slices, others instants.",
	.takes = "j",
};

static void print_frames(struct report *report, struct frames frames, bool user)
{
	char symbol[SYMBOL_ROOM];
	u64 address;
	size_t i;

	for (i = 0; i < frames.nr; i++) {
		address = report_frame(frames, i);
		report_symbol(report, symbol, address, false);
		if (user)
			printf(" => <%016llx>\n", address);
		else
			printf(" => %s\n", symbol);
	}
}

/* The name of a buffer, before a line. */
static void print_buffer(const struct report *report)
{
	char name[64];

	if (!*report->buffer)
		return;
	snprintf(name, sizeof(name), "%s", report->buffer);
	text_clean(name);
	printf("%s: ", name);
}

/* "            task-123     [000] ...1.  1234.567890: " */
static void print_context(struct report *report, struct tep_record *record)
{
	const int pid = tep_data_pid(report->tep, record);
	/* The kernel rounds, too. */
	const u64 us = (record->ts + 500) / 1000;
	char flags[6], comm[32];

	report_flags(report, record, flags);
	snprintf(comm, sizeof(comm), "%s", tep_data_comm_from_pid(report->tep, pid));
	text_clean(comm);
	print_buffer(report);
	printf("%16s-%-7d [%03d] %s ", comm, pid, record->cpu, flags);
	if (report->raw)
		printf("%12llu: ", record->ts);
	else
		printf("%5llu.%06llu: ", us / 1000000, us % 1000000);
}

static void print_missed(struct report *report, struct tep_record *record)
{
	if (record->missed_events > 0)
		report->missed += record->missed_events;
	else if (record->missed_events)
		report->gaps++;
	if (report->json || !record->missed_events)
		return;
	print_buffer(report);
	if (record->missed_events > 0)
		printf("CPU:%d [LOST %lld EVENTS]\n", record->cpu, record->missed_events);
	else
		printf("CPU:%d [LOST EVENTS]\n", record->cpu);
}

/* The text of libtraceevent lacks the sizes of functions, so its first bracket is replaced. */
static void print_text(struct report *report, struct tep_event *event,
		       struct tep_record *record)
{
	char *text, *rest, name[256];
	struct where where;

	trace_seq_reset(&report->seq);
	tep_print_event(report->tep, &report->seq, record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&report->seq);
	text = report->seq.buffer;
	text_clean(text);
	snprintf(name, sizeof(name), "%s", event->name);
	text_clean(name);
	rest = *text == '(' ? strchr(text, ')') : NULL;
	printf("%s: ", name);
	if (rest && report_where(report, event, record, &where)) {
		if (*where.caller)
			printf("(%s <- %s", where.caller, where.function);
		else
			printf("(%s", where.function);
		text = rest;
	}
	report_strings(event, record, text);
}

static void print_line(struct report *report, struct tep_event *event, struct tep_record *record)
{
	struct frames frames;

	print_context(report, record);
	if (report_stack(event, record, &frames)) {
		puts("<stack trace>");
		print_frames(report, frames, false);
		return;
	}
	print_text(report, event, record);
	print_frames(report, report_user_stack(event, record), true);
}

static const char *buffer_of(const struct report *report, const struct tracecmd_input *input)
{
	const char *name;
	int i;

	for (i = 1; i < report->nr_inputs && report->inputs[i] != input; i++)
		;
	name = i < report->nr_inputs ?
	       tracecmd_buffer_instance_name(report->inputs[0], i - 1) : NULL;
	return name ?: "";
}

static int print_record(struct tracecmd_input *input, struct tep_record *record,
			int cpu __unused, void *data)
{
	struct report *report = data;
	struct tep_event *event = tep_find_event_by_record(report->tep, record);

	report->buffer = buffer_of(report, input);
	print_missed(report, record);
	if (!event)
		report->unknown++;
	if (!event || ferror(stdout))
		return ferror(stdout);
	if (report->json)
		return report_json(report, event, record);
	print_line(report, event, record);
	report->nr++;
	return 0;
}

/* Open the buffers besides the first one, of "trace-cmd record -B NAME". */
static int open_buffers(struct report *report, struct tracecmd_input *input)
{
	const int nr = tracecmd_buffer_instances(input);
	int i;

	report->inputs = calloc(1 + nr, sizeof(*report->inputs));
	if (!report->inputs)
		return -1;
	report->inputs[report->nr_inputs++] = input;
	for (i = 0; i < nr; i++) {
		input = tracecmd_buffer_instance_handle(report->inputs[0], i);
		if (!input)
			return -1;
		report->inputs[report->nr_inputs++] = input;
	}
	return 0;
}

static void close_buffers(struct report *report)
{
	while (report->nr_inputs > 1)
		tracecmd_close(report->inputs[--report->nr_inputs]);
	free(report->inputs);
}

static int print_all(struct report *report)
{
	int result;

	report->tep = tracecmd_get_tep(report->inputs[0]);
	trace_seq_init(&report->seq);
	if (report->json)
		fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", stdout);
	result = tracecmd_iterate_events_multi(report->inputs, report->nr_inputs, print_record,
					       report);
	if (report->json)
		puts("\n]}");
	trace_seq_destroy(&report->seq);
	free(report->tasks);
	report_free_names(report);
	fflush(stdout);
	live_dropped(report->missed);
	if (report->gaps)
		fprintf(stderr,
			"fhook: calls are missing at %llu places, an unknown number: the kernel had no room.\n",
			report->gaps);
	if (report->unknown)
		fprintf(stderr,
			"fhook: %llu events are not printed: the file does not describe them.\n",
			report->unknown);
	return result;
}

/* Returns the exit status of the process. */
static int print_file(const char *path, bool json, bool raw)
{
	struct report report = { .json = json, .raw = raw };
	struct tracecmd_input *input;
	int result;

	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	input = tracecmd_open(path, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!input)
		return NOT_READ;
	result = open_buffers(&report, input) || print_all(&report);
	close_buffers(&report);
	tracecmd_close(input);
	return ferror(stdout) ? OUTPUT_FAILED : result ? NOT_READ : 0;
}

static bool is_crash(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGFPE;
}

/* A damaged file may crash libtracecmd, so another process reads it. */
static int print_apart(const char *path, bool json, bool raw, struct fault *fault)
{
	int status = 0;
	pid_t child;

	/* While the signal is ignored, the status of a child cannot be had. */
	signal(SIGCHLD, SIG_DFL);
	child = fork();
	if (child < 0)
		return fault_say(fault, "no process can be started: %s", strerror(errno));
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(print_file(path, json, raw));
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	/* Whoever closes a pipe knows, also while SIGPIPE is ignored. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == OUTPUT_FAILED && is_closed_pipe())
		return 1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == OUTPUT_FAILED)
		return output_fault(fault);
	/* No sentence is needed after Ctrl-C, or when the reader of a pipe has gone. */
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGPIPE || WTERMSIG(status) == SIGINT))
		return 1;
	if (WIFSIGNALED(status) && !is_crash(WTERMSIG(status)))
		return fault_say(fault, "reading %s was ended by signal %d", path,
				 WTERMSIG(status));
	return fault_say(fault, "%s is damaged, and libtracecmd does not read it: record it again",
			 path);
}

int hook_report(int argc, char **argv, struct fault *fault)
{
	char clock[TRACE_DAT_CLOCK];
	struct options options;
	const char *path;
	int result;

	options_parse(&options, &word, argc, argv);
	path = options.nr_functions ? options.functions[0] : TRACE_DAT_NAME;
	if (options.nr_functions > 1)
		options_wrong(&word, "takes one file");
	result = trace_dat_check(path, clock, fault);
	if (!result && *clock && options.json)
		result = fault_say(fault,
				   "the times in %s, of the clock %s, are not in nanoseconds: leave out --json",
				   path, clock);
	if (!result)
		result = print_apart(path, options.json, *clock, fault);
	options_free(&options);
	return result;
}
