// SPDX-License-Identifier: GPL-2.0
/*
 * The map of an instrumented file: from its sections to text
 *
 * A record may have no entry, if the compiler has inlined the function everywhere, or
 * made it from a template. Then the code to which the stub's jump leads identifies the
 * function.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "elf_image.h"
#include "elf_map.h"
#define FHOOK_STUB_TEXT_ONLY
#include "fhook_calltrace_stub.h"

static const char *const kinds[] = {
	[FHOOK_STUB_ENTRY] = "entry",
	[FHOOK_STUB_EXIT] = "exit",
	[FHOOK_STUB_TAIL] = "tail",
	[FHOOK_STUB_LAND] = "land",
	[FHOOK_STUB_LEAF] = "leaf",
	[FHOOK_STUB_SWITCH] = "switch",
};

/**
 * struct sections - the sections of a file with stubs
 * @block: block of stubs
 * @records: records sorted by the addresses of the stubs
 * @nr_records: number of records
 * @names: strings
 */
struct sections {
	const Elf64_Shdr *block;
	struct elf_record *records;
	size_t nr_records;
	const Elf64_Shdr *names;
};

static int compare_records(const void *a, const void *b)
{
	const struct elf_record *x = a, *y = b;

	return x->stub < y->stub ? -1 : x->stub > y->stub;
}

static int find_sections(const struct elf_image *image, struct sections *found,
			 struct fault *fault)
{
	const Elf64_Shdr *map = elf_section(image, ELF_MAP_SECTION);

	found->block = elf_section(image, ELF_STUB_SECTION);
	found->names = elf_section(image, ELF_NAME_SECTION);
	if (!found->block)
		return fault_say(fault, "%s has no stubs: it has not been instrumented, or %s.",
				 image->path, "its linker has merged section " ELF_STUB_SECTION);
	if (!map || !found->names)
		return fault_say(fault, "%s has stubs, and section %s has been stripped off.",
				 image->path, ELF_MAP_SECTION);
	if (!elf_section_data(image, map) || map->sh_size % sizeof(*found->records))
		return fault_say(fault, "%s: section %s is damaged.", image->path, ELF_MAP_SECTION);
	found->nr_records = map->sh_size / sizeof(*found->records);
	found->records = malloc(map->sh_size + 1);
	if (!found->records)
		return fault_say(fault, "There is no memory.");
	memcpy(found->records, elf_section_data(image, map), map->sh_size);
	if (found->nr_records)
		qsort(found->records, found->nr_records, sizeof(*found->records), compare_records);
	return 0;
}

/* The target of a stub's jump; 0 if the stub is not a jump. */
static u64 jump_target(const struct elf_image *image, const struct elf_record *record)
{
	const u8 *bytes = elf_at(image, record->stub, record->size);
	s32 by;

	if (!bytes || record->size < sizeof(by))
		return 0;
	if (image->header->e_machine == EM_X86_64) {
		if (bytes[0] != 0xe9 || record->size != 1 + sizeof(by))
			return 0;
		memcpy(&by, bytes + 1, sizeof(by));
		return record->stub + record->size + by;
	}
	memcpy(&by, bytes, sizeof(by));
	if ((u32)by >> 26 != 5)
		return 0;
	return record->stub + ((s64)(s32)((u32)by << 6) >> 4);
}

/* Find functions by name; returns 0, 1 (and the function), or 2 for several. */
static int find_named(const struct elf_image *image, const char *name, size_t length,
		      const struct elf_symbol **found)
{
	size_t first, count = elf_named(image, name, length, true, &first);

	*found = count ? image->symbols + image->by_name[first] : NULL;
	/* The matches are sorted by address. */
	if (count > 1 &&
	    image->symbols[image->by_name[first + count - 1]].address != (*found)->address)
		return 2;
	return count ? 1 : 0;
}

/*
 * Compilers split functions, and call the parts NAME.cold and the like. If several functions
 * have this name, it is unknown to which of them the part belongs: then it is a function of
 * its own.
 */
static u64 whole_of(const struct elf_image *image, const struct elf_symbol *part)
{
	const char *dot = strchr(part->name + 1, '.');
	const struct elf_symbol *whole;

	if (!dot || find_named(image, part->name, dot - part->name, &whole) != 1)
		return part->address;
	return whole->address;
}

/* Check the number of words: a tail has two or three, other stubs have one. */
static bool is_name(const char *name, bool is_tail)
{
	size_t length = strcspn(name, " ");
	unsigned int words = 1;

	if (strpbrk(name, "\n\r\t"))
		return false;
	for (; length && name[length]; words++) {
		name += length + 1;
		length = strcspn(name, " ");
	}
	return length && (is_tail ? words == 2 || words == 3 : words == 1);
}

static int check_record(const struct elf_image *image, const struct sections *sections,
			size_t i, struct fault *fault)
{
	const struct elf_record *record = sections->records + i;
	const u64 start = sections->block->sh_addr;
	const char *name = elf_string(image, sections->names, record->name);

	if (record->kind >= ARRAY_SIZE(kinds) || !name ||
	    !is_name(name, record->kind == FHOOK_STUB_TAIL))
		return fault_say(fault, "%s: record %zu of section %s is damaged.", image->path, i,
				 ELF_MAP_SECTION);
	if (record->stub < start || record->stub - start > sections->block->sh_size ||
	    !record->size || record->size > start + sections->block->sh_size - record->stub)
		return fault_say(fault, "%s: the stub of %s at 0x%llx is outside of %s.",
				 image->path, name, record->stub, ELF_STUB_SECTION);
	if (i && record->stub - record[-1].stub < record[-1].size)
		return fault_say(fault, "%s: the stubs at 0x%llx overlap.", image->path,
				 record->stub);
	return 0;
}

static int find_entry(const struct elf_image *image, struct elf_record *record,
		      const char *name, struct fault *fault)
{
	const struct elf_symbol *symbol;

	if (record->entry)
		return 0;
	symbol = elf_symbol_of(image, jump_target(image, record));
	if (!symbol)
		return fault_say(fault,
				 "%s is stripped, and only its symbols tell where %s is: print the map before strip.",
				 image->path, name);
	record->entry = whole_of(image, symbol);
	return 0;
}

/* IR has only names of targets: if several functions have a name, the target is unknown. */
static const char *target_of(const struct elf_image *image, const char *target)
{
	const struct elf_symbol *found;

	if (!target[0] || strchr(target + 1, ' ') ||
	    find_named(image, target + 1, strlen(target + 1), &found) < 2)
		return target;
	return " -";
}

/* Maps are printed on terminals, too: a name of the file may have escape sequences. */
static int write_record(const struct elf_image *image, const struct elf_record *record,
			const char *name, size_t id, FILE *to)
{
	const size_t length = strcspn(name, " ");
	char *text;

	if (asprintf(&text, "%.*s 0x%llx%s", (int)length, name, record->entry,
		     target_of(image, name + length)) < 0)
		return -1;
	text_clean(text);
	fprintf(to, "stub 0x%llx %u %s %zu %s\n", record->stub, record->size,
		kinds[record->kind], id, text);
	free(text);
	return 0;
}

static int write_records(const struct elf_image *image, const struct sections *sections,
			 size_t id, FILE *to, struct fault *fault)
{
	struct elf_record *record = sections->records;
	const char *name;
	u64 names = 0;
	size_t i;

	for (i = 0; i < sections->nr_records; i++, record++) {
		/* The code of a discarded COMDAT group has no stub. */
		if (!record->stub)
			continue;
		if (check_record(image, sections, i, fault))
			return -1;
		name = elf_string(image, sections->names, record->name);
		/* Records of one function may share its name. */
		if (elf_count_name(image, &names, name, fault) ||
		    find_entry(image, record, name, fault))
			return -1;
		if (write_record(image, record, name, id, to))
			return fault_say(fault, "There is no memory.");
	}
	return 0;
}

static int write_sections(const struct elf_image *image, const struct sections *sections,
			  size_t id, FILE *to, struct fault *fault)
{
	size_t size, i;
	u8 *build_id;

	build_id = elf_build_id(image, &size);
	if (!build_id)
		return fault_say(fault, "%s has no build id (link it with -Wl,--build-id): %s.",
				 image->path, "its map could be that of any build");
	fprintf(to, "object %zu ", id);
	for (i = 0; i < size; i++)
		fprintf(to, "%02x", build_id[i]);
	putc(' ', to);
	word_escape(image->path, to);
	fprintf(to, "\nblock 0x%llx 0x%llx %zu\n",
		(u64)sections->block->sh_addr, (u64)sections->block->sh_size, id);
	return write_records(image, sections, id, to, fault);
}

static int write_object(const struct elf_image *image, size_t id, FILE *to, struct fault *fault)
{
	struct sections sections = { };
	int ret = find_sections(image, &sections, fault);

	ret = ret ?: write_sections(image, &sections, id, to, fault);
	free(sections.records);
	return ret;
}

/* Of a file with several names, such as symbolic links, one object is written. */
static bool is_written(char *const *real, size_t i)
{
	size_t before;

	for (before = 0; real[i] && before < i; before++)
		if (real[before] && !strcmp(real[before], real[i]))
			return true;
	return false;
}

static int write_objects(char *const *paths, char **real, size_t count, FILE *to,
			 struct fault *fault)
{
	struct elf_image image;
	size_t i, id = 0;
	int ret = 0;

	fprintf(to, "# calltrace map 1\n");
	for (i = 0; i < count && !ret; i++) {
		real[i] = realpath(paths[i], NULL);
		if (is_written(real, i))
			continue;
		ret = elf_open(&image, paths[i], fault);
		if (ret)
			break;
		ret = write_object(&image, id++, to, fault);
		elf_close(&image);
	}
	return ret;
}

int elf_map_write(char *const *paths, size_t count, FILE *to, struct fault *fault)
{
	char *text = NULL, **real = calloc(count + 1, sizeof(*real));
	size_t size, i;
	FILE *file = real ? open_memstream(&text, &size) : NULL;
	int ret;

	if (!file) {
		free(real);
		return fault_say(fault, "There is no memory.");
	}
	ret = write_objects(paths, real, count, file, fault);
	for (i = 0; i < count; i++)
		free(real[i]);
	free(real);
	if (fclose(file) && !ret)
		ret = fault_say(fault, "There is no memory.");
	if (!ret && (fwrite(text, 1, size, to) != size || fflush(to)))
		ret = fault_say(fault, "The map cannot be written: %s.", strerror(errno));
	free(text);
	return ret;
}
