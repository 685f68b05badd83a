// SPDX-License-Identifier: GPL-2.0
/*
 * The locations at which QEMU's user mode has loaded the objects of a map
 *
 * The guest's files are mapped in QEMU's own process: its list of mappings includes
 * them. An object is identified by its build id or, without one, by the name of its
 * file. The list is read before the first instruction runs, and after new mappings:
 * an unloaded object may be loaded again, at the same location or another one.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/elf_image.h"
#include "plugin.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool found, looked;
/* The path of a mapped file that cannot be read and may be an object, or NULL. */
static char *unread;
static int unread_error;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_object(const struct map_object *object, const char *build_id, const char *path)
{
	if (strcmp(object->build_id, "-"))
		return !strcmp(object->build_id, build_id);
	return !strcmp(base_name(object->name), base_name(path));
}

/*
 * The index of the object that is in a file, or nr_objects. Copies of a file have one build id,
 * and if the map has several, the name tells them apart.
 */
static size_t find_object(const char *build_id, const char *path)
{
	const struct map *map = &plugin.map;
	size_t i, found = map->nr_objects;

	for (i = map->nr_objects; i--;) {
		if (!is_object(&map->objects[i], build_id, path))
			continue;
		if (!strcmp(base_name(map->objects[i].name), base_name(path)))
			return i;
		found = i;
	}
	return found;
}

/* Find the linked address of a file's first page. */
static int linked_at(const struct elf_image *image, u64 *address)
{
	const u64 page_mask = 4095;
	unsigned int i;

	for (i = 0; i < image->header->e_phnum; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_offset <= page_mask) {
			*address = segment->p_vaddr & ~page_mask;
			return 0;
		}
	}
	return -1;
}

/* A file that was removed has another name in the list. */
static bool has_name_of_object(const char *path)
{
	const char *name = base_name(path);
	size_t i;

	for (i = 0; i < plugin.map.nr_objects; i++) {
		const char *object = base_name(plugin.map.objects[i].name);
		const size_t length = strlen(object);

		if (!strncmp(name, object, length) &&
		    (!name[length] || !strcmp(name + length, " (deleted)")))
			return true;
	}
	return false;
}

static void remember_unread(const char *path)
{
	if (!access(path, R_OK))
		return;
	unread_error = errno;
	/* Shared memory, too, is in the list with the name of a file that does not exist. */
	if (!has_name_of_object(path) && (unread || unread_error == ENOENT))
		return;
	free(unread);
	unread = strdup(path);
}

/* The beginning of a file was mapped at START. */
static void look_at_file(const char *path, u64 start)
{
	char build_id[BUILD_ID_TEXT];
	struct elf_image image;
	struct fault fault;
	size_t object;
	u64 address;

	if (elf_open(&image, path, &fault)) {
		remember_unread(path);
		return;
	}
	build_id_text(&image, build_id);
	object = find_object(build_id, path);
	if (object < plugin.map.nr_objects && !linked_at(&image, &address)) {
		found = true;
		trace_add_load(object, start - address);
	}
	elf_close(&image);
}

/*
 * The kernel writes a newline in a path as \012, and does not mark these characters themselves:
 * they stay if a file has this name.
 */
static void unescape_newlines(char *path)
{
	char *at;

	if (!strstr(path, "\\012") || !access(path, F_OK))
		return;
	for (at = path; (at = strstr(at, "\\012")); at++) {
		*at = '\n';
		memmove(at + 1, at + 4, strlen(at + 4) + 1);
	}
}

/* Look at a line of the list of mappings if ADDRESS is 0, or the mapping begins there. */
static void look_at_line(char *line, u64 address)
{
	unsigned long start, offset;
	char *path;
	int at = 0;

	if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %n", &start, &offset, &at) != 2 || !at)
		return;
	path = line + at;
	path[strcspn(path, "\n")] = '\0';
	if (*path != '/' || offset || start < guest_base ||
	    (address && start - guest_base != address))
		return;
	unescape_newlines(path);
	look_at_file(path, start - guest_base);
}

/* Look at all mappings, or at the one that begins at ADDRESS. */
static void look_at_mappings(u64 address)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return;
	while (getline(&line, &room, file) > 0)
		look_at_line(line, address);
	free(line);
	fclose(file);
}

void trace_loads_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

void trace_find_loads(u64 address)
{
	/* "looked" only becomes true, so an old value costs at most one unnecessary look. */
	if (!plugin.map.nr_objects || !&guest_base || (looked && !address))
		return;
	pthread_mutex_lock(&lock);
	if (!looked || address)
		look_at_mappings(looked ? address : 0);
	looked = true;
	pthread_mutex_unlock(&lock);
}

void trace_check_loads(void)
{
	struct fault fault;

	if (!looked || found)
		return;
	/* The map may have no name that a user knows. */
	if (unread)
		fault_say(&fault,
			  "%s was loaded and cannot be read: %s; no other file was an object of the map of %s, so nothing of it was recorded",
			  unread, strerror(unread_error), plugin.map.objects[0].name);
	else
		fault_say(&fault,
			  "no object of the map of %s was loaded: nothing of it was recorded",
			  plugin.map.objects[0].name);
	fault_print("fhook-trace", &fault);
}
