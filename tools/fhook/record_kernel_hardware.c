// SPDX-License-Identifier: GPL-2.0
/*
 * Record functions of the kernel with the processor's trace, by perf
 *
 * perf is started first, with the blocks as the processor's filter and recording
 * nothing; over a socket it is told to begin and to stop, and says when it has done so.
 * In between, calls go through the blocks. perf has a process group of its own, so that
 * a signal from the terminal does not end it before the calls have been switched off.
 * This has not been run on a processor that has Intel PT.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernel_files.h"
#include "perf_data.h"
#include "record.h"
#include "record_work.h"

#define FUNCTIONS	"fhook/calltrace/functions"
#define ENABLE		"fhook/calltrace/enable"

/**
 * struct session - a recording that is being made
 * @record: what the command line says
 * @functions: those that were chosen before; NULL: they are left as they are
 * @enabled: what "enable" said before; NULL: it has not been written
 * @filter: for perf
 * @map_file: the map, in a file without a name
 * @map: a path to it
 * @data: what perf writes, a file beside the recording; NULL: it has not been made
 * @perf: its process, or 0
 * @control: what it is told
 * @answers: what it says
 */
struct session {
	struct record *record;
	char *functions, *enabled;
	FILE *map_file;
	char *filter, *map, *data;
	pid_t perf;
	int control, answers;
};

/* Those that are traced: without the comments, which say of others why they are not. */
static void drop_comments(char *text)
{
	char *line, *rest = text, *to = text;

	while ((line = strsep(&rest, "\n"))) {
		const size_t length = strlen(line);

		if (!length || *line == '#')
			continue;
		memmove(to, line, length);
		to[length] = '\n';
		to += length + 1;
	}
	*to = '\0';
}

/* Of those that were chosen, some may not be traced. */
static void report_refused(void)
{
	const char *example = NULL;
	unsigned long count = 0;
	char *text, *line, *rest;
	struct fault ignored;

	text = kernel_file_read(FUNCTIONS, &ignored);
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (*line == '#' && !count++)
			example = line + 2;
	if (count)
		fprintf(stderr, "fhook: %lu of the functions cannot be traced, such as %s.\n",
			count, example);
	free(text);
}

static char *list_text(const struct list *list)
{
	char *text = NULL;
	size_t size, i;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	for (i = 0; i < list->nr_patterns; i++)
		fprintf(file, "%s%s\n", list->patterns[i].excludes ? "!" : "",
			list->patterns[i].text);
	fclose(file);
	return text;
}

/* While calls are traced, nothing else can be chosen. */
static int check_disabled(struct fault *fault)
{
	char *text = kernel_file_read(ENABLE, fault);
	bool enabled;

	if (!text)
		return -1;
	enabled = *text == '1';
	free(text);
	if (enabled)
		return fault_say(fault,
				 "calls are being traced: functions can be chosen when %s is 0",
				 ENABLE);
	return 0;
}

static int choose(struct session *session, struct fault *fault)
{
	char *before, *text;
	int result;

	if (!session->record->functions.nr_patterns)
		return 0;
	if (check_disabled(fault))
		return -1;
	before = kernel_file_read(FUNCTIONS, fault);
	if (!before)
		return -1;
	drop_comments(before);
	text = list_text(&session->record->functions);
	result = text ? kernel_file_write(FUNCTIONS, text, fault) :
		 fault_say(fault, "there is not enough memory to record");
	free(text);
	if (result) {
		free(before);
		return -1;
	}
	session->functions = before;
	report_refused();
	return 0;
}

static unsigned long number_of_filters(const struct record *record)
{
	unsigned long number = 0;
	char *path;
	FILE *file;

	if (asprintf(&path, "%s/nr_addr_filters", record->pmu) < 0)
		return 0;
	file = fopen(path, "r");
	free(path);
	if (!file)
		return 0;
	if (fscanf(file, "%lu", &number) != 1)
		number = 0;
	fclose(file);
	return number;
}

/* "filter ADDRESS/SIZE , ..." of lines "ADDRESS SIZE". */
static int make_filter(struct session *session, struct fault *fault)
{
	char *blocks = kernel_file_read("fhook/calltrace/block", fault), *rest = blocks, *line;
	unsigned long count = 0, most = number_of_filters(session->record);
	char address[20], size[20];
	size_t length;
	FILE *text;

	if (!blocks)
		return -1;
	text = open_memstream(&session->filter, &length);
	while (text && (line = strsep(&rest, "\n")))
		if (sscanf(line, "%19s %19s", address, size) == 2)
			fprintf(text, "%sfilter %s/%s", count++ ? " , " : "", address, size);
	free(blocks);
	if (!text || fclose(text))
		return fault_say(fault, "there is not enough memory to record");
	if (!count && session->record->functions.nr_patterns)
		return fault_say(fault, "none of these functions can be traced: %s says why",
				 FUNCTIONS);
	if (!count)
		return fault_say(fault,
				 "no functions are given: name them with --function, or write them to %s",
				 FUNCTIONS);
	if (count > most)
		return fault_say(fault,
				 "the functions are in %lu blocks, and this processor's trace takes %lu: leave out some modules",
				 count, most);
	return 0;
}

static int save_map(struct session *session, struct fault *fault)
{
	char *text = kernel_file_read("fhook/calltrace/map", fault);
	int result = 0;

	if (!text)
		return -1;
	session->map_file = record_unnamed_file(&session->map);
	if (!session->map_file || fputs(text, session->map_file) < 0 ||
	    fflush(session->map_file))
		result = fault_say(fault, "there is no place for the map: %s", strerror(errno));
	free(text);
	return result;
}

static void run_perf(const struct session *session, int control, int answers)
{
	const bool cycles = !strcmp(session->record->profile, "cycles");
	char fds[40], buffer[40];

	snprintf(fds, sizeof(fds), "--control=fd:%d,%d", control, answers);
	snprintf(buffer, sizeof(buffer), ",%lluK", session->record->buffer_kb);
	setpgid(0, 0);
	/* If we are killed, nobody would tell it to stop. */
	prctl(PR_SET_PDEATHSIG, SIGINT);
	fcntl(control, F_SETFD, 0);
	fcntl(answers, F_SETFD, 0);
	execlp("perf", "perf", "record", "-q", "-B", "-a", "-D", "-1", fds, "-m", buffer, "-e",
	       cycles ? "intel_pt/cyc/k" : "intel_pt//k", "--filter", session->filter,
	       "-o", session->data, NULL);
	fprintf(stderr, "fhook: perf cannot be run: %s.\n", strerror(errno));
	_exit(127);
}

static int start_perf(struct session *session, struct fault *fault)
{
	int control[2] = { -1, -1 }, answers[2] = { -1, -1 };

	/* A socket, because what is sent there when perf has ended is not to end us. */
	if (!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) &&
	    !pipe2(answers, O_CLOEXEC))
		session->perf = record_work_fork();
	else
		session->perf = -1;
	if (!session->perf)
		run_perf(session, control[0], answers[1]);
	session->control = control[1];
	session->answers = answers[0];
	if (session->perf < 0)
		fault_say(fault, "perf cannot be started: %s", strerror(errno));
	close(control[0]);
	close(answers[1]);
	if (session->perf > 0)
		return 0;
	close(control[1]);
	close(answers[0]);
	session->perf = 0;
	return -1;
}

/* A line "ack", and a byte of 0 behind it. */
static bool hear_perf(const struct session *session)
{
	char answer[16] = "", byte = 0;
	size_t length = 0;
	ssize_t size;

	while (byte != '\n' && length < sizeof(answer) - 1) {
		size = read(session->answers, &byte, 1);
		if (!size || (size < 0 && errno != EINTR))
			return false;
		if (size > 0 && byte)
			answer[length++] = byte;
	}
	return !strcmp(answer, "ack\n");
}

/* Tell perf something, and wait until it has done it. */
static int tell_perf(const struct session *session, const char *command, struct fault *fault)
{
	const size_t length = strlen(command);

	if (send(session->control, command, length, MSG_NOSIGNAL) == (ssize_t)length &&
	    hear_perf(session))
		return 0;
	return fault_say(fault,
			 "perf does not record: what it has said is above, it has to be of Linux 5.13 or later");
}

static int stop_perf(struct session *session, struct fault *fault)
{
	struct fault ignored;
	int status = 0;

	if (!session->perf)
		return 0;
	/* One that does not listen is told by a signal. */
	if (tell_perf(session, "stop\n", &ignored))
		kill(session->perf, SIGINT);
	close(session->control);
	while (waitpid(session->perf, &status, 0) < 0 && errno == EINTR)
		;
	close(session->answers);
	session->perf = 0;
	if (status)
		return fault_say(fault, "perf has failed: what it has said is above");
	return 0;
}

static int enable(struct session *session, struct fault *fault)
{
	session->enabled = kernel_file_read(ENABLE, fault);
	if (!session->enabled)
		return -1;
	/* If it was 1 before, each CPU says once more which task it runs. */
	return kernel_file_write(ENABLE, "1", fault);
}

static void disable(struct session *session)
{
	if (session->enabled && *session->enabled != '1')
		kernel_file_restore(ENABLE, "0");
	free(session->enabled);
	session->enabled = NULL;
}

static int run(struct session *session, struct fault *fault)
{
	int result = start_perf(session, fault);
	struct fault other;
	struct pollfd fd;

	if (!result)
		result = tell_perf(session, "enable\n", fault);
	if (!result)
		result = enable(session, fault);
	if (!result)
		result = record_work_start(session->record->argv, fault);
	fd = (struct pollfd){ .fd = record_work_fd(), .events = POLLIN };
	while (!result && record_work_runs())
		poll(&fd, 1, 200);
	disable(session);
	if (stop_perf(session, result ? &other : fault))
		result = -1;
	return result;
}

static int make_data(struct session *session, struct fault *fault)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s.perf-XXXXXX", session->record->directory) < 0)
		return fault_say(fault, "there is not enough memory to record");
	fd = mkstemp(path);
	if (fd < 0) {
		fault_say(fault, "%s: %s", path, strerror(errno));
		free(path);
		return -1;
	}
	close(fd);
	session->data = path;
	return 0;
}

static void end(struct session *session)
{
	if (session->functions)
		kernel_file_restore(FUNCTIONS, session->functions);
	if (session->map_file)
		fclose(session->map_file);
	if (session->data)
		unlink(session->data);
	free(session->functions);
	free(session->filter);
	free(session->map);
	free(session->data);
}

int record_kernel_hardware(struct record *record, struct fault *fault)
{
	struct session session = { .record = record };
	struct perf_losses losses;
	struct fault other;
	int result = -1;

	if (!kernel_file_exists(FUNCTIONS))
		return fault_say(fault,
				 "this kernel cannot trace calls: there is no %s in tracefs; use --software",
				 FUNCTIONS);
	record_work_begin();
	if (!choose(&session, fault) && !make_filter(&session, fault) &&
	    !save_map(&session, fault) && !make_data(&session, fault) && !run(&session, fault))
		result = perf_data_import(session.data, session.map, record->directory, &losses,
					  fault);
	if (!result)
		perf_losses_print(&losses);
	end(&session);
	if (record_work_end(record->argv, result ? &other : fault))
		result = -1;
	return result;
}
