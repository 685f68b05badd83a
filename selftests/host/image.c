// SPDX-License-Identifier: GPL-2.0
/*
 * Load the image of a kernel into a program, so that its functions can be called
 *
 * The image is at an address of programs below 2 GiB, where it is shifted as a whole: relative
 * addresses in it stay, and absolute ones are changed, as image_x86.c and image_arm64.c find
 * them. What runs is the code as it is in the file: with no-ops in the slots, the first of
 * alternatives, and the initial values of static keys.
 *
 * An object that was built like one of a module is linked to the image, also to symbols that
 * are static in the kernel.
 *
 * One image in a program; no locks.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"
#include "image_arch.h"

#define IMAGE		0x41000000UL
/* Memory after the image, for objects and for trampolines */
#define EXTRA		0x200000UL
#define PAGE		4096UL

struct image_file image_kernel;

static struct image_file object;
/* Addresses of the sections of the object */
static uint64_t *object_sections;
/* The kernel's addresses are from start to end, and lower here by image_shift. */
static uint64_t start, end;
uint64_t image_shift;
static unsigned long room, room_end;

void image_die(const char *name, const char *what)
{
	fprintf(stderr, "native: %s: %s\n", name, what);
	exit(1);
}

static void open_file(struct image_file *file, const char *name, unsigned int type)
{
	const int fd = open(name, O_RDONLY);
	const Elf64_Shdr *s;
	struct stat st;

	file->name = name;
	if (fd < 0 || fstat(fd, &st) || st.st_size < sizeof(*file->head))
		image_die(name, "cannot be read");
	file->head = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file->head == MAP_FAILED || memcmp(file->head->e_ident, ELFMAG, SELFMAG) ||
	    file->head->e_machine != image_machine || file->head->e_type != type)
		image_die(name, "is not the kind of file that it should be");
	file->sections = (const void *)file->head + file->head->e_shoff;
	for (s = file->sections; s < file->sections + file->head->e_shnum; s++) {
		if (s->sh_type != SHT_SYMTAB)
			continue;
		file->symbols = (const void *)file->head + s->sh_offset;
		file->nr_symbols = s->sh_size / sizeof(*file->symbols);
		file->names = (const void *)file->head + file->sections[s->sh_link].sh_offset;
	}
	if (!file->symbols)
		image_die(name, "has no symbols");
}

static const Elf64_Sym *find(const struct image_file *file, const char *name)
{
	const Elf64_Sym *symbol, *found = NULL;

	for (symbol = file->symbols; symbol < file->symbols + file->nr_symbols; symbol++) {
		if (symbol->st_shndx == SHN_UNDEF || strcmp(file->names + symbol->st_name, name))
			continue;
		if (found && found->st_value != symbol->st_value)
			image_die(name, "is the name of several symbols");
		found = symbol;
	}
	return found;
}

bool image_is_kernel(uint64_t addr)
{
	return addr >= start && addr < end;
}

/* Per-CPU variables have offsets in some kernels, which stay as they are. */
uint64_t image_here(uint64_t addr)
{
	return image_is_kernel(addr) ? addr - image_shift : addr;
}

static uint64_t kernel_symbol(const char *name)
{
	const Elf64_Sym *symbol = find(&image_kernel, name);

	if (!symbol)
		image_die(name, "is not in the kernel: it may be configured without this");
	return image_here(symbol->st_value);
}

/* A word that is an address of the kernel */
void image_shift_word(void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	value = image_here(value);
	memcpy(at, &value, sizeof(value));
}

/* Memory at an address, or anywhere */
void *image_map(uint64_t addr, size_t size)
{
	void *at = mmap((void *)addr, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | (addr ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (at == MAP_FAILED)
		image_die("there is no memory where the image has to be", strerror(errno));
	return at;
}

/* Pages that the image reaches, and that reach the image: code has none with data. */
void *image_room(unsigned long size)
{
	unsigned long at = room;

	room += (size + PAGE - 1) & -PAGE;
	if (room > room_end)
		image_die("image_room", "there is not so much memory after the image");
	return (void *)at;
}

/* Let code that was written be executed; on some architectures this takes something. */
void image_sync(void)
{
	__builtin___clear_cache((char *)IMAGE, (char *)room_end);
}

const Elf64_Shdr *image_section(const char *name)
{
	const Elf64_Ehdr *head = image_kernel.head;
	const char *names = (const char *)head + image_kernel.sections[head->e_shstrndx].sh_offset;
	unsigned int i;

	for (i = 0; i < head->e_shnum; i++) {
		if (!strcmp(names + image_kernel.sections[i].sh_name, name))
			return image_kernel.sections + i;
	}
	image_die(name, "is no section of the kernel");
}

static bool is_loaded(const Elf64_Shdr *section)
{
	return section->sh_flags & SHF_ALLOC && image_is_kernel(section->sh_addr);
}

/* The addresses of the kernel are negative; others are offsets of variables of a CPU. */
static void find_limits(void)
{
	const Elf64_Shdr *s = image_kernel.sections;
	unsigned int left;

	start = UINT64_MAX;
	for (left = image_kernel.head->e_shnum; left--; s++) {
		if (!(s->sh_flags & SHF_ALLOC) || (int64_t)s->sh_addr >= 0)
			continue;
		start = s->sh_addr < start ? s->sh_addr : start;
		end = s->sh_addr + s->sh_size > end ? s->sh_addr + s->sh_size : end;
	}
	if (start > end)
		image_die(image_kernel.name, "has no code");
	image_shift = start - IMAGE;
	end = (end + PAGE - 1) & -PAGE;
}

/* Load the kernel; afterwards, image_symbol() has its functions. */
void image_load(const char *vmlinux)
{
	const Elf64_Shdr *s;
	unsigned int left;

	open_file(&image_kernel, vmlinux, image_type);
	find_limits();
	image_map(IMAGE, end - start + EXTRA);
	room = IMAGE + (end - start);
	room_end = room + EXTRA;
	s = image_kernel.sections;
	for (left = image_kernel.head->e_shnum; left--; s++) {
		if (is_loaded(s) && s->sh_type != SHT_NOBITS)
			memcpy((void *)image_here(s->sh_addr),
			       (const void *)image_kernel.head + s->sh_offset, s->sh_size);
	}
	image_begin();
	s = image_kernel.sections;
	for (left = image_kernel.head->e_shnum; left--; s++) {
		if (is_loaded(s) && s->sh_type != SHT_NOBITS)
			image_adapt(image_here(s->sh_addr), s);
	}
}

/*
 * The object.
 */
static uint64_t symbol_of_object(const Elf64_Sym *symbol)
{
	if (symbol->st_shndx == SHN_UNDEF)
		return kernel_symbol(object.names + symbol->st_name);
	return symbol->st_value +
	       (symbol->st_shndx < SHN_LORESERVE ? object_sections[symbol->st_shndx] : 0);
}

static void relocate(uint64_t section, const Elf64_Rela *rela)
{
	uint64_t value = symbol_of_object(object.symbols + ELF64_R_SYM(rela->r_info)) +
			 rela->r_addend;

	if (!image_relocate((void *)(section + rela->r_offset), ELF64_R_TYPE(rela->r_info), value))
		image_die(object.name, "has a relocation of an unknown kind, or out of reach");
}

/* Link an object to the image; afterwards, image_symbol() has its functions, too. */
void image_link(const char *path)
{
	const Elf64_Shdr *s;
	unsigned int i;
	size_t n;

	open_file(&object, path, ET_REL);
	object_sections = calloc(object.head->e_shnum, sizeof(*object_sections));
	if (!object_sections)
		image_die(path, "there is no memory");
	for (i = 0; i < object.head->e_shnum; i++) {
		s = object.sections + i;
		if (!(s->sh_flags & SHF_ALLOC))
			continue;
		object_sections[i] = (uint64_t)image_room(s->sh_size);
		if (s->sh_type != SHT_NOBITS)
			memcpy((void *)object_sections[i],
			       (const void *)object.head + s->sh_offset, s->sh_size);
	}
	for (s = object.sections; s < object.sections + object.head->e_shnum; s++) {
		const Elf64_Rela *rela = (const void *)object.head + s->sh_offset;

		if (s->sh_type != SHT_RELA || !object_sections[s->sh_info])
			continue;
		for (n = s->sh_size / sizeof(*rela); n--; rela++)
			relocate(object_sections[s->sh_info], rela);
	}
	for (i = 0; i < object.head->e_shnum; i++) {
		if (object_sections[i])
			image_adapt(object_sections[i], object.sections + i);
	}
}

/* The address of a symbol of the object or else of the kernel */
void *image_symbol(const char *name)
{
	const Elf64_Sym *symbol = object.symbols ? find(&object, name) : NULL;

	return (void *)(symbol ? symbol_of_object(symbol) : kernel_symbol(name));
}
