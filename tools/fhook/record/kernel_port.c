// SPDX-License-Identifier: GPL-2.0
/*
 * Record functions of the kernel in a guest of QEMU, by our plugin outside of it
 *
 * Through a port of the machine, the plugin is told the blocks to record, and when to start
 * and stop; trace/control.c describes the commands. The recording, with the map, is in the
 * directory that was given to the plugin, so nothing is written in the guest.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "record.h"
#include "stubs.h"
#include "lib/work.h"

#define PORTS		"/sys/class/virtio-ports"
#define PORT_NAME	"calltrace"
/* More time than the plugin needs for dropping translated code. */
#define ANSWER_MS	30000
/* The maximum number of old answers that others have not read. */
#define OLD_ANSWERS	1000

/* The name of a port is a line of a file. */
static bool has_name(const char *port)
{
	char *path, name[sizeof(PORT_NAME) + 1] = "";
	FILE *file;

	if (asprintf(&path, PORTS "/%s/name", port) < 0)
		return false;
	file = fopen(path, "r");
	free(path);
	if (!file)
		return false;
	if (fgets(name, sizeof(name), file))
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
	return !strcmp(name, PORT_NAME);
}

char *record_port(void)
{
	DIR *directory = opendir(PORTS);
	struct dirent *entry;
	char *path = NULL;

	if (!directory)
		return NULL;
	while (!path && (entry = readdir(directory)))
		if (*entry->d_name != '.' && has_name(entry->d_name) &&
		    asprintf(&path, "/dev/%s", entry->d_name) < 0)
			path = NULL;
	closedir(directory);
	return path;
}

/* Send a command to the plugin. The answer is "ok", perhaps with MORE, or a sentence. */
static int tell(int port, const char *text, size_t length, char **more, struct fault *fault)
{
	char answer[1000];

	if (work_tell(port, text, length, ANSWER_MS) ||
	    work_hear(port, answer, sizeof(answer), ANSWER_MS))
		return work_failed("QEMU's plugin does not answer", fault);
	if (strncmp(answer, "ok", 2) || (answer[2] && answer[2] != ' '))
		return fault_say(fault, "QEMU's plugin says: %s", answer);
	if (more)
		*more = strdup(answer + 2 + (answer[2] == ' '));
	return 0;
}

/* A previous user may have been killed in the middle of a map, or before an answer came. */
static int begin(int port, struct fault *fault)
{
	char text[60], answer[1000];
	int i;

	snprintf(text, sizeof(text), "end\nfhook-%d\n", getpid());
	if (work_tell(port, text, strlen(text), ANSWER_MS))
		return work_failed("QEMU's plugin does not listen", fault);
	text[strlen(text) - 1] = '\0';
	for (i = 0; i < OLD_ANSWERS; i++) {
		if (work_hear(port, answer, sizeof(answer), ANSWER_MS))
			break;
		if (strstr(answer, text + strlen("end\n")))
			return 0;
	}
	return work_failed("QEMU's plugin does not answer", fault);
}

static int tell_line(int port, char **more, struct fault *fault, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int tell_line(int port, char **more, struct fault *fault, const char *format, ...)
{
	va_list arguments;
	char line[100];
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	return tell(port, line, length, more, fault);
}

static int send_map(const struct record_stubs *stubs, int port, struct fault *fault)
{
	static const char head[] = "map\n", tail[] = "end\n";
	const int fd = fileno(stubs->map_file);
	struct stat status;
	char *text = NULL;
	int result = -1;

	if (fstat(fd, &status))
		return fault_say(fault, "the map cannot be read: %s", strerror(errno));
	text = malloc(status.st_size + sizeof(head) + sizeof(tail));
	if (!text)
		return fault_say(fault, "there is not enough memory to record");
	memcpy(text, head, strlen(head));
	if (pread(fd, text + strlen(head), status.st_size, 0) == status.st_size) {
		memcpy(text + strlen(head) + status.st_size, tail, strlen(tail));
		result = tell(port, text, strlen(head) + status.st_size + strlen(tail), NULL,
			      fault);
	} else {
		fault_say(fault, "the map cannot be read: %s", strerror(errno));
	}
	free(text);
	return result;
}

/**
 * struct session - a recording by the plugin
 * @stubs: the blocks to record
 * @port: descriptor of the port to the plugin
 * @directory: directory of the plugin's recording, outside; NULL until it is known
 */
struct session {
	struct record_stubs stubs;
	int port;
	char *directory;
};

/* Tell the plugin the blocks before anything runs in them: QEMU then drops translated code. */
static int tell_blocks(const struct session *session, struct fault *fault)
{
	const struct record_stubs *stubs = &session->stubs;
	const int port = session->port;
	size_t i;

	for (i = 0; i < stubs->nr_blocks; i++)
		if (tell_line(port, NULL, fault, "range 0x%llx 0x%llx\n",
			      stubs->blocks[i].address, stubs->blocks[i].size))
			return -1;
	return send_map(stubs, port, fault);
}

static int start_recording(void *data, struct fault *fault)
{
	struct session *session = data;

	return tell_line(session->port, &session->directory, fault, "start %s\n",
			 session->stubs.record->profile);
}

/* Stop, whether recording has begun or not. */
static int stop_recording(void *data, struct fault *fault)
{
	const struct session *session = data;

	return tell_line(session->port, NULL, fault, "stop\n");
}

static const struct stubs_recorder port_recorder = {
	.begin = start_recording,
	.end = stop_recording,
};

int record_kernel_port(struct record *record, struct fault *fault)
{
	struct session session = {
		.stubs.record = record,
		.port = open(record->port, O_RDWR | O_NONBLOCK | O_CLOEXEC),
	};
	int result;

	if (session.port < 0)
		return fault_say(fault, "the port to QEMU's plugin, %s: %s", record->port,
				 strerror(errno));
	work_begin();
	result = begin(session.port, fault);
	result = result ?: record_stubs_choose(&session.stubs, fault);
	result = result ?: record_stubs_map(&session.stubs, fault);
	result = result ?: tell_blocks(&session, fault);
	result = result ?: record_stubs_run(&session.stubs, &port_recorder, &session, fault);
	record_stubs_end(&session.stubs);
	close(session.port);
	if (session.directory)
		fprintf(stderr, "fhook: the recording is outside of this machine, in %s.\n",
			session.directory);
	free(session.directory);
	work_end();
	return result;
}
