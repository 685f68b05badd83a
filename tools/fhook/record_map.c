// SPDX-License-Identifier: GPL-2.0
/* The map of a process that records itself, from its files' symbols. */
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "build_id.h"
#include "record_cyg.h"

/**
 * struct writer - a map that is being written
 * @recording: where it is noted what was loaded where
 * @file: the map
 * @next_id: the number of the next object
 * @first: no object was looked at yet: the first one is the program
 * @has_program: the program is in it
 */
struct writer {
	struct recording *recording;
	FILE *file;
	u32 next_id;
	bool first, has_program;
};

static void write_blocks(const struct writer *writer, const struct elf_image *image)
{
	unsigned int i;

	for (i = 0; i < image->header->e_phnum; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			fprintf(writer->file, "block 0x%lx 0x%lx %u\n", segment->p_vaddr,
				segment->p_memsz, writer->next_id);
	}
}

static bool in_block(const struct elf_image *image, const struct elf_symbol *symbol)
{
	const Elf64_Phdr *segment = elf_segment_of(image, symbol->address);

	return segment && segment->p_flags & PF_X &&
	       symbol->address + 2 <= segment->p_vaddr + segment->p_memsz;
}

static void write_functions(const struct writer *writer, const struct elf_image *image)
{
	const u32 id = writer->next_id;
	u64 next = 0;
	size_t i;

	for (i = 0; i < image->nr_symbols; i++) {
		const struct elf_symbol *symbol = &image->symbols[i];

		if (symbol->address < next || !in_block(image, symbol) ||
		    strpbrk(symbol->name, " \t\n"))
			continue;
		next = symbol->address + 2;
		fprintf(writer->file, "stub 0x%llx 1 entry %u %s 0x%llx\n", symbol->address, id,
			symbol->name, symbol->address);
		fprintf(writer->file, "stub 0x%llx 1 exit %u %s 0x%llx\n", symbol->address + 1, id,
			symbol->name, symbol->address);
	}
}

/*
 * Only what calls the recorder can have been recorded. The C library does not: it has
 * a function of this name itself.
 */
static bool calls_recorder(const struct elf_image *image)
{
	static const char name[] = "__cyg_profile_func_enter";
	const Elf64_Shdr *strings = elf_section(image, ".dynstr");
	const void *data = strings ? elf_section_data(image, strings) : NULL;
	size_t i;

	for (i = 0; i < image->nr_symbols; i++)
		if (!strcmp(image->symbols[i].name, name))
			return false;
	return data && memmem(data, strings->sh_size, name, sizeof(name));
}

static int write_object(struct dl_phdr_info *info, size_t size __unused, void *data)
{
	struct writer *writer = data;
	const char *path = writer->first ? "/proc/self/exe" : info->dlpi_name;
	char build_id[BUILD_ID_TEXT], name[4096];
	const bool program = writer->first;
	struct elf_image image;
	struct fault fault;
	char *real;

	writer->first = false;
	if (!*path || elf_open(&image, path, &fault))
		return 0;
	real = realpath(path, name);
	if (real && !strpbrk(name, " \t\n") && (program || calls_recorder(&image))) {
		writer->has_program |= program;
		build_id_text(&image, build_id);
		fprintf(writer->file, "object %u %s %s\n", writer->next_id, build_id, name);
		write_blocks(writer, &image);
		write_functions(writer, &image);
		if (info->dlpi_addr)
			recording_add_load(writer->recording, writer->next_id, info->dlpi_addr);
		writer->next_id++;
	}
	elf_close(&image);
	return 0;
}

/* Returns whether all of it is there. */
static bool write_file(struct writer *writer, const char *path)
{
	writer->file = fopen(path, "w");
	if (!writer->file)
		return false;
	fputs("# calltrace map 1\n", writer->file);
	dl_iterate_phdr(write_object, writer);
	return !(ferror(writer->file) | fclose(writer->file));
}

/* A map that is there stays until there is a better one, and so do the loads with it. */
int record_write_map(struct recording *recording, struct fault *fault)
{
	struct writer writer = { .recording = recording, .first = true };
	char *path = recording_path(recording, "map"), *new_path = NULL;
	const struct recording before = *recording;
	bool done, keep;
	int error;

	if (path && asprintf(&new_path, "%s.new", path) < 0)
		new_path = NULL;
	recording->loads = NULL;
	recording->nr_loads = 0;
	recording->room_loads = 0;
	done = new_path && write_file(&writer, new_path);
	/* A program that has been replaced by another one is not found any more. */
	keep = done && !writer.has_program && !access(path, F_OK);
	done = done && (keep || !rename(new_path, path));
	error = errno;
	if (!done || keep) {
		if (new_path)
			unlink(new_path);
		free(recording->loads);
		recording->loads = before.loads;
		recording->nr_loads = before.nr_loads;
		recording->room_loads = before.room_loads;
	} else {
		free(before.loads);
	}
	free(new_path);
	free(path);
	return done ? 0 : fault_say(fault, "%s: the map cannot be written: %s",
				    recording->directory, strerror(error));
}
