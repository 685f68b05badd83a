// SPDX-License-Identifier: GPL-2.0
/* Events that belong to one run of fhook; the header describes the rules. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/kernel_files.h"
#include "lib/own_task.h"
#include "session.h"

#define PREFIX	"fhook_"

/* More than the kernel's numbers of processes, whose limit is 4194304. */
#define NUMBERS		10000000
#define TRIES_OF_NAME	5
#define MOST_TRIES	(100 * TRIES_OF_NAME)

/* Room for the path of a file of an instance. */
#define PATH_ROOM	96

/* The definitions of all events, of fhook and of mainline. */
#define DEFINITIONS	"dynamic_events"

static char *instance_path(const char *name)
{
	char *path;

	return asprintf(&path, "%s/instances/%s", kernel_files_path(), name) < 0 ? NULL : path;
}

/* A locked descriptor of an instance; -1 if it has another owner, or does not exist. */
static int lock_instance(const char *path)
{
	struct stat locked, there;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	/* The run that swept it may have removed it meanwhile. */
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &locked) || stat(path, &there) ||
	    locked.st_ino != there.st_ino) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool has_group(const char *text, const char *name)
{
	const size_t length = strlen(name);

	while ((text = strstr(text, name))) {
		if (text[length] == '/')
			return true;
		text += length;
	}
	return false;
}

/* Remove the definitions of a group, if there are any. */
static int undefine(const char *name)
{
	struct fault fault;
	char *text = kernel_file_read(DEFINITIONS, &fault), line[48];
	int result = 0;

	snprintf(line, sizeof(line), "-:%s/\n", name);
	if (text && has_group(text, name))
		result = kernel_file_append(DEFINITIONS, line, &fault);
	free(text);
	return result;
}

static void disable(const char *name, const char *event)
{
	struct fault fault;
	char path[512];

	snprintf(path, sizeof(path), "instances/%s/events/%s/%s/enable", name, name, event);
	if (kernel_file_exists(path))
		kernel_file_write(path, "0", &fault);
	snprintf(path, sizeof(path), "instances/%s/events/%s/%s/trigger", name, name, event);
	/* Opening it for replacement removes its histograms, however the kernel lists them. */
	if (kernel_file_exists(path) && kernel_file_write(path, "", &fault))
		fault_print("fhook", &fault);
}

/* Let no function be hooked any more, whoever else uses the instance. */
static void unhook(const char *name)
{
	struct dirent *entry;
	DIR *directory;
	char *events;

	if (asprintf(&events, "%s/instances/%s/events/%s", kernel_files_path(), name, name) < 0)
		return;
	directory = opendir(events);
	while (directory && (entry = readdir(directory)))
		if (*entry->d_name != '.')
			disable(name, entry->d_name);
	if (directory)
		closedir(directory);
	free(events);
}

/*
 * Remove the events of a run, and last its instance, by which another run finds what a run
 * that is killed here leaves.
 */
static void remove_run(const char *name)
{
	char *path = instance_path(name);
	unsigned int tries = 50;
	int result = 0;

	unhook(name);
	if (undefine(name)) {
		fprintf(stderr, "fhook: somebody else has enabled %s: run fhook off later.\n",
			name);
		free(path);
		return;
	}
	/* Somebody may be reading a file there. */
	while (path && (result = rmdir(path)) && errno == EBUSY && --tries)
		usleep(20000);
	if (result)
		fprintf(stderr, "fhook: %s cannot be removed: %s; it hooks nothing now.\n", path,
			errno == EBUSY ? "somebody else uses it" : strerror(errno));
	free(path);
}

/* "fhook_" and a number. */
static bool is_name_of_run(const char *name)
{
	const size_t length = strlen(PREFIX);

	return !strncmp(name, PREFIX, length) && name[length] &&
	       !name[length + strspn(name + length, "0123456789")];
}

unsigned int session_sweep(void)
{
	char *path = instance_path("");
	DIR *directory = path ? opendir(path) : NULL;
	unsigned int swept = 0;
	struct dirent *entry;
	char *instance;
	int lock;

	while (directory && (entry = readdir(directory))) {
		if (!is_name_of_run(entry->d_name))
			continue;
		instance = instance_path(entry->d_name);
		lock = instance ? lock_instance(instance) : -1;
		free(instance);
		if (lock < 0)
			continue;
		remove_run(entry->d_name);
		close(lock);
		swept++;
	}
	if (directory)
		closedir(directory);
	free(path);
	return swept;
}

/* Returns 1 if another run has the instance. */
static int make_instance(struct session *session, struct fault *fault)
{
	char *path = instance_path(session->name);
	int result = 0;

	if (!path)
		return fault_say(fault, "there is not enough memory");
	if (mkdir(path, 0700) && errno != EEXIST)
		result = fault_say(fault, "%s cannot be made: %s", path, strerror(errno));
	if (!result)
		session->lock = lock_instance(path);
	free(path);
	return result ?: session->lock < 0;
}

/*
 * Another run may sweep the instance before it is locked. A run in another PID namespace may
 * have the same number: then add what no number of a process reaches.
 */
static int name_instance(struct session *session, struct fault *fault)
{
	unsigned int tries;
	int result;

	for (tries = 0; tries < MOST_TRIES; tries++) {
		snprintf(session->name, sizeof(session->name), PREFIX "%u",
			 getpid() + tries / TRIES_OF_NAME * NUMBERS);
		result = make_instance(session, fault);
		if (result <= 0)
			return result;
		usleep(10000);
	}
	return fault_say(fault, "instances/%s is used by somebody else, and has this run's name",
			 session->name);
}

int session_begin(struct session *session, bool mainline, const char *file, struct fault *fault)
{
	session->lock = -1;
	session->missing = NULL;
	if (!mainline && !kernel_file_exists(file))
		session->missing = *file == 'u' ? "CONFIG_UHOOK_EVENTS" : "CONFIG_FHOOK_EVENTS";
	session->mainline = mainline || session->missing;
	session_sweep();
	if (name_instance(session, fault))
		return -1;
	kernel_instance_reset(session->name);
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
	remove_run(session->name);
	close(session->lock);
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

bool session_has(const struct session *session, const char *event, const char *file)
{
	struct fault fault;
	char *path = event_path(session, event, file, &fault);
	const bool there = path && kernel_file_exists(path);

	free(path);
	return there;
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
	char *instance = instance_path(session->name), *path;
	int fd, error;

	if (!instance || asprintf(&path, "%s/%s", instance, file) < 0) {
		free(instance);
		errno = ENOMEM;
		return fault_say(fault, "there is not enough memory");
	}
	free(instance);
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
