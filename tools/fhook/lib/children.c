// SPDX-License-Identifier: GPL-2.0
/* The recordings of a program's children; the header describes them. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "children.h"
#include "recording.h"

struct directory_id {
	dev_t device;
	ino_t inode;
};

static int compare_ids(const void *one, const void *other)
{
	const struct directory_id *a = one, *b = other;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->inode < b->inode ? -1 : a->inode > b->inode;
}

/* Is it there already, perhaps by another name? Names of nothing are reported by their readers. */
static bool is_known(struct directories *directories, const char *name)
{
	struct directory_id *id, **found;
	struct stat status;

	if (stat(name, &status))
		return false;
	id = malloc(sizeof(*id));
	if (!id)
		return false;
	*id = (struct directory_id){ .device = status.st_dev, .inode = status.st_ino };
	found = tsearch(id, &directories->ids, compare_ids);
	if (found && *found == id)
		return false;
	free(id);
	return found;
}

int directories_add(struct directories *directories, const char *name, struct fault *fault)
{
	char *copy = strdup(name);
	size_t length = copy ? strlen(copy) : 0;

	/* The names of children begin with this one. */
	while (length > 1 && copy[length - 1] == '/')
		copy[--length] = '\0';
	if (copy && is_known(directories, copy)) {
		free(copy);
		return 0;
	}
	if (!copy || grow(&directories->names, &directories->room, directories->nr,
			  sizeof(*directories->names))) {
		free(copy);
		return fault_say(fault, "there is not enough memory");
	}
	directories->names[directories->nr++] = copy;
	return 0;
}

/* Is a name that of a directory, followed by numbers? */
static bool is_child(const char *name, const char *parent)
{
	const size_t length = strlen(parent);

	if (strncmp(name, parent, length) || name[length] != '-')
		return false;
	name += length;
	while (name[0] == '-' && isdigit((unsigned char)name[1]))
		name += 1 + strspn(name + 1, "0123456789");
	return !*name;
}

static u64 session_of(const char *directory)
{
	struct recording recording;
	struct fault ignored;
	u64 session;

	if (recording_read(&recording, directory, &ignored))
		return 0;
	session = recording.session;
	recording_free(&recording);
	return session;
}

/* Is there no recording at all? Others may be damaged, which their readers report. */
static bool has_no_info(const char *directory)
{
	char *path;
	bool missing;

	if (asprintf(&path, "%s/info", directory) < 0)
		return false;
	missing = access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR);
	free(path);
	return missing;
}

/* Another program, or an earlier run, may have a recording of this name; older ones do not tell. */
static bool is_foreign(const char *directory, u64 session)
{
	struct recording recording;
	struct fault ignored;
	bool foreign;

	if (!session)
		return false;
	if (recording_read(&recording, directory, &ignored))
		return has_no_info(directory);
	foreign = recording.session != session;
	recording_free(&recording);
	return foreign;
}

static int add_child(struct directories *directories, const char *directory, const char *numbers,
		     u64 session, struct fault *fault)
{
	char *path;
	int result = 0;

	if (asprintf(&path, "%s%s", directory, numbers) < 0)
		return fault_say(fault, "there is not enough memory");
	if (!is_foreign(path, session))
		result = directories_add(directories, path, fault);
	free(path);
	return result;
}

static int compare(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int directories_add_children(struct directories *directories, const char *directory,
			     struct fault *fault)
{
	char *path = strdup(directory), *base = strdup(directory);
	const u64 session = session_of(directory);
	const size_t first = directories->nr;
	DIR *stream = path ? opendir(dirname(path)) : NULL;
	const char *name = base ? basename(base) : "";
	struct dirent *entry;
	int result = 0;

	if (!stream)
		result = fault_say(fault, "the directory of %s cannot be read: %s", directory,
				   strerror(errno));
	while (!result && (entry = readdir(stream)))
		if (is_child(entry->d_name, name))
			result = add_child(directories, directory, entry->d_name + strlen(name),
					   session, fault);
	if (stream)
		closedir(stream);
	free(path);
	free(base);
	if (directories->nr > first)
		qsort(directories->names + first, directories->nr - first,
		      sizeof(*directories->names), compare);
	return result;
}

void directories_say_executed(const struct directories *directories, time_t since)
{
	struct recording recording;
	struct fault ignored;
	struct stat status;
	size_t i;

	for (i = 0; i < directories->nr; i++) {
		if (stat(directories->names[i], &status) || status.st_mtime < since ||
		    recording_read(&recording, directories->names[i], &ignored))
			continue;
		recording_say_executed(&recording);
		recording_free(&recording);
	}
}

void directories_free(struct directories *directories)
{
	size_t i;

	for (i = 0; i < directories->nr; i++)
		free(directories->names[i]);
	free(directories->names);
	tdestroy(directories->ids, free);
}
