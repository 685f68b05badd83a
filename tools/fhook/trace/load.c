// SPDX-License-Identifier: GPL-2.0
/*
 * The locations at which QEMU's user mode has loaded the objects of a map
 *
 * The guest's files are mapped in QEMU's own process: its list of mappings includes
 * them. An object is identified by its build id or, without one, by the name of its
 * file. The list is read before the first instruction runs, and after new mappings:
 * an unloaded object may be loaded again, at the same location or another one.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/elf_image.h"
#include "plugin.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool found, looked;

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

/* The beginning of a file was mapped at START. */
static void look_at_file(const char *path, u64 start)
{
	char build_id[BUILD_ID_TEXT];
	struct elf_image image;
	struct fault fault;
	u64 address;
	size_t i;

	if (elf_open(&image, path, &fault))
		return;
	build_id_text(&image, build_id);
	for (i = 0; i < plugin.map.nr_objects && !linked_at(&image, &address); i++)
		if (is_object(&plugin.map.objects[i], build_id, path)) {
			found = true;
			trace_add_load(i, start - address);
		}
	elf_close(&image);
}

/* Look at all mappings, or at the one that begins at ADDRESS. */
static void look_at_mappings(u64 address)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[4096], path[4096];
	unsigned long start, offset;

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %4095s", &start, &offset, path) == 3 &&
		    *path == '/' && !offset && start >= guest_base &&
		    (!address || start - guest_base == address))
			look_at_file(path, start - guest_base);
	fclose(file);
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
	fault_say(&fault, "no object of the map %s was loaded: nothing of it was recorded",
		  plugin.map_path);
	fault_print("fhook-trace", &fault);
}
