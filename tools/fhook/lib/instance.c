// SPDX-License-Identifier: GPL-2.0
/* Instances of tracefs that belong to a run; the header describes the rules. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "instance.h"
#include "kernel_files.h"

/* More than the kernel's numbers of processes, whose limit is 4194304. */
#define NUMBERS		10000000
#define TRIES_OF_NAME	5
#define MOST_TRIES	(100 * TRIES_OF_NAME)

/* The definitions of all events, of fhook and of mainline. */
#define DEFINITIONS	"dynamic_events"

static const char *const prefixes[] = { INSTANCE_HOOKS, INSTANCE_CALLTRACE };

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
static int undefine(const char *name, struct fault *fault)
{
	char *text = kernel_file_read(DEFINITIONS, fault), line[48];
	int result = text ? 0 : -1;

	snprintf(line, sizeof(line), "-:%s/\n", name);
	if (text && has_group(text, name) && kernel_file_append(DEFINITIONS, line, fault))
		result = fault_say(fault, "somebody else has enabled %s: run fhook off later",
				   name);
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

static int remove_instance(const char *path)
{
	unsigned int tries = 50;
	int result;

	/* Somebody may be reading a file there. */
	while ((result = rmdir(path)) && errno == EBUSY && --tries)
		usleep(20000);
	return result;
}

/*
 * An override of a killed run may let this process fail to open files or to write. The kernel
 * disables the events of an instance also when that is removed. The new one, which has none
 * enabled, is where the next run finds definitions that stay.
 */
static int renew(const char *path)
{
	return remove_instance(path) || mkdir(path, 0700) ? -1 : 0;
}

/*
 * Remove the events of a run, and last its instance, by which another run finds what a run
 * that is killed here leaves. Returns -1, after a sentence, if something stays.
 */
static int remove_run(const char *name)
{
	char *path = instance_path(name);
	struct fault fault;
	int result;

	unhook(name);
	result = path ? undefine(name, &fault) :
		 fault_say(&fault, "there is not enough memory");
	if (result && path && !renew(path))
		result = undefine(name, &fault);
	if (!result && remove_instance(path))
		result = fault_say(&fault, "%s cannot be removed: %s; it hooks nothing now", path,
				   errno == EBUSY ? "somebody else uses it" : strerror(errno));
	if (result)
		fault_print("fhook", &fault);
	free(path);
	return result;
}

/* A prefix and a number. */
static bool is_name_of_run(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(prefixes); i++) {
		const size_t length = strlen(prefixes[i]);

		if (!strncmp(name, prefixes[i], length) && name[length] &&
		    !name[length + strspn(name + length, "0123456789")])
			return true;
	}
	return false;
}

unsigned int instance_sweep(void)
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
		swept += !remove_run(entry->d_name);
		close(lock);
	}
	if (directory)
		closedir(directory);
	free(path);
	return swept;
}

/* Returns 1 if another run has the instance, otherwise 0 and the lock, or -1 and a sentence. */
static int make(const char *name, int *lock, struct fault *fault)
{
	char *path = instance_path(name);
	int result = 0;

	if (!path)
		return fault_say(fault, "there is not enough memory");
	if (mkdir(path, 0700) && errno != EEXIST)
		result = fault_say(fault, "%s cannot be made: %s", path, kernel_refusal(errno));
	if (!result)
		*lock = lock_instance(path);
	free(path);
	return result ?: *lock < 0;
}

/*
 * Another run may sweep the instance before it is locked. A run in another PID namespace may
 * have the same number: then add what no number of a process reaches.
 */
int instance_make(const char *prefix, char name[INSTANCE_NAME], struct fault *fault)
{
	unsigned int tries;
	int result, lock = -1;

	for (tries = 0; tries < MOST_TRIES; tries++) {
		snprintf(name, INSTANCE_NAME, "%s%u", prefix,
			 getpid() + tries / TRIES_OF_NAME * NUMBERS);
		result = make(name, &lock, fault);
		if (result < 0)
			return -1;
		if (!result) {
			kernel_instance_reset(name);
			return lock;
		}
		usleep(10000);
	}
	return fault_say(fault, "instances/%s is used by somebody else, and has this run's name",
			 name);
}

void instance_remove(const char *name, int lock)
{
	remove_run(name);
	close(lock);
}
