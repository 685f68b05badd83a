// SPDX-License-Identifier: GPL-2.0
/* Events that belong to one run of fhook; the header describes the rules. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/instance.h"
#include "lib/kernel_files.h"
#include "lib/own_task.h"
#include "session.h"

/* Room for the path of a file of an instance. */
#define PATH_ROOM	96

int session_begin(struct session *session, bool mainline, const char *file, struct fault *fault)
{
	session->lock = -1;
	session->missing = NULL;
	if (!mainline && !kernel_file_exists(file))
		session->missing = *file == 'u' ? "CONFIG_UHOOK_EVENTS" : "CONFIG_FHOOK_EVENTS";
	session->mainline = mainline || session->missing;
	instance_sweep();
	session->lock = instance_make(INSTANCE_HOOKS, session->name, fault);
	if (session->lock < 0)
		return -1;
	return own_task_find(session->name, &session->task, fault);
}

int session_refuse(const struct session *session, const char *what, struct fault *fault)
{
	if (session->missing)
		return fault_say(fault, "%s needs %s, which this kernel lacks", what,
				 session->missing);
	return fault_say(fault, "%s needs fhook's events: leave out --mainline", what);
}

void session_end(struct session *session)
{
	if (session->lock < 0)
		return;
	instance_remove(session->name, session->lock);
	session->lock = -1;
}

int session_define(const struct session *session, struct fault *fault, const char *file,
		   char letter, const char *event, const char *format, ...)
{
	char *rest, *line;
	va_list arguments;
	int result;

	va_start(arguments, format);
	result = vasprintf(&rest, format, arguments);
	va_end(arguments);
	if (result < 0)
		return fault_say(fault, "there is not enough memory");
	result = asprintf(&line, "%c:%s/%s %s\n", letter, session->name, event, rest);
	free(rest);
	if (result < 0)
		return fault_say(fault, "there is not enough memory");
	result = kernel_file_append(file, line, fault);
	free(line);
	return result;
}

static char *event_path(const struct session *session, const char *event, const char *file,
			struct fault *fault)
{
	char *path;

	if (asprintf(&path, "instances/%s/events/%s/%s/%s", session->name, session->name, event,
		     file) < 0) {
		fault_say(fault, "there is not enough memory");
		return NULL;
	}
	return path;
}

int session_set(const struct session *session, const char *event, const char *file,
		const char *text, struct fault *fault)
{
	char *path = event_path(session, event, file, fault);
	/* Opening it for replacement would remove the histograms of an event. */
	int result = path ? kernel_file_append(path, text, fault) : -1;

	free(path);
	return result;
}

int session_add_up(const struct session *session, const char *event, const char *trigger,
		   struct fault *fault)
{
	char *path = event_path(session, event, "hist", fault);
	int result = -1;

	if (path && kernel_file_exists(path))
		result = session_set(session, event, "trigger", trigger, fault);
	else if (path)
		fault_say(fault, "counts need CONFIG_HIST_TRIGGERS: this kernel has none");
	free(path);
	return result;
}

char *session_get(const struct session *session, const char *event, const char *file,
		  struct fault *fault)
{
	char *path = event_path(session, event, file, fault);
	char *text = path ? kernel_file_read(path, fault) : NULL;

	free(path);
	return text;
}

/* The path of a file of the instance in tracefs. */
static void file_path(const struct session *session, const char *file, char path[PATH_ROOM])
{
	snprintf(path, PATH_ROOM, "instances/%s/%s", session->name, file);
}

int session_open(const struct session *session, const char *file, struct fault *fault)
{
	char *path;
	int fd, error;

	if (asprintf(&path, "%s/instances/%s/%s", kernel_files_path(), session->name, file) < 0) {
		errno = ENOMEM;
		return fault_say(fault, "there is not enough memory");
	}
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	error = errno;
	if (fd < 0)
		fault_say(fault, "%s cannot be read: %s", path, strerror(error));
	free(path);
	errno = error;
	return fd;
}

char *session_read(const struct session *session, const char *file, struct fault *fault)
{
	char path[PATH_ROOM];

	file_path(session, file, path);
	return kernel_file_read(path, fault);
}

int session_control(const struct session *session, const char *file, const char *text,
		    struct fault *fault)
{
	char path[PATH_ROOM];

	file_path(session, file, path);
	return kernel_file_write(path, text, fault);
}
