// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: where the functions of a program or library begin.
 *
 *	uhook_entries FILE		the offset in the file of each that it exports
 *	uhook_entries FILE NAME		of that one
 *	uhook_entries -u FILE		of each whose frames can be unwound, exported or not
 */
#include <fcntl.h>
#include <stdbool.h>
#include <linux/elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "uhook_test.h"

static const unsigned char *file;

static int compare(const void *a, const void *b)
{
	const unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

/* Where an address of the executable segments is in the file, or 0. */
static unsigned long offset_of(unsigned long addr)
{
	const struct elf64_hdr *ehdr = (const void *)file;
	const struct elf64_phdr *phdr = (const void *)(file + ehdr->e_phoff);
	int i;

	for (i = 0; i < ehdr->e_phnum; i++, phdr++) {
		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X) &&
		    addr - phdr->p_vaddr < phdr->p_filesz)
			return addr - phdr->p_vaddr + phdr->p_offset;
	}

	return 0;
}

static bool has_name(const struct elf64_shdr *symbols, const struct elf64_sym *sym,
		     const char *name)
{
	const struct elf64_hdr *ehdr = (const void *)file;
	const struct elf64_shdr *shdr = (const void *)(file + ehdr->e_shoff);

	return !strcmp((const char *)file + shdr[symbols->sh_link].sh_offset + sym->st_name, name);
}

static void say_functions(const struct elf64_shdr *symbols, const char *name)
{
	const struct elf64_sym *sym = (const void *)(file + symbols->sh_offset);
	unsigned long nr = symbols->sh_size / sizeof(*sym), found = 0, i;
	unsigned long *offsets = calloc(nr, sizeof(*offsets));

	check(offsets, "no memory");
	for (i = 0; i < nr; i++, sym++) {
		if (ELF_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_shndx != SHN_UNDEF &&
		    (!name || has_name(symbols, sym, name)))
			offsets[found++] = offset_of(sym->st_value);
	}

	/* A function can have several names. */
	qsort(offsets, found, sizeof(*offsets), compare);
	for (i = 0; i < found; i++) {
		if (offsets[i] && (!i || offsets[i] != offsets[i - 1]))
			printf("0x%lx\n", offsets[i]);
	}
	free(offsets);
}

static const struct elf64_shdr *find_section(const char *name)
{
	const struct elf64_hdr *ehdr = (const void *)file;
	const struct elf64_shdr *shdr = (const void *)(file + ehdr->e_shoff);
	const char *names = (const char *)file + shdr[ehdr->e_shstrndx].sh_offset;
	int i;

	for (i = 0; i < ehdr->e_shnum; i++) {
		if (!strcmp(names + shdr[i].sh_name, name))
			return shdr + i;
	}
	printf("there is no section %s\n", name);
	exit(1);
}

/*
 * Read the functions from the table that unwinders search, which linkers sort. Entries
 * outside .text are stubs of the linker, not functions.
 */
static void say_unwound(void)
{
	const struct elf64_shdr *text = find_section(".text");
	const struct elf64_shdr *shdr = find_section(".eh_frame_hdr");
	const struct {
		unsigned char version, eh_frame, count, table;
		int eh_frame_at;
		unsigned int nr;
		struct {
			int function, frame;
		} entry[];
	} *header = (const void *)(file + shdr->sh_offset);
	unsigned int i;

	check(header->version == 1 && header->count == 0x03 && header->table == 0x3b,
	      "the table of frames has another form");
	for (i = 0; i < header->nr; i++) {
		const unsigned long addr = shdr->sh_addr + header->entry[i].function;

		if (addr - text->sh_addr < text->sh_size)
			printf("0x%lx\n", offset_of(addr));
	}
}

int main(int argc, char **argv)
{
	const bool unwound = argc == 3 && !strcmp(argv[1], "-u");
	const char *path = argv[1 + unwound];
	int fd = argc == 2 || argc == 3 ? open(path, O_RDONLY) : -1, i;
	const struct elf64_hdr *ehdr;
	const struct elf64_shdr *shdr;
	struct stat st;

	check(fd >= 0 && !fstat(fd, &st), "usage: uhook_entries [-u] FILE [NAME]");
	file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	check(file != MAP_FAILED, "%s: %m", path);

	ehdr = (const void *)file;
	check(!memcmp(ehdr->e_ident, ELFMAG, SELFMAG) && ehdr->e_ident[EI_CLASS] == ELFCLASS64,
	      "%s is no 64-bit ELF file", path);
	if (unwound) {
		say_unwound();
		return 0;
	}
	shdr = (const void *)(file + ehdr->e_shoff);
	for (i = 0; i < ehdr->e_shnum; i++, shdr++) {
		if (shdr->sh_type == SHT_DYNSYM)
			say_functions(shdr, argv[2]);
	}

	return 0;
}
