// SPDX-License-Identifier: GPL-2.0
/*
 * The channel on which a guest, or a script, says what is to be recorded
 *
 *	range 0xSTART 0xSIZE	trace this range, too
 *	start PROFILE		begin a recording, in DIR, then DIR.2, DIR.3 ...
 *	stop			end it: all streams are written when this is answered
 *
 * Each line is answered by "ok" or a sentence. The channel is what QEMU makes of
 * "-chardev pipe,path=PATH" (PATH.in and PATH.out exist: what the guest says comes
 * out of PATH.out, and what it is to hear goes into PATH.in), or of
 * "-chardev socket,path=PATH,server=on,wait=off".
 *
 * Code that was translated before its range was said has no callbacks. So a range
 * makes QEMU drop all translated code, and "ok" comes when it has: whatever runs
 * after the answer is traced.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "trace_plugin.h"
#include "words.h"

#define FLUSH_SECONDS	2

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

/* Have QEMU drop what it has translated, and wait until it has. */
static int flush_code(struct fault *fault)
{
	struct timespec until;
	unsigned long before;
	int result = 0;
	void *cpu;

	/* Before there is a processor, nothing was translated. */
	cpu = qemu_get_cpu ? qemu_get_cpu(0) : NULL;
	if (qemu_get_cpu && !cpu)
		return 0;
	if (!cpu || !tb_flush)
		return fault_say(fault,
				 "this QEMU does not let go of code that it has translated: say the range before anything in it runs");
	pthread_mutex_lock(&flush_lock);
	before = flushes;
	pthread_mutex_unlock(&flush_lock);
	tb_flush(cpu);
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

static int do_range(char **words, int count, struct fault *fault)
{
	u64 start, size;

	if (count != 3 || word_number(words[1], 16, ~0ULL, &start) ||
	    word_number(words[2], 16, ~0ULL, &size))
		return fault_say(fault, "a range is said as: range 0xSTART 0xSIZE");
	if (trace_add_range(start, size, fault))
		return -1;
	return flush_code(fault);
}

static int do_start(char **words, int count, struct fault *fault)
{
	const enum recording_profile before = plugin.profile;
	enum recording_profile profile;

	if (count != 2)
		return fault_say(fault, "a start is said as: start PROFILE");
	if (recording_find_profile(words[1], &profile, fault) || trace_start(profile, fault))
		return -1;
	/* A full branch trace is made of other callbacks. */
	if (profile != before && (profile == PROFILE_BRANCHES || before == PROFILE_BRANCHES))
		return flush_code(fault);
	return 0;
}

static int obey(char *line, struct fault *fault)
{
	char *words[4];
	int count = words_split(line, words, ARRAY_SIZE(words));

	if (!count)
		return fault_say(fault, "the line is empty");
	if (!strcmp(words[0], "range"))
		return do_range(words, count, fault);
	if (!strcmp(words[0], "start"))
		return do_start(words, count, fault);
	if (strcmp(words[0], "stop") || count != 1)
		return fault_say(fault, "'%s' is none of range, start and stop", words[0]);
	trace_stop();
	return 0;
}

/* A terminal in between may add a carriage return, and echo what was answered. */
static void answer_lines(FILE *from, int to)
{
	struct fault fault;
	size_t room = 0;
	char *line = NULL;

	while (getline(&line, &room, from) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (obey(line, &fault))
			dprintf(to, "%s\n", fault.text);
		else
			dprintf(to, "ok\n");
	}
	free(line);
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
	if (from)
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
