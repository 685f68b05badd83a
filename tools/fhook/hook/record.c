// SPDX-License-Identifier: GPL-2.0
/*
 * fhook record: record calls of functions, with arguments
 *
 * While it runs, the full pages of each CPU's ring buffer are moved to a file without a
 * name, beside the output; the output has the pages of each CPU in one piece, so it is
 * written at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "call_events.h"
#include "lib/kernel_files.h"
#include "lib/work.h"
#include "live.h"
#include "trace_dat.h"
#include "words.h"

/* Where nothing but parts of pages can be read, wait this long before reading again. */
#define PAUSE_US	10000

/* The most to move of one CPU before the next one's turn. */
#define PIPE_SIZE	(1024 * 1024)

static const struct word word = {
	.name = "fhook record",
	.arguments = "'PATTERN[(ARGUMENT, ...)] [> TIME] [if CONDITION]'... [-- COMMAND...]",
	.does = "Record calls of functions to a file.\n"
		"\vThe arguments are those of fhook trace. fhook report prints the file;\n"
		"trace-cmd report and KernelShark also read it. It has the addresses of the\n"
		"kernel, so only its owner can read it.",
	.takes = "opdrsm",
	.least = 1,
};

/**
 * struct recording - a run
 * @events: events of the run
 * @file: output
 * @complete: whether the output is completely written
 * @full: whether the disk was full, which ends the recording
 * @ready: epoll descriptor that is ready when a ring buffer is partly full, or -1
 * @pipe: ends of the pipe through which pages are moved, or -1
 * @buffers: descriptor of the raw ring buffer of each CPU, or -1
 * @pages: descriptor of the file with the pages of each CPU, or -1
 * @nr: number of CPUs
 */
struct recording {
	struct call_events events;
	struct trace_dat file;
	bool complete, full;
	int ready, pipe[2];
	int *buffers, *pages;
	unsigned int nr;
};

static int open_cpu(struct recording *recording, unsigned int number, struct fault *fault)
{
	struct epoll_event event = { .events = EPOLLIN };
	char file[48];
	int fd;

	snprintf(file, sizeof(file), "per_cpu/cpu%u/trace_pipe_raw", number);
	fd = session_open(&recording->events.session, file, fault);
	/* Numbers of CPUs may have gaps. */
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	recording->buffers[number] = fd;
	if (epoll_ctl(recording->ready, EPOLL_CTL_ADD, fd, &event))
		return fault_say(fault, "%s cannot be waited for: %s", file, strerror(errno));
	recording->pages[number] = trace_dat_scratch(&recording->file, fault);
	return recording->pages[number] < 0 ? -1 : 0;
}

static int open_pipe(struct recording *recording, struct fault *fault)
{
	if (pipe2(recording->pipe, O_CLOEXEC))
		return fault_say(fault, "no pipe can be made: %s", strerror(errno));
	/* A pipe that stays small is slower. */
	fcntl(recording->pipe[0], F_SETPIPE_SZ, PIPE_SIZE);
	return 0;
}

static int open_cpus(struct recording *recording, struct fault *fault)
{
	const unsigned int count = kernel_cpus();
	unsigned int i;

	files_raise_limit(2 * count);
	recording->buffers = calloc(count, sizeof(*recording->buffers));
	recording->pages = calloc(count, sizeof(*recording->pages));
	recording->ready = epoll_create1(EPOLL_CLOEXEC);
	if (!recording->buffers || !recording->pages || recording->ready < 0)
		return fault_say(fault, "there is not enough memory");
	for (i = 0; i < count; i++) {
		recording->buffers[i] = -1;
		recording->pages[i] = -1;
	}
	recording->nr = count;
	for (i = 0; i < count; i++)
		if (open_cpu(recording, i, fault))
			return -1;
	return 0;
}

/* Move the full pages of a CPU, as many as fit into the pipe, without copying them. */
static ssize_t move_full(const struct recording *recording, unsigned int number)
{
	const ssize_t size = splice(recording->buffers[number], NULL, recording->pipe[1], NULL,
				    PIPE_SIZE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	ssize_t left = size, part;

	while (left > 0) {
		part = splice(recording->pipe[0], NULL, recording->pages[number], NULL, left,
			      SPLICE_F_MOVE);
		/* What stays in the pipe would go to the file of another CPU. */
		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return -1;
		left -= part;
	}
	return size;
}

/* Copy a page, which may not be full. */
static ssize_t copy_page(const struct recording *recording, unsigned int number)
{
	char page[getpagesize()];
	const ssize_t size = read(recording->buffers[number], page, sizeof(page));

	if (size <= 0)
		return size;
	return write(recording->pages[number], page, size) == size ? size : -1;
}

/*
 * Move some pages of a CPU; at the end also those that are not full. Returns 1 if there were
 * any, 0 otherwise, also if the disk is full.
 */
static int move_pages(struct recording *recording, unsigned int number, bool last,
		      struct fault *fault)
{
	ssize_t size;

	if (recording->buffers[number] < 0 || recording->full)
		return 0;
	errno = ENOSPC;
	size = last ? copy_page(recording, number) : move_full(recording, number);
	if (size >= 0 || errno == EAGAIN || errno == EINTR)
		return size > 0;
	recording->full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
	return recording->full ? 0 : fault_say(fault, "the pages of CPU %u cannot be moved: %s",
					       number, strerror(errno));
}

/* Returns 1 if there were pages, 0 otherwise. */
static int move_all(struct recording *recording, bool last, struct fault *fault)
{
	bool moved = false;
	unsigned int i;
	int result;

	for (i = 0; i < recording->nr; i++) {
		result = move_pages(recording, i, last, fault);
		if (result < 0)
			return -1;
		moved |= result;
	}
	return moved;
}

static int input(void *data, struct fault *fault)
{
	struct recording *recording = data;
	const int result = move_all(recording, false, fault);

	if (recording->full)
		return 1;
	/* Old kernels also report parts of pages, and CPUs that are offline. */
	if (!result)
		usleep(PAUSE_US);
	return result < 0 ? -1 : 0;
}

/* The part of a page at the end of a file is of a page that did not fit. */
static int drop_parts(const struct recording *recording, struct fault *fault)
{
	unsigned int i;
	off_t size;

	for (i = 0; i < recording->nr; i++) {
		if (recording->pages[i] < 0)
			continue;
		size = lseek(recording->pages[i], 0, SEEK_END);
		if (ftruncate(recording->pages[i], size - size % getpagesize()))
			return fault_say(fault, "a file of pages for %s cannot be truncated: %s",
					 recording->file.path, strerror(errno));
	}
	return 0;
}

/* Add up the kernel's counters of all CPUs. */
static void count(const struct recording *recording, u64 *read, u64 *lost)
{
	char file[48], *text, *rest, *line;
	unsigned long long number;
	struct fault ignored;
	unsigned int i;

	*read = *lost = 0;
	for (i = 0; i < recording->nr; i++) {
		snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", i);
		text = recording->buffers[i] < 0 ? NULL :
		       session_read(&recording->events.session, file, &ignored);
		for (rest = text; rest && (line = strsep(&rest, "\n"));) {
			if (sscanf(line, "read events: %llu", &number) == 1)
				*read += number;
			else if (sscanf(line, "overrun: %llu", &number) == 1 ||
				 sscanf(line, "commit overrun: %llu", &number) == 1 ||
				 sscanf(line, "dropped events: %llu", &number) == 1)
				*lost += number;
		}
		free(text);
	}
}

static int show(void *data, bool last, struct fault *fault)
{
	struct recording *recording = data;
	const struct session *session = &recording->events.session;
	u64 read, lost;
	int result;

	if (!last)
		return 0;
	if (session_control(session, "tracing_on", "0", fault))
		return -1;
	do {
		result = move_all(recording, false, fault);
	} while (result > 0);
	while (!result && (result = move_all(recording, true, fault)) > 0)
		result = 0;
	if (result || drop_parts(recording, fault) ||
	    trace_dat_write(&recording->file, &recording->events, recording->pages,
			    recording->nr, fault))
		return -1;
	recording->complete = true;
	count(recording, &read, &lost);
	live_dropped(lost);
	if (recording->full)
		return fault_say(fault, "the disk was full: %s has the events until then",
				 recording->file.path);
	fprintf(stderr, "fhook: %llu events are in %s.\n", read, recording->file.path);
	return 0;
}

/* The clock is the same on all CPUs; setting it empties the buffers. */
static int open_all(void *data, struct options *options, struct fault *fault)
{
	struct recording *recording = data;
	const char *path = options->output ? options->output : TRACE_DAT_NAME;

	return trace_dat_open(&recording->file, path, fault) ||
	       call_events_begin(&recording->events, options, fault) ||
	       session_control(&recording->events.session, "trace_clock", "mono", fault) ||
	       open_pipe(recording, fault) || open_cpus(recording, fault) ||
	       call_events_add(&recording->events, fault) ? -1 : 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void close_all(void *data)
{
	struct recording *recording = data;
	unsigned int i;

	for (i = 0; i < recording->nr; i++) {
		close_fd(recording->buffers[i]);
		close_fd(recording->pages[i]);
	}
	close_fd(recording->ready);
	close_fd(recording->pipe[0]);
	close_fd(recording->pipe[1]);
	free(recording->buffers);
	free(recording->pages);
	trace_dat_close(&recording->file, recording->complete);
	call_events_end(&recording->events);
}

int hook_record(int argc, char **argv, struct fault *fault)
{
	struct recording recording = {
		.events.session.lock = -1, .file.fd = -1, .ready = -1, .pipe = { -1, -1 },
	};
	const struct live live = {
		.word = &word, .open = open_all, .show = show, .input = input,
		.close = close_all, .fd = &recording.ready, .data = &recording,
	};

	return live_run(&live, argc, argv, fault);
}
