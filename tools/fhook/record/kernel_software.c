// SPDX-License-Identifier: GPL-2.0
/*
 * Record functions of the kernel through fhook's events
 *
 * For processors without a trace. Each CPU's ring buffer is read in raw form while the command
 * runs, and becomes a stream; only the files grow with the recording. If the kernel had no
 * room for events, the stream has a gap. A snapshot is read at the end only: until then, the
 * kernel overwrites the oldest events.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>
#include "decode/software.h"
#include "kernel_events.h"
#include "kernel_tasks.h"
#include "kernel_until.h"
#include "lib/kernel_files.h"
#include "lib/recording.h"
#include "record.h"
#include "symbols.h"
#include "lib/work.h"

/* After this number of milliseconds, even little data is read. */
#define READ_PERIOD	200
/* The number of pages to read of one CPU before the next one's turn. */
#define READ_PAGES	64

/**
 * struct cpu - a CPU
 * @number: number of the CPU and of its stream
 * @fd: descriptor of the raw pages of its ring buffer
 * @absent: it has not been online yet, and the kernel does not support waiting for it
 * @lost: number of bytes lost at unknown places
 * @stream: resulting stream
 */
struct cpu {
	u32 number;
	int fd;
	bool absent;
	u64 lost;
	struct page_stream stream;
};

/**
 * struct session - a recording in progress
 * @record: options of the command line
 * @events: events of the kernel
 * @until: conditions that end the recording
 * @symbols: hooked functions
 * @recording: resulting recording
 * @cpus: CPUs, in any order
 * @page: buffer for a page
 */
struct session {
	struct record *record;
	struct kernel_events events;
	struct kernel_until until;
	struct symbols symbols;
	struct recording recording;
	struct cpu *cpus;
	size_t nr_cpus;
	void *page;
};

/* Take the functions that are chosen for the processor's trace as the list. */
static int take_chosen(struct list *list, struct fault *fault)
{
	char *text, *rest, *line;
	int result = 0;

	if (!kernel_file_exists("fhook/calltrace/functions"))
		return fault_say(fault, "no functions are given: name them with --function");
	text = kernel_file_read("fhook/calltrace/functions", fault);
	if (!text)
		return -1;
	rest = text;
	while (!result && (line = strsep(&rest, "\n")))
		if (*line && *line != '#')
			result = list_add(list, line, fault);
	free(text);
	if (!result && !list->nr_patterns)
		result = fault_say(fault,
				   "no functions are given: name them with --function, or write them to fhook/calltrace/functions");
	return result;
}

static int choose(struct record *record, struct choice *choice, struct fault *fault)
{
	char *available;
	int result;

	if (!record->functions.nr_patterns && take_chosen(&record->functions, fault))
		return -1;
	available = kernel_file_read("fhook/available_functions", fault);
	if (!available)
		return -1;
	result = choice_make(choice, &record->functions, available, fault);
	free(available);
	return result;
}

static int open_cpu(struct session *session, u32 number, struct fault *fault)
{
	struct cpu *cpu = &session->cpus[session->nr_cpus];
	char file[60], *path;
	int result;

	snprintf(file, sizeof(file), "per_cpu/cpu%u/trace_pipe_raw", number);
	if (!tracefs_file_exists(session->events.instance, file))
		return 0;
	cpu->number = number;
	cpu->fd = tracefs_instance_file_open(session->events.instance, file,
					     O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (cpu->fd < 0)
		return fault_say(fault, "%s cannot be opened: %s", file, strerror(errno));
	path = recording_stream_path(&session->recording, number);
	result = path ? page_stream_open(&cpu->stream, path) : -1;
	free(path);
	if (result) {
		close(cpu->fd);
		return fault_say(fault, "a stream cannot be written to %s: %s",
				 session->recording.directory, strerror(errno));
	}
	session->nr_cpus++;
	if (number >= session->recording.nr_streams)
		session->recording.nr_streams = number + 1;
	return 0;
}

static int open_cpus(struct session *session, struct fault *fault)
{
	const long count = kernel_cpus();
	u32 number;

	/* Of each CPU, its buffer and its stream. */
	files_raise_limit(2 * count);
	session->page = malloc(session->events.page_size);
	session->cpus = calloc(count, sizeof(*session->cpus));
	if (!session->page || !session->cpus)
		return fault_say(fault, "there is not enough memory to record");
	for (number = 0; number < count; number++)
		if (open_cpu(session, number, fault))
			return -1;
	return 0;
}

/* Write the map, adding functions of modules that were loaded in the meantime. */
static int write_map(struct session *session, struct fault *fault)
{
	char *path = recording_path(&session->recording, "map");
	char *enabled = kernel_file_read("fhook/enabled_functions", fault), *hook = NULL;
	int result = -1;

	if (!path || asprintf(&hook, "%s/enter", session->events.group) < 0)
		fault_say(fault, "there is not enough memory to record");
	else if (enabled && !symbols_add(&session->symbols, enabled, hook, "/proc/kallsyms",
					 fault))
		result = symbols_write(&session->symbols, path, fault);
	free(enabled);
	free(path);
	free(hook);
	return result;
}

/* Returns whether there may be more. */
static bool read_cpu(struct session *session, struct cpu *cpu)
{
	const int size = session->events.page_size;
	unsigned int pages;

	for (pages = 0; pages < READ_PAGES; pages++) {
		if (read(cpu->fd, session->page, size) <= 0)
			return false;
		page_stream_add(&cpu->stream, &session->events.format, session->page);
	}
	return true;
}

static bool read_cpus(struct session *session)
{
	bool more = false;
	size_t i;

	for (i = 0; i < session->nr_cpus; i++)
		more |= read_cpu(session, &session->cpus[i]);
	return more;
}

/* Sleep until the kernel has filled a part of a buffer, the command ends, or time is up. */
static void sleep_for_pages(struct session *session, struct pollfd *fds)
{
	const bool reads = !session->record->snapshot_mb;
	size_t i;

	for (i = 0; i < session->nr_cpus; i++) {
		const struct cpu *cpu = &session->cpus[i];

		fds[i] = (struct pollfd){
			.fd = reads && !cpu->absent ? cpu->fd : -1, .events = POLLIN,
		};
	}
	fds[i] = (struct pollfd){ .fd = work_fd(), .events = POLLIN };
	if (poll(fds, session->nr_cpus + 1, READ_PERIOD) <= 0)
		return;
	for (i = 0; i < session->nr_cpus; i++)
		if (fds[i].revents & POLLERR)
			session->cpus[i].absent = true;
}

static int start(struct session *session, struct fault *fault)
{
	if (record_has_trigger(session->record))
		work_take_trigger();
	return kernel_until_arm(&session->until, fault) ||
	       kernel_events_record(&session->events, true, fault) ||
	       work_start(session->record->argv, fault) ? -1 : 0;
}

/* If this fails, nothing has been recorded. */
static int run(struct session *session, struct fault *fault)
{
	struct pollfd *fds = calloc(session->nr_cpus + 1, sizeof(*fds));
	struct fault ignored;
	int result;

	if (!fds)
		return fault_say(fault, "there is not enough memory to record");
	result = start(session, fault);
	while (!result && work_runs() && !kernel_until_ended(&session->until))
		if (session->record->snapshot_mb || !read_cpus(session))
			sleep_for_pages(session, fds);
	kernel_events_record(&session->events, false, &ignored);
	while (read_cpus(session))
		;
	free(fds);
	if (result)
		recording_remove(&session->recording);
	return result;
}

/* The sum of these lines of a CPU's statistics. */
static u64 count_of(const struct session *session, const struct cpu *cpu,
		    const char *const *names, size_t nr_names)
{
	char file[60], *text, *rest, *line;
	u64 sum = 0;
	size_t i;

	snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpu->number);
	text = tracefs_instance_file_read(session->events.instance, file, NULL);
	rest = text;
	while (rest && (line = strsep(&rest, "\n")))
		for (i = 0; i < nr_names; i++)
			if (!strncmp(line, names[i], strlen(names[i])))
				sum += strtoull(line + strlen(names[i]), NULL, 10);
	free(text);
	return sum;
}

/* The number of bytes lost at unknown places, because a disk or buffer was full. */
static u64 lost_of(const struct session *session, const struct cpu *cpu)
{
	static const char *const names[] = { "commit overrun: ", "dropped events: " };

	return cpu->stream.file->lost +
	       count_of(session, cpu, names, ARRAY_SIZE(names)) * sizeof(struct software_record);
}

/* The number of entries and exits before the snapshot. */
static u64 overwritten(const struct session *session)
{
	static const char *const names[] = { "overrun: " };
	u64 sum = 0;
	size_t i;

	for (i = 0; i < session->nr_cpus; i++)
		sum += count_of(session, &session->cpus[i], names, ARRAY_SIZE(names));
	return sum;
}

static int finish(struct session *session, struct fault *fault)
{
	size_t i;

	for (i = 0; i < session->nr_cpus; i++) {
		struct cpu *cpu = &session->cpus[i];

		trace_file_flush(cpu->stream.file);
		cpu->lost = lost_of(session, cpu);
		if (cpu->lost &&
		    recording_add_lost(&session->recording, cpu->number, cpu->lost))
			return fault_say(fault, "there is not enough memory to record");
	}
	session->recording.until = kernel_until_reason(&session->until);
	if (kernel_tasks_add(&session->recording))
		return fault_say(fault, "there is not enough memory to record");
	if (write_map(session, fault))
		return -1;
	return recording_write(&session->recording, fault);
}

/* In a snapshot, the kernel overwrites the oldest events, so they are not missing. */
static void report_gaps(const struct session *session, u64 missed, u64 gaps)
{
	if (!gaps)
		return;
	if (session->record->snapshot_mb)
		fprintf(stderr,
			"fhook: %llu earlier ones were overwritten: a larger --snapshot keeps more.\n",
			overwritten(session));
	else
		fprintf(stderr,
			"fhook: there are %llu gaps, in which %llu more are missing, as far as is known: a larger --buffer has room for them.\n",
			gaps, missed);
}

static void report(const struct session *session)
{
	const u64 unseen = kernel_events_missed(&session->events);
	u64 events = 0, missed = 0, gaps = 0, lost = 0;
	size_t i;

	for (i = 0; i < session->nr_cpus; i++) {
		events += session->cpus[i].stream.events;
		missed += session->cpus[i].stream.missed;
		gaps += session->cpus[i].stream.gaps;
		lost += session->cpus[i].lost;
	}
	record_say_end(session->record, session->recording.until, 0);
	fprintf(stderr, "fhook: %llu entries and exits of %zu functions are in %s.\n", events,
		session->symbols.nr_symbols, session->recording.directory);
	report_gaps(session, missed, gaps);
	if (lost)
		fprintf(stderr,
			"fhook: %llu bytes are missing, nobody knows where: the disk was full, or the kernel had no room.\n",
			lost);
	if (unseen)
		fprintf(stderr,
			"fhook: %llu entries and exits were not seen, because they came while another one was being recorded, or the task had no room for a return address.\n",
			unseen);
}

static int begin(struct session *session, struct fault *fault)
{
	struct recording *recording = &session->recording;

	recording->format = FORMAT_SOFTWARE;
	recording->clock = 1000000;
	recording->snapshot = session->record->snapshot_mb;
	if (recording_create(recording, session->record->directory, NULL, fault))
		return -1;
	if (!open_cpus(session, fault) && !kernel_events_hook(&session->events, fault) &&
	    !write_map(session, fault) && !recording_write(recording, fault))
		return 0;
	recording_remove(recording);
	return -1;
}

static void end(struct session *session)
{
	while (session->nr_cpus) {
		struct cpu *cpu = &session->cpus[--session->nr_cpus];

		close(cpu->fd);
		page_stream_close(&cpu->stream);
	}
	kernel_until_remove(&session->until);
	kernel_events_remove(&session->events);
	symbols_free(&session->symbols);
	recording_free(&session->recording);
	free(session->cpus);
	free(session->page);
}

/* Define all events, with a buffer for the whole snapshot if there is to be one. */
static int make(struct session *session, const struct choice *choice, struct fault *fault)
{
	const struct record *record = session->record;
	const u64 buffer_kb = record->snapshot_mb ? record->snapshot_mb * 1024 : record->buffer_kb;

	return kernel_events_make(&session->events, choice, buffer_kb, fault) ||
	       kernel_until_make(&session->until, fault) ? -1 : 0;
}

int record_kernel_software(struct record *record, struct fault *fault)
{
	struct session session = {
		.record = record, .events.lock = -1,
		.until = { .events = &session.events, .record = record },
	};
	struct choice choice = { 0 };
	int result = -1;

	if (!kernel_file_exists("fhook_events"))
		return fault_say(fault,
				 "this kernel has no events of fhook (CONFIG_FHOOK_EVENTS), and its functions cannot be recorded without Intel PT");
	work_begin();
	if (!choose(record, &choice, fault) && !record_say_way(record) &&
	    !make(&session, &choice, fault) &&
	    !begin(&session, fault) && !run(&session, fault) && !finish(&session, fault)) {
		report(&session);
		result = 0;
	}
	end(&session);
	choice_free(&choice);
	work_end();
	return result;
}
