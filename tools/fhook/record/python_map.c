// SPDX-License-Identifier: GPL-2.0
/* The map of a recording in which functions of Python have stubs; the header describes it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/children.h"
#include "lib/command.h"
#include "lib/elf_image.h"
#include "lib/elf_map.h"
#include "lib/map.h"
#include "lib/recording.h"
#include "python_map.h"
#include "python_stubs.h"

static int no_memory(struct fault *fault)
{
	return fault_say(fault, "there is not enough memory to record");
}

/* The path of fhook-python.so, to be freed; or NULL. */
static char *find_library(struct fault *fault)
{
	char *library = own_file("fhook-python.so");

	if (library && !strpbrk(library, ": ") && !access(library, R_OK))
		return library;
	if (library && strpbrk(library, ": "))
		fault_say(fault,
			  "%s: the loader takes no libraries with blanks or colons in their names: install fhook elsewhere",
			  library);
	else if (library)
		fault_say(fault, "%s: %s", library, strerror(errno));
	else
		no_memory(fault);
	free(library);
	return NULL;
}

char *python_preload(struct fault *fault)
{
	const char *others = getenv("LD_PRELOAD");
	char *library = find_library(fault), *all = NULL;

	if (library && asprintf(&all, "LD_PRELOAD=%s%s%s", library, others ? ":" : "",
				others ?: "") < 0) {
		no_memory(fault);
		all = NULL;
	}
	free(library);
	return all;
}

/* Copy the map that was given. Otherwise write that of the program, which need not have stubs. */
static int begin(struct python_map *python, const struct record *record, struct fault *fault)
{
	struct fault no_stubs;
	char buffer[4096];
	size_t size;
	FILE *from;

	if (!record->map) {
		if (elf_map_write((char *const *)&record->program, 1, python->map, &no_stubs))
			fputs("# calltrace map 1\n", python->map);
		return 0;
	}
	from = fopen(record->map, "re");
	if (!from)
		return fault_say(fault, "%s: %s", record->map, strerror(errno));
	while ((size = fread(buffer, 1, sizeof(buffer), from)))
		fwrite(buffer, 1, size, python->map);
	fclose(from);
	return 0;
}

/* A number that no object of the map has. A fault is that of the map that was given. */
static int free_number(const struct python_map *python, const struct record *record, u32 *number,
		       struct fault *fault)
{
	struct map map = { 0 };
	size_t i;

	*number = 0;
	fflush(python->map);
	if (map_read_file(&map, record->map ?: python->path, fault))
		return -1;
	for (i = 0; i < map.nr_objects; i++)
		if (map.objects[i].id >= *number)
			*number = map.objects[i].id + 1;
	map_free(&map);
	return 0;
}

static int add_object(struct python_map *python, const struct record *record, const char *library,
		      struct fault *fault)
{
	struct elf_image image, program;
	char build_id[BUILD_ID_TEXT];
	const Elf64_Shdr *block;
	bool same;
	u32 id;

	if (free_number(python, record, &id, fault) || elf_open(&program, record->program, fault))
		return -1;
	if (elf_open(&image, library, fault)) {
		elf_close(&program);
		return -1;
	}
	same = program.header->e_machine == image.header->e_machine;
	block = elf_section(&image, PYTHON_STUB_SECTION);
	build_id_text(&image, build_id);
	if (block)
		fprintf(python->map, "object %u %s fhook-python.so\nblock 0x%llx 0x%llx %u\n", id,
			build_id, (u64)block->sh_addr, (u64)block->sh_size, id);
	elf_close(&image);
	elf_close(&program);
	if (!block)
		return fault_say(fault, "%s has no section %s: install fhook again", library,
				 PYTHON_STUB_SECTION);
	if (!same)
		return fault_say(fault,
				 "%s is for another processor than fhook: --python needs the same",
				 record->program);
	python->size = ftell(python->map);
	if (asprintf(&python->stubs, PYTHON_STUB_MAP "=%u:%s", id, python->path) < 0) {
		python->stubs = NULL;
		return no_memory(fault);
	}
	return 0;
}

int python_map_make(struct python_map *python, const struct record *record, struct fault *fault)
{
	char *library = find_library(fault);
	int result;

	*python = (struct python_map){ 0 };
	if (!library)
		return -1;
	python->map = recording_unnamed_file(true, &python->path);
	result = python->map ? 0 : no_memory(fault);
	result = result ?: begin(python, record, fault) ?:
		 add_object(python, record, library, fault);
	free(library);
	if (result)
		return -1;
	python->preload = python_preload(fault);
	if (!python->preload)
		return -1;
	/* QEMU takes several variables, with commas between. */
	if (strchr(python->preload, ','))
		return fault_say(fault, "%s: QEMU does not take names with commas",
				 python->preload);
	return fflush(python->map) ? fault_say(fault, "the map cannot be written: %s",
					       strerror(errno)) : 0;
}

/* Append to a map what it lacks, if it is a copy of the beginning. */
static int complete(FILE *map, FILE *all)
{
	int byte, other;

	rewind(all);
	do {
		byte = getc(map);
		other = getc(all);
	} while (byte != EOF && byte == other);
	if (byte != EOF)
		return 0;
	/* Between reading and writing, the position is to be set. */
	fseek(map, 0, SEEK_END);
	for (; other != EOF; other = getc(all))
		putc(other, map);
	return 0;
}

static int complete_directory(const char *directory, FILE *all, struct fault *fault)
{
	FILE *map;
	char *path;
	int result;

	if (asprintf(&path, "%s/map", directory) < 0)
		return no_memory(fault);
	map = fopen(path, "r+e");
	result = map ? complete(map, all) : -1;
	if (map && close_checked(map))
		result = -1;
	if (result)
		fault_say(fault, "%s cannot be completed: %s", path, strerror(errno));
	free(path);
	return result;
}

int python_map_finish(const struct python_map *python, const struct record *record,
		      struct fault *fault)
{
	struct directories directories = { 0 };
	FILE *all = fopen(python->path, "re");
	int result;
	size_t i;

	if (!all)
		return fault_say(fault, "%s: %s", python->path, strerror(errno));
	fseek(all, 0, SEEK_END);
	if (ftell(all) == python->size)
		fprintf(stderr,
			"fhook: %s has called no function of Python that can be recorded: --python is for CPython 3.9 to 3.13.\n",
			record->program);
	result = directories_add(&directories, record->directory, fault) ?:
		 directories_add_children(&directories, record->directory, fault);
	for (i = 0; !result && i < directories.nr; i++)
		result = complete_directory(directories.names[i], all, fault);
	directories_free(&directories);
	fclose(all);
	return result;
}

void python_map_free(struct python_map *python)
{
	if (python->map)
		fclose(python->map);
	free(python->path);
	free(python->preload);
	free(python->stubs);
}
