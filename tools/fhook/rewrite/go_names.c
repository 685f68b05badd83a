// SPDX-License-Identifier: GPL-2.0
/*
 * fhook-rewrite: names of functions of stripped programs in Go
 *
 * Go's runtime needs the names of functions, so a stripped file has them too, in its pclntab.
 * Go's linker gives it a section; after another linker, it is somewhere in read-only data, and
 * is found by its header.
 *
 * The table has the offsets of functions from an address that its header or, if the header has
 * 0, the moduledata has. That need not be the address of .text, which may begin with code of C.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "rewrite.h"

/* Of Go 1.18 and 1.20. */
#define MAGIC_18	0xfffffff0
#define MAGIC_20	0xfffffff1

/* Go's linker aligns the table, and words, at least to this. */
#define ALIGNMENT	8

/**
 * struct names_header - the start of a pclntab
 * @magic: version of the format
 * @nr_functions: number of functions
 * @text: address that the offsets of functions are added to, or 0
 * @names: offset of the names
 * @functions: offset of the table of functions
 */
struct names_header {
	u32 magic;
	u8 zeros[2], unit, pointer_size;
	u64 nr_functions, nr_files;
	u64 text;
	u64 names;
	u64 units, files, numbers;
	u64 functions;
};

/* An element of the table of functions; the last one only has the end of the code. */
struct names_entry {
	u32 start;
	u32 description;
};

/**
 * struct names_table - a pclntab in the file
 * @header: copy of its header
 * @data: its bytes
 * @size: number of bytes up to the end of its section
 * @address: its address
 */
struct names_table {
	struct names_header header;
	const u8 *data;
	size_t size;
	u64 address;
};

/* Words of a moduledata, since Go 1.16. */
enum { MODULE_HEADER = 0, MODULE_NAMES = 1, MODULE_TEXT = 22 };

static bool is_header(const struct names_header *header)
{
	return (header->magic == MAGIC_18 || header->magic == MAGIC_20) && !header->zeros[0] &&
	       !header->zeros[1] && header->pointer_size == sizeof(u64);
}

static bool is_whole(const struct names_table *table)
{
	const struct names_header *header = &table->header;

	return header->functions < table->size && header->names < table->size &&
	       header->nr_functions <
	       (table->size - header->functions) / sizeof(struct names_entry);
}

static bool is_data(const Elf64_Shdr *section)
{
	return section->sh_type == SHT_PROGBITS && (section->sh_flags & SHF_ALLOC) &&
	       !(section->sh_flags & SHF_EXECINSTR);
}

/* Look for a table at an offset of a section. */
static bool is_table(const struct elf_image *image, const Elf64_Shdr *section, u64 offset,
		     struct names_table *table)
{
	const u8 *data = elf_section_data(image, section);

	if (!data || section->sh_size < offset ||
	    section->sh_size - offset < sizeof(table->header))
		return false;
	table->data = data + offset;
	table->size = section->sh_size - offset;
	table->address = section->sh_addr + offset;
	memcpy(&table->header, table->data, sizeof(table->header));
	return is_header(&table->header);
}

static bool find_table(const struct elf_image *image, struct names_table *table)
{
	const Elf64_Shdr *section = elf_section(image, ".gopclntab") ?:
				    elf_section(image, ".data.rel.ro.gopclntab");
	u64 offset;
	size_t i;

	if (section)
		return is_table(image, section, 0, table);
	for (i = 0; i < image->nr_sections; i++) {
		section = image->sections + i;
		if (!is_data(section) || !elf_section_data(image, section))
			continue;
		for (offset = 0; offset < section->sh_size; offset += ALIGNMENT) {
			if (is_table(image, section, offset, table) && is_whole(table))
				return true;
		}
	}
	return false;
}

/* Is this the moduledata of a table? Its first words point to the header and the names. */
static bool is_module(const struct rewrite *rw, const struct names_table *table, u64 address)
{
	return relocations_word(rw, address) == table->address &&
	       relocations_word(rw, address + MODULE_NAMES * sizeof(u64)) ==
	       table->address + table->header.names;
}

/* The address that the offsets of functions are added to, or 0. */
static u64 text_of(const struct rewrite *rw, const struct names_table *table)
{
	const u64 text = relocations_word(rw, table->address + offsetof(struct names_header, text));
	size_t i;
	u64 at;

	for (i = 0; !text && i < rw->image.nr_sections; i++) {
		const Elf64_Shdr *section = rw->image.sections + i;

		if (!is_data(section) || !elf_section_data(&rw->image, section))
			continue;
		for (at = section->sh_addr; at - section->sh_addr < section->sh_size;
		     at += ALIGNMENT) {
			if (is_module(rw, table, at))
				return relocations_word(rw, at + MODULE_TEXT * sizeof(u64));
		}
	}
	return text;
}

/* The name of a function, or NULL if the table is damaged. */
static const char *name_of(const struct names_table *table, u32 description)
{
	u64 at = table->header.functions + description;
	u32 offset;

	if (at > table->size || table->size - at < 2 * sizeof(offset))
		return NULL;
	memcpy(&offset, table->data + at + sizeof(offset), sizeof(offset));
	at = table->header.names + offset;
	return at < table->size && memchr(table->data + at, '\0', table->size - at) ?
	       (const char *)table->data + at : NULL;
}

/*
 * Read all functions. Returns 0, or -1 if the table is damaged. If all names are the end of the
 * same string, which is long, their total length is quadratic.
 */
static int read_functions(const struct names_table *table, u64 text, size_t longest,
			  struct elf_symbol *symbols)
{
	const u8 *functions = table->data + table->header.functions;
	struct names_entry entry, next;
	size_t i, length = 0;

	for (i = 0; i < table->header.nr_functions; i++) {
		/* Of the element after the last one, only the start is used. */
		memcpy(&entry, functions + i * sizeof(entry), sizeof(entry));
		memcpy(&next.start, functions + (i + 1) * sizeof(entry), sizeof(next.start));
		symbols[i] = (struct elf_symbol){
			.address = text + entry.start, .size = next.start - entry.start,
			.name = name_of(table, entry.description), .type = STT_FUNC,
		};
		if (next.start < entry.start || !symbols[i].name)
			return -1;
		length += strlen(symbols[i].name);
		if (length > longest)
			return -1;
	}
	return 0;
}

static int add_functions(struct rewrite *rw, const struct names_table *table, u64 text,
			 struct fault *fault)
{
	const size_t count = table->header.nr_functions;
	struct elf_symbol *symbols = calloc(count + 1, sizeof(*symbols));
	int ret;

	if (!symbols)
		return fault_say(fault, "There is no memory.");
	if (read_functions(table, text, ELF_NAMES_MOST * rw->image.size, symbols))
		ret = fault_say(fault, "%s is damaged: Go's pclntab in it is.", rw->image.path);
	else
		ret = elf_add_symbols(&rw->image, symbols, count, fault) ?:
		      instrument_note(&rw->run, fault, "The names of functions are those of %s.",
				      "Go's pclntab");
	free(symbols);
	return ret;
}

int go_names(struct rewrite *rw, struct fault *fault)
{
	struct names_table table;
	u64 text;

	if (!find_table(&rw->image, &table))
		return instrument_note(&rw->run, fault,
				       "Go's names of functions are not known: %s is not of Go 1.18 or later.",
				       rw->image.path);
	if (!is_whole(&table))
		return fault_say(fault, "%s is damaged: Go's pclntab in it is.", rw->image.path);
	text = text_of(rw, &table);
	if (!text)
		return fault_say(fault,
				 "%s is stripped, and Go's pclntab does not say where functions begin: %s.",
				 rw->image.path,
				 "build it without -s, or give its debug file with -d");
	return add_functions(rw, &table, text, fault);
}
