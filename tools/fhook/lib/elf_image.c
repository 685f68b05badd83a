// SPDX-License-Identifier: GPL-2.0
/*
 * An ELF file in memory, none of whose contents is trusted
 *
 * The whole file is read at once: the needed parts are distributed over it, and the
 * rewriter changes it before writing it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "elf_image.h"
#include "symbol_part.h"

/* Mapped data have the same offset in a page in the file and in memory. */
#define PAGE_SMALLEST	4096

static int read_file(struct elf_image *image, size_t most, struct fault *fault)
{
	/* Opening a pipe must not wait for a writer. */
	const int fd = open(image->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
	struct stat stat;
	int ret = -1;

	if (!file)
		return fault_say(fault, "%s cannot be read: %s.", image->path, strerror(errno));
	if (fstat(fileno(file), &stat) || !S_ISREG(stat.st_mode)) {
		fault_say(fault, "%s is not a file.", image->path);
		goto out;
	}
	if ((size_t)stat.st_size > most) {
		fault_say(fault, "%s is too large.", image->path);
		goto out;
	}
	/* Missing bytes are zero, so that a header can be read. */
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

/* Numbers of sections that the header has no room for are in the first section. */
static int count_sections(struct elf_image *image, struct fault *fault)
{
	const Elf64_Ehdr *header = image->header;
	const Elf64_Shdr *first = (void *)(image->data + header->e_shoff);

	image->nr_sections = header->e_shnum;
	image->names = header->e_shstrndx;
	if (!header->e_shoff || header->e_shentsize != sizeof(*first) ||
	    !is_inside(image, header->e_shoff, sizeof(*first)))
		return 0;
	if (!header->e_shnum) {
		if (first->sh_size > (image->size - header->e_shoff) / sizeof(*first))
			return fault_say(fault, "%s is cut off or damaged.", image->path);
		image->nr_sections = first->sh_size;
	}
	if (header->e_shstrndx == SHN_XINDEX)
		image->names = first->sh_link;
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

static int compare_offsets(const void *a, const void *b)
{
	const Elf64_Shdr *x = *(const Elf64_Shdr *const *)a, *y = *(const Elf64_Shdr *const *)b;

	return x->sh_offset < y->sh_offset ? -1 : x->sh_offset > y->sh_offset;
}

static int compare_section_addresses(const void *a, const void *b)
{
	const Elf64_Shdr *x = *(const Elf64_Shdr *const *)a, *y = *(const Elf64_Shdr *const *)b;

	return x->sh_addr < y->sh_addr ? -1 : x->sh_addr > y->sh_addr;
}

static int compare_loads(const void *a, const void *b)
{
	const Elf64_Phdr *x = *(const Elf64_Phdr *const *)a, *y = *(const Elf64_Phdr *const *)b;

	return x->p_vaddr < y->p_vaddr ? -1 : x->p_vaddr > y->p_vaddr;
}

static int say_overlap(const struct elf_image *image, const Elf64_Shdr *a, const Elf64_Shdr *b,
		       struct fault *fault)
{
	return fault_say(fault, "%s is damaged: its sections %td and %td overlap.", image->path,
			 a - image->sections, b - image->sections);
}

/*
 * Reading section by section takes time proportional to the size of the file only if no
 * byte is in two sections, neither in the file nor in memory.
 */
static int sort_sections(struct elf_image *image, struct fault *fault)
{
	const Elf64_Shdr **sorted = calloc(image->nr_sections + 1, sizeof(*sorted));
	size_t i, count = 0;

	image->by_address = sorted;
	if (!sorted)
		return fault_say(fault, "There is no memory for %s.", image->path);
	for (i = 1; i < image->nr_sections; i++) {
		const Elf64_Shdr *section = image->sections + i;

		if (section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL &&
		    section->sh_size)
			sorted[count++] = section;
	}
	qsort(sorted, count, sizeof(*sorted), compare_offsets);
	for (i = 1; i < count; i++) {
		if (sorted[i]->sh_offset - sorted[i - 1]->sh_offset < sorted[i - 1]->sh_size)
			return say_overlap(image, sorted[i - 1], sorted[i], fault);
	}
	for (i = 0; i < count; i++) {
		if (sorted[i]->sh_flags & SHF_ALLOC)
			sorted[image->nr_by_address++] = sorted[i];
	}
	count = image->nr_by_address;
	qsort(sorted, count, sizeof(*sorted), compare_section_addresses);
	for (i = 1; i < count; i++) {
		if (sorted[i]->sh_addr - sorted[i - 1]->sh_addr < sorted[i - 1]->sh_size)
			return say_overlap(image, sorted[i - 1], sorted[i], fault);
	}
	if (count && sorted[count - 1]->sh_addr + sorted[count - 1]->sh_size <
	    sorted[count - 1]->sh_addr)
		return fault_say(fault, "%s is cut off or damaged.", image->path);
	return 0;
}

static int sort_loads(struct elf_image *image, struct fault *fault)
{
	const Elf64_Phdr **loads = calloc(image->header->e_phnum + 1, sizeof(*loads));
	size_t i;

	image->loads = loads;
	if (!loads)
		return fault_say(fault, "There is no memory for %s.", image->path);
	for (i = 0; i < image->header->e_phnum; i++) {
		if (image->segments[i].p_type == PT_LOAD && image->segments[i].p_memsz)
			loads[image->nr_loads++] = image->segments + i;
	}
	qsort(loads, image->nr_loads, sizeof(*loads), compare_loads);
	for (i = 1; i < image->nr_loads; i++) {
		if (loads[i]->p_vaddr - loads[i - 1]->p_vaddr < loads[i - 1]->p_memsz)
			return fault_say(fault, "%s is damaged: its segments %td and %td overlap.",
					 image->path, loads[i - 1] - image->segments,
					 loads[i] - image->segments);
	}
	return 0;
}

const char *elf_string(const struct elf_image *image, const Elf64_Shdr *strings, u64 offset)
{
	const char *text = elf_section_data(image, strings);

	/* A table of strings ends with a zero byte. */
	if (!text || offset >= strings->sh_size || text[strings->sh_size - 1])
		return NULL;
	return text + offset;
}

const char *elf_section_name(const struct elf_image *image, const Elf64_Shdr *section)
{
	const char *name = NULL;

	if (image->names < image->nr_sections)
		name = elf_string(image, image->sections + image->names, section->sh_name);
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
	size_t low = first_index(image->nr_loads, i, image->loads[i]->p_vaddr <= address);

	return low && address - image->loads[low - 1]->p_vaddr < image->loads[low - 1]->p_memsz ?
	       image->loads[low - 1] : NULL;
}

const Elf64_Shdr *elf_section_of(const struct elf_image *image, u64 address)
{
	size_t low = first_index(image->nr_by_address, i, image->by_address[i]->sh_addr <= address);

	return low && address - image->by_address[low - 1]->sh_addr <
	       image->by_address[low - 1]->sh_size ? image->by_address[low - 1] : NULL;
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
	/* Among several names of an address, prefer one that is visible to other files. */
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

		if (!found.name || !found.name[0] || symbol->st_shndx == SHN_UNDEF)
			continue;
		/* Parts of clang's -fbasic-block-sections have no type. */
		if (found.type == STT_NOTYPE && found.size && symbol_part_of(found.name))
			found.type = STT_FUNC;
		if (found.type != STT_FUNC && found.type != STT_GNU_IFUNC)
			continue;
		if (grow(&image->symbols, &image->room_symbols, image->nr_symbols, sizeof(found)))
			return fault_say(fault, "There is no memory for %s.", image->path);
		image->symbols[image->nr_symbols++] = found;
	}
	return 0;
}

static int compare_names(const void *a, const void *b, void *data)
{
	const struct elf_symbol *symbols = data;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return strcmp(symbols[x].name, symbols[y].name) ?: x < y ? -1 : x > y;
}

int elf_count_name(const struct elf_image *image, u64 *names, const char *name,
		   struct fault *fault)
{
	*names += strlen(name);
	if (*names <= image->names_most)
		return 0;
	return fault_say(fault, "%s is damaged: its names are longer than %d times the file.",
			 image->path, ELF_NAMES_MOST);
}

static int sort_symbols(struct elf_image *image, struct fault *fault)
{
	u64 names = 0;
	size_t i;

	for (i = 0; i < image->nr_symbols; i++) {
		if (elf_count_name(image, &names, image->symbols[i].name, fault))
			return -1;
	}
	image->by_name = calloc(image->nr_symbols + 1, sizeof(*image->by_name));
	if (!image->by_name)
		return fault_say(fault, "There is no memory for %s.", image->path);
	if (!image->nr_symbols)
		return 0;
	qsort(image->symbols, image->nr_symbols, sizeof(*image->symbols), compare_symbols);
	for (i = 0; i < image->nr_symbols; i++)
		image->by_name[i] = i;
	qsort_r(image->by_name, image->nr_symbols, sizeof(*image->by_name), compare_names,
		image->symbols);
	return 0;
}

static int open_image(struct elf_image *image, const char *path, bool is_debug, size_t most,
		      struct fault *fault)
{
	memset(image, 0, sizeof(*image));
	image->path = path;
	if (read_file(image, most, fault) || check_header(image, fault))
		return -1;
	image->names_most = ELF_NAMES_MOST * image->size;
	image->header = (void *)image->data;
	/* Its segments may be those of the program, whose contents it does not have. */
	if (is_debug)
		image->header->e_phnum = 0;
	image->segments = (void *)(image->data + image->header->e_phoff);
	image->sections = (void *)(image->data + image->header->e_shoff);
	if (count_sections(image, fault) || check_tables(image, fault) ||
	    sort_loads(image, fault) || sort_sections(image, fault))
		return -1;
	image->stripped = !elf_section(image, ".symtab");
	if (read_symbols(image, image->stripped ? ".dynsym" : ".symtab", fault))
		return -1;
	return sort_symbols(image, fault);
}

static int open_or_close(struct elf_image *image, const char *path, bool is_debug, size_t most,
			 struct fault *fault)
{
	const int result = open_image(image, path, is_debug, most, fault);

	if (result)
		elf_close(image);
	return result;
}

int elf_open(struct elf_image *image, const char *path, struct fault *fault)
{
	return open_or_close(image, path, false, SIZE_MAX, fault);
}

int elf_open_debug(struct elf_image *image, const char *path, struct fault *fault)
{
	return open_or_close(image, path, true, SIZE_MAX, fault);
}

int elf_open_small(struct elf_image *image, const char *path, size_t most, struct fault *fault)
{
	return open_or_close(image, path, false, most, fault);
}

void elf_close(struct elf_image *image)
{
	free(image->symbols);
	free(image->by_name);
	free(image->loads);
	free(image->by_address);
	free(image->data);
	memset(image, 0, sizeof(*image));
}

void elf_take_symbols(struct elf_image *image, struct elf_image *debug)
{
	free(image->symbols);
	free(image->by_name);
	image->symbols = debug->symbols;
	image->by_name = debug->by_name;
	image->nr_symbols = debug->nr_symbols;
	image->room_symbols = debug->room_symbols;
	image->names_most += debug->names_most;
	image->stripped = false;
	debug->symbols = NULL;
	debug->by_name = NULL;
	debug->nr_symbols = 0;
	debug->room_symbols = 0;
}

int elf_add_symbols(struct elf_image *image, const struct elf_symbol *symbols, size_t nr,
		    struct fault *fault)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (grow(&image->symbols, &image->room_symbols, image->nr_symbols,
			 sizeof(*symbols)))
			return fault_say(fault, "There is no memory for %s.", image->path);
		image->symbols[image->nr_symbols++] = symbols[i];
	}
	free(image->by_name);
	/* sort_symbols() may fail before it has another one. */
	image->by_name = NULL;
	return sort_symbols(image, fault);
}

/* The index of the first symbol after an address, or at it. */
static size_t symbols_from(const struct elf_image *image, u64 address, bool at)
{
	return first_index(image->nr_symbols, i,
			   image->symbols[i].address < address ||
			   (!at && image->symbols[i].address == address));
}

const struct elf_symbol *elf_symbol_of(const struct elf_image *image, u64 address)
{
	size_t behind = symbols_from(image, address, false);
	const struct elf_symbol *symbol;

	if (!behind)
		return NULL;
	/* Of symbols with the same address, take the first. */
	symbol = image->symbols + symbols_from(image, image->symbols[behind - 1].address, true);
	return address - symbol->address < symbol->size ? symbol : NULL;
}

/* Compare the first LENGTH bytes of a symbol's name with a name. */
static int compare_with(const struct elf_image *image, size_t i, const char *name, size_t length,
			bool whole)
{
	const char *other = image->symbols[image->by_name[i]].name;

	return strncmp(other, name, length) ?: whole && other[length];
}

size_t elf_named(const struct elf_image *image, const char *name, size_t length, bool whole,
		 size_t *first)
{
	*first = first_index(image->nr_symbols, i,
			     compare_with(image, i, name, length, whole) < 0);

	return first_index(image->nr_symbols, i,
			   compare_with(image, i, name, length, whole) <= 0) - *first;
}

bool elf_next_note(u8 **notes, size_t *left, struct elf_note *note)
{
	const Elf64_Nhdr *header = (void *)*notes;
	size_t name, length;

	if (*left < sizeof(*header))
		return false;
	name = (header->n_namesz + 3UL) & ~3UL;
	length = sizeof(*header) + name + ((header->n_descsz + 3UL) & ~3UL);
	if (length > *left)
		return false;
	note->name = (const char *)(header + 1);
	if (!header->n_namesz || note->name[header->n_namesz - 1])
		note->name = "";
	note->type = header->n_type;
	note->data = *notes + sizeof(*header) + name;
	note->size = header->n_descsz;
	*notes += length;
	*left -= length;
	return true;
}

u8 *elf_find_build_id(u8 *notes, size_t left, size_t *size)
{
	struct elf_note note;

	while (elf_next_note(&notes, &left, &note)) {
		if (note.type == NT_GNU_BUILD_ID && !strcmp(note.name, "GNU") && note.size &&
		    note.size <= BUILD_ID_MAX) {
			*size = note.size;
			return note.data;
		}
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

void build_id_of(const u8 *id, size_t size, char *text)
{
	size_t i;

	snprintf(text, BUILD_ID_TEXT, "-");
	if (!id || size * 2 >= BUILD_ID_TEXT)
		return;
	for (i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
}

void build_id_text(const struct elf_image *image, char *text)
{
	size_t size = 0;
	const u8 *id = elf_build_id(image, &size);

	build_id_of(id, size, text);
}

void build_id_of_notes(const char *path, char *text)
{
	FILE *file = fopen(path, "r");
	size_t size = 0, length = 0;
	u8 notes[4096], *id;

	if (file) {
		length = fread(notes, 1, sizeof(notes), file);
		fclose(file);
	}
	id = elf_find_build_id(notes, length, &size);
	build_id_of(id, size, text);
}

bool elf_imports(const struct elf_image *image, const char *name)
{
	const Elf64_Shdr *strings = elf_section(image, ".dynstr");
	const void *data = strings ? elf_section_data(image, strings) : NULL;
	size_t i;

	for (i = 0; i < image->nr_symbols; i++)
		if (!strcmp(image->symbols[i].name, name))
			return false;
	return data && memmem(data, strings->sh_size, name, strlen(name) + 1);
}
