// SPDX-License-Identifier: GPL-2.0
/*
 * An ELF file in memory, of which nothing is believed
 *
 * All of the file is read at once: what is looked for is all over it, and the
 * rewriter changes it before it writes it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "elf_image.h"

/* What is mapped has its place in a page in the file, too. */
#define PAGE_SMALLEST	4096

/* Of those that linkers make, the longest has 32 bytes. */
#define BUILD_ID_MAX	64

static int read_file(struct elf_image *image, struct fault *fault)
{
	FILE *file = fopen(image->path, "rb");
	struct stat stat;
	int ret = -1;

	if (!file)
		return fault_say(fault, "%s cannot be read: %s.", image->path, strerror(errno));
	if (fstat(fileno(file), &stat) || !S_ISREG(stat.st_mode)) {
		fault_say(fault, "%s is not a file.", image->path);
		goto out;
	}
	/* What is not there is zero: a header can be looked at. */
	image->size = stat.st_size;
	image->data = calloc(1, image->size + sizeof(Elf64_Ehdr));
	if (!image->data)
		fault_say(fault, "There is no memory for %s.", image->path);
	else if (fread(image->data, 1, image->size, file) != image->size)
		fault_say(fault, "%s cannot be read: %s.", image->path, strerror(errno));
	else
		ret = 0;
out:
	fclose(file);
	return ret;
}

static bool is_inside(const struct elf_image *image, u64 offset, u64 size)
{
	return offset <= image->size && size <= image->size - offset;
}

static int check_header(struct elf_image *image, struct fault *fault)
{
	const Elf64_Ehdr *header = (void *)image->data;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG))
		return fault_say(fault, "%s is not an ELF file.", image->path);
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    (header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64))
		return fault_say(fault, "%s is for another architecture: x86_64 and aarch64 %s.",
				 image->path, "with 64 bits are known here");
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return fault_say(fault, "%s is neither an executable nor a shared library.",
				 image->path);
	if (!is_inside(image, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr)) ||
	    header->e_phoff % 8 || header->e_shoff % 8 ||
	    (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr)) ||
	    (header->e_shnum && header->e_shentsize != sizeof(Elf64_Shdr)) ||
	    !is_inside(image, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr)))
		return fault_say(fault, "%s is cut off or damaged.", image->path);
	return 0;
}

static int check_tables(struct elf_image *image, struct fault *fault)
{
	size_t i;

	for (i = 0; i < image->header->e_phnum; i++) {
		const Elf64_Phdr *segment = image->segments + i;

		if (!is_inside(image, segment->p_offset, segment->p_filesz) ||
		    segment->p_vaddr + segment->p_memsz < segment->p_vaddr ||
		    (segment->p_type == PT_LOAD &&
		     (segment->p_vaddr - segment->p_offset) % PAGE_SMALLEST))
			return fault_say(fault, "%s is cut off or damaged.", image->path);
	}
	for (i = 0; i < image->nr_sections; i++) {
		const Elf64_Shdr *section = image->sections + i;

		if (section->sh_type != SHT_NOBITS &&
		    !is_inside(image, section->sh_offset, section->sh_size))
			return fault_say(fault, "%s is cut off or damaged.", image->path);
	}
	return 0;
}

const char *elf_string(const struct elf_image *image, const Elf64_Shdr *strings, u64 offset)
{
	const char *text = elf_section_data(image, strings);

	if (!text || offset >= strings->sh_size ||
	    !memchr(text + offset, '\0', strings->sh_size - offset))
		return NULL;
	return text + offset;
}

const char *elf_section_name(const struct elf_image *image, const Elf64_Shdr *section)
{
	size_t names = image->header->e_shstrndx;
	const char *name = NULL;

	if (names < image->nr_sections)
		name = elf_string(image, image->sections + names, section->sh_name);
	return name ?: "";
}

Elf64_Shdr *elf_section(const struct elf_image *image, const char *name)
{
	size_t i;

	for (i = 1; i < image->nr_sections; i++) {
		if (!strcmp(elf_section_name(image, image->sections + i), name))
			return image->sections + i;
	}
	return NULL;
}

void *elf_section_data(const struct elf_image *image, const Elf64_Shdr *section)
{
	if (section->sh_type == SHT_NOBITS)
		return NULL;
	return image->data + section->sh_offset;
}

const Elf64_Phdr *elf_segment_of(const struct elf_image *image, u64 address)
{
	size_t i;

	for (i = 0; i < image->header->e_phnum; i++) {
		const Elf64_Phdr *segment = image->segments + i;

		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    address - segment->p_vaddr < segment->p_memsz)
			return segment;
	}
	return NULL;
}

void *elf_at(const struct elf_image *image, u64 address, size_t size)
{
	const Elf64_Phdr *segment = elf_segment_of(image, address);
	u64 offset;

	if (!segment)
		return NULL;
	offset = address - segment->p_vaddr;
	if (offset > segment->p_filesz || size > segment->p_filesz - offset)
		return NULL;
	return image->data + segment->p_offset + offset;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	/* Of several names of one place, the one that others see comes first. */
	if (x->global != y->global)
		return x->global ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int read_symbols(struct elf_image *image, const char *table, struct fault *fault)
{
	const Elf64_Shdr *section = elf_section(image, table);
	const Elf64_Sym *symbol, *end;

	if (!section || section->sh_link >= image->nr_sections || section->sh_offset % 8)
		return 0;
	symbol = elf_section_data(image, section);
	if (!symbol)
		return 0;
	end = symbol + section->sh_size / sizeof(*symbol);
	for (; symbol < end; symbol++) {
		struct elf_symbol found = {
			.address = symbol->st_value,
			.size = symbol->st_size,
			.name = elf_string(image, image->sections + section->sh_link,
					   symbol->st_name),
			.type = ELF64_ST_TYPE(symbol->st_info),
			.global = ELF64_ST_BIND(symbol->st_info) != STB_LOCAL,
		};

		if ((found.type != STT_FUNC && found.type != STT_GNU_IFUNC) || !found.name ||
		    !found.name[0] || symbol->st_shndx == SHN_UNDEF)
			continue;
		if (grow(&image->symbols, &image->room_symbols, image->nr_symbols, sizeof(found)))
			return fault_say(fault, "There is no memory for %s.", image->path);
		image->symbols[image->nr_symbols++] = found;
	}
	return 0;
}

static int open_image(struct elf_image *image, const char *path, struct fault *fault)
{
	memset(image, 0, sizeof(*image));
	image->path = path;
	if (read_file(image, fault) || check_header(image, fault))
		return -1;
	image->header = (void *)image->data;
	image->segments = (void *)(image->data + image->header->e_phoff);
	image->sections = (void *)(image->data + image->header->e_shoff);
	image->nr_sections = image->header->e_shnum;
	if (check_tables(image, fault))
		return -1;
	image->stripped = !elf_section(image, ".symtab");
	if (read_symbols(image, image->stripped ? ".dynsym" : ".symtab", fault))
		return -1;
	if (image->nr_symbols)
		qsort(image->symbols, image->nr_symbols, sizeof(*image->symbols),
		      compare_symbols);
	return 0;
}

int elf_open(struct elf_image *image, const char *path, struct fault *fault)
{
	int result = open_image(image, path, fault);

	if (result)
		elf_close(image);
	return result;
}

void elf_close(struct elf_image *image)
{
	free(image->symbols);
	free(image->data);
	memset(image, 0, sizeof(*image));
}

const struct elf_symbol *elf_symbol_of(const struct elf_image *image, u64 address)
{
	const struct elf_symbol *symbol;
	size_t low = 0, high = image->nr_symbols, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (image->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Of those that begin at the same place, the first. */
	while (low--) {
		symbol = image->symbols + low;
		if (low && symbol[-1].address == symbol->address)
			continue;
		return address - symbol->address < symbol->size ? symbol : NULL;
	}
	return NULL;
}

u8 *elf_find_build_id(u8 *notes, size_t left, size_t *size)
{
	const Elf64_Nhdr *note;
	size_t name, length;

	while (left >= sizeof(*note)) {
		note = (void *)notes;
		name = (note->n_namesz + 3UL) & ~3UL;
		length = sizeof(*note) + name + ((note->n_descsz + 3UL) & ~3UL);
		if (length > left)
			return NULL;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    !memcmp(notes + sizeof(*note), "GNU", 4) && note->n_descsz &&
		    note->n_descsz <= BUILD_ID_MAX) {
			*size = note->n_descsz;
			return notes + sizeof(*note) + name;
		}
		notes += length;
		left -= length;
	}
	return NULL;
}

u8 *elf_build_id(const struct elf_image *image, size_t *size)
{
	u8 *id = NULL;
	size_t i;

	for (i = 0; i < image->nr_sections && !id; i++) {
		const Elf64_Shdr *section = image->sections + i;

		if (section->sh_type == SHT_NOTE && section->sh_offset % 4 == 0)
			id = elf_find_build_id(elf_section_data(image, section),
					       section->sh_size, size);
	}
	return id;
}
