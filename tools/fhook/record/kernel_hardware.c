// SPDX-License-Identifier: GPL-2.0
/*
 * Record functions of the kernel with the processor's trace, by perf
 *
 * perf is started first, with the blocks as the processor's filter and recording
 * disabled; through a socket it is told to start and stop, and acknowledges. In
 * between, calls go through the blocks. perf has a process group of its own, so that a
 * signal from the terminal does not end it before the calls have been switched off.
 * In a snapshot, the processor overwrites its buffers until perf is told to stop.
 * This has not been run on a processor with Intel PT.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "decode/perf_data.h"
#include "record.h"
#include "stubs.h"
#include "lib/work.h"

/**
 * struct session - a recording in progress
 * @stubs: the kernel's part of the recording
 * @filter: address filter for perf
 * @data: output file of perf, next to the recording; NULL: not made yet
 * @perf: process ID of perf, or 0
 * @control: descriptor for commands to perf
 * @answers: descriptor for acknowledgements of perf
 */
struct session {
	struct record_stubs stubs;
	char *filter, *data;
	pid_t perf;
	int control, answers;
};

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

/* "filter ADDRESS/SIZE , ..." */
static int make_filter(struct session *session, struct fault *fault)
{
	const struct record_stubs *stubs = &session->stubs;
	const unsigned long most = number_of_filters(stubs->record);
	size_t length, i;
	FILE *text;

	if (stubs->nr_blocks > most)
		return fault_say(fault,
				 "the functions are in %zu blocks, and this processor's trace takes %lu: leave out some %s",
				 stubs->nr_blocks, most,
				 stubs->record->nr_maps ? "modules or programs" : "modules");
	text = open_memstream(&session->filter, &length);
	for (i = 0; text && i < stubs->nr_blocks; i++)
		fprintf(text, "%sfilter 0x%llx/0x%llx", i ? " , " : "", stubs->blocks[i].address,
			stubs->blocks[i].size);
	if (!text || fclose(text))
		return fault_say(fault, "there is not enough memory to record");
	return 0;
}

/* If attached programs have stubs, code outside of the kernel is traced, too. */
static const char *event_of(const struct record *record)
{
	const bool cycles = !strcmp(record->profile, "cycles");

	if (record->nr_maps)
		return cycles ? "intel_pt/cyc/" : "intel_pt//";
	return cycles ? "intel_pt/cyc/k" : "intel_pt//k";
}

static void run_perf(const struct session *session, int control, int answers)
{
	const struct record *record = session->stubs.record;
	/* perf's snapshot mode overwrites the buffer; "e" writes it once, at the end. */
	char *const snapshot = record->snapshot_mb ? "-Se" : NULL;
	char fds[40], buffer[40];

	snprintf(fds, sizeof(fds), "--control=fd:%d,%d", control, answers);
	snprintf(buffer, sizeof(buffer), ",%lluK",
		 record->snapshot_mb ? record->snapshot_mb * 1024 : record->buffer_kb);
	setpgid(0, 0);
	/* If we are killed, nothing else would stop it. */
	prctl(PR_SET_PDEATHSIG, SIGINT);
	fcntl(control, F_SETFD, 0);
	fcntl(answers, F_SETFD, 0);
	execlp("perf", "perf", "record", "-q", "-B", "-a", "-D", "-1", fds, "-m", buffer, "-e",
	       event_of(record), "--filter", session->filter, "-o", session->data, snapshot, NULL);
	fprintf(stderr, "fhook: perf cannot be run: %s.\n", strerror(errno));
	_exit(127);
}

static int start_perf(struct session *session, struct fault *fault)
{
	int control[2] = { -1, -1 }, answers[2] = { -1, -1 };

	/* A socket, because writing to it after perf has ended must not kill us. */
	if (!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) &&
	    !pipe2(answers, O_CLOEXEC))
		session->perf = work_fork();
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

/* Tell perf something, and wait until it has done it: then it writes "ack". */
static int tell_perf(const struct session *session, const char *command, struct fault *fault)
{
	const size_t length = strlen(command);
	char answer[16];

	if (send(session->control, command, length, MSG_NOSIGNAL) == (ssize_t)length &&
	    !work_hear(session->answers, answer, sizeof(answer), -1) &&
	    !strcmp(answer, "ack"))
		return 0;
	return work_failed("perf does not record, as it says, or is older than Linux 5.13",
				  fault);
}

static int stop_perf(struct session *session, struct fault *fault)
{
	struct fault ignored;
	int status = 0;

	if (!session->perf)
		return 0;
	/* If perf does not answer, send it a signal. */
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

static int begin_perf(void *data, struct fault *fault)
{
	struct session *session = data;

	return start_perf(session, fault) ?: tell_perf(session, "enable\n", fault);
}

static int end_perf(void *data, struct fault *fault)
{
	return stop_perf(data, fault);
}

static const struct stubs_recorder perf_recorder = { .begin = begin_perf, .end = end_perf };

static int make_data(struct session *session, struct fault *fault)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s.perf-XXXXXX", session->stubs.record->directory) < 0)
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
	record_stubs_end(&session->stubs);
	if (session->data)
		unlink(session->data);
	free(session->filter);
	free(session->data);
}

int record_kernel_hardware(struct record *record, struct fault *fault)
{
	struct session session = { .stubs.record = record };
	struct record_stubs *stubs = &session.stubs;
	struct perf_losses losses;
	int result = -1;

	work_begin();
	if (record_has_trigger(record))
		work_take_trigger();
	if (!record_stubs_choose(stubs, fault) && !make_filter(&session, fault) &&
	    !record_stubs_map(stubs, fault) && !make_data(&session, fault) &&
	    !record_stubs_run(stubs, &perf_recorder, &session, fault))
		result = perf_data_import(session.data, stubs->map, record->directory, &losses,
					  fault);
	if (!result) {
		record_say_end(record, 0, 0);
		perf_losses_print(&losses);
	}
	end(&session);
	work_end();
	return result;
}
