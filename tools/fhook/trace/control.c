// SPDX-License-Identifier: GPL-2.0
/*
 * The channel through which a guest, or a script, controls recording
 *
 *	range 0xSTART 0xSIZE	trace this range, too; the first one after a recording of
 *				a machine has ended replaces the ranges of that recording
 *	map			the following lines are the map of later recordings, up to
 *				a line "end"
 *	start PROFILE		begin a recording, in DIR, then DIR.2, DIR.3 ...
 *	stop			end it: the answer comes after all streams have been
 *				written, or names the data that could not be written
 *
 * Each line that does not belong to a map is answered by "ok" or a sentence, a start by
 * "ok" and the directory. A new user therefore sends "end" and a command whose answer it
 * can recognize, whatever a previous user has left. The channel is made by QEMU's
 * options "-chardev pipe,path=PATH" (PATH.in and PATH.out exist: output of the guest
 * arrives at PATH.out, and its input is written to PATH.in), or "-chardev
 * socket,path=PATH,server=on,wait=off".
 *
 * Code that was translated before its range was added has no callbacks. So a range makes
 * QEMU drop all translated code, and "ok" comes after that: all code that runs after the
 * answer is traced.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "lib/base.h"
#include "plugin.h"

#define FLUSH_SECONDS	2
/* A limit, so that a guest cannot fill the memory of its host. */
#define LINE_MAX_SIZE	4096
#define MAP_TEXT_MAX	(64u << 20)

static pthread_mutex_t flush_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flush_done = PTHREAD_COND_INITIALIZER;
static unsigned long flushes;

void trace_control_flushed(void)
{
	pthread_mutex_lock(&flush_lock);
	flushes++;
	pthread_cond_broadcast(&flush_done);
	pthread_mutex_unlock(&flush_lock);
}

/* Flush while no vCPU runs, because newer versions may drop code that is being executed. */
static void flush_while_none_runs(void *cpu, uintptr_t data __unused)
{
	tb_flush(cpu);
}

void trace_control_forked(void)
{
	pthread_mutex_init(&flush_lock, NULL);
}

/* Make QEMU drop its translated code, and wait until that is done. */
static int flush_code(struct fault *fault)
{
	struct timespec until;
	unsigned long before;
	int result = 0;
	void *cpu;

	/* Without a processor, nothing has been translated yet. */
	cpu = qemu_get_cpu ? qemu_get_cpu(0) : NULL;
	if (qemu_get_cpu && !cpu)
		return 0;
	if (!cpu || !tb_flush || !async_safe_run_on_cpu)
		return fault_say(fault,
				 "this QEMU does not let go of code that it has translated: say the range before anything in it runs");
	pthread_mutex_lock(&flush_lock);
	before = flushes;
	pthread_mutex_unlock(&flush_lock);
	async_safe_run_on_cpu(cpu, flush_while_none_runs, 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FLUSH_SECONDS;
	pthread_mutex_lock(&flush_lock);
	while (flushes == before && !result)
		result = pthread_cond_timedwait(&flush_done, &flush_lock, &until);
	pthread_mutex_unlock(&flush_lock);
	if (result)
		return fault_say(fault,
				 "the range is set, but processor 0 does not run: until it does, others may have code from before");
	return 0;
}

/* A recording has ended, and no range has been added since. */
static bool ended;

static int do_range(char **words, int count, struct fault *fault)
{
	u64 start, size;

	if (count != 3 || word_number(words[1], 16, ~0ULL, &start) ||
	    word_number(words[2], 16, ~0ULL, &size))
		return fault_say(fault, "a range is said as: range 0xSTART 0xSIZE");
	/* Drop the ranges of a recording that has ended. */
	if (ended && plugin.system)
		trace_forget_ranges();
	ended = false;
	if (trace_add_range(start, size, fault))
		return -1;
	return flush_code(fault);
}

/* The file stays open while recordings copy it. */
static FILE *map_file;
static char *map_path;

static void forget_map(void)
{
	plugin.map_path = NULL;
	if (map_file)
		fclose(map_file);
	free(map_path);
	map_file = NULL;
	map_path = NULL;
}

/* Read all of it, even if it cannot be stored: commands follow it. */
static int copy_map(FILE *from)
{
	char line[LINE_MAX_SIZE];
	int result = map_file ? 0 : -1;
	bool begins = true, whole;
	size_t size = 0;

	for (; fgets(line, sizeof(line), from); begins = whole) {
		whole = strchr(line, '\n');
		line[strcspn(line, "\r\n")] = '\0';
		if (begins && whole && !strcmp(line, "end"))
			return map_file && fflush(map_file) ? -1 : result;
		size += strlen(line) + 1;
		if (!whole || size > MAP_TEXT_MAX ||
		    (map_file && fprintf(map_file, "%s\n", line) < 0))
			result = -1;
		if (result)
			forget_map();
	}
	return -1;
}

static int do_map(FILE *from, struct fault *fault)
{
	forget_map();
	map_file = recording_unnamed_file(false, &map_path);
	if (copy_map(from)) {
		forget_map();
		return fault_say(fault,
				 "the map has not come whole, or is larger than %u MiB, for which there is room",
				 MAP_TEXT_MAX >> 20);
	}
	plugin.map_path = map_path;
	return 0;
}

static int do_start(char **words, int count, char **directory, struct fault *fault)
{
	const enum recording_profile before = plugin.profile;
	enum recording_profile profile;
	struct fault ignored;

	if (count != 2)
		return fault_say(fault, "a start is said as: start PROFILE");
	if (recording_find_profile(words[1], &profile, fault) || trace_start(profile, fault))
		return -1;
	/* A full branch trace uses other callbacks. */
	if (profile != before && (profile == PROFILE_BRANCHES || before == PROFILE_BRANCHES) &&
	    flush_code(fault)) {
		trace_stop(&ignored);
		return -1;
	}
	*directory = trace_directory();
	return 0;
}

static int do_stop(struct fault *fault)
{
	ended = true;
	return trace_stop(fault);
}

/* The text after "ok" has to be freed. */
static int obey(char *line, FILE *from, char **beside, struct fault *fault)
{
	char *words[4];
	int count = words_split(line, words, ARRAY_SIZE(words));

	if (!count)
		return fault_say(fault, "the line is empty");
	if (!strcmp(words[0], "range"))
		return do_range(words, count, fault);
	if (!strcmp(words[0], "start"))
		return do_start(words, count, beside, fault);
	if (!strcmp(words[0], "map"))
		return do_map(from, fault);
	if (strcmp(words[0], "stop") || count != 1)
		return fault_say(fault, "'%s' is none of range, map, start and stop", words[0]);
	return do_stop(fault);
}

/* A terminal in between may add a carriage return, and echo the answers. */
static void answer_lines(FILE *from, int to)
{
	char line[LINE_MAX_SIZE], *beside;
	struct fault fault;

	while (fgets(line, sizeof(line), from)) {
		line[strcspn(line, "\r\n")] = '\0';
		beside = NULL;
		if (obey(line, from, &beside, &fault))
			dprintf(to, "%s\n", fault.text);
		else
			dprintf(to, "ok%s%s\n", beside ? " " : "", beside ?: "");
		free(beside);
	}
}

/* A FIFO that stays open when its other end is closed. */
static int open_pipe(const char *end)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s%s", plugin.control, end) < 0)
		return -1;
	fd = open(path, O_RDWR | O_CLOEXEC);
	free(path);
	return fd;
}

static int open_socket(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", plugin.control);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void *control(void *data __unused)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int in = open_pipe(".out"), out = open_pipe(".in");
	FILE *from;

	/* QEMU may make its end of a socket after it has started plugins. */
	while (in < 0 && (in = out = open_socket()) < 0)
		nanosleep(&pause, NULL);
	from = fdopen(in, "r");
	if (!from)
		return NULL;
	/* Otherwise exit() waits for the thread that reads it, since glibc 2.41. */
	__fsetlocking(from, FSETLOCKING_BYCALLER);
	answer_lines(from, out);
	return NULL;
}

int trace_control_start(struct fault *fault)
{
	pthread_t thread;
	int result = pthread_create(&thread, NULL, control, NULL);

	if (result)
		return fault_say(fault, "there is no thread for the control channel: %s",
				 strerror(result));
	pthread_detach(thread);
	return 0;
}
