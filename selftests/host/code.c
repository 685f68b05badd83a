// SPDX-License-Identifier: GPL-2.0
/*
 * The code of ELF files, and capstone, which reads it
 *
 * A section is split at the starts of functions, so that each byte is decoded once, and
 * data among the code disturbs decoding only up to the next function.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/elf.h>
#include "relocate.h"

struct starts {
	unsigned long *address;
	size_t count;
};

static int by_address(const void *a, const void *b)
{
	const unsigned long left = *(const unsigned long *)a, right = *(const unsigned long *)b;

	return left < right ? -1 : left > right;
}

static void *map_file(const char *path, size_t *size)
{
	const int fd = open(path, O_RDONLY);
	void *map = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size >= sizeof(struct elf64_hdr)) {
		*size = st.st_size;
		map = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static bool is_ours(const struct elf64_hdr *file, size_t size, unsigned int machine)
{
	return !memcmp(file->e_ident, ELFMAG, SELFMAG) &&
	       file->e_ident[EI_CLASS] == ELFCLASS64 && file->e_machine == machine &&
	       file->e_shoff + file->e_shnum * sizeof(struct elf64_shdr) <= size;
}

static struct starts find_starts(const void *file, const struct elf64_shdr *section,
				 size_t sections)
{
	struct starts starts = {};
	size_t i, j;

	for (i = 0; i < sections; i++) {
		const struct elf64_sym *symbol = file + section[i].sh_offset;
		const size_t n = section[i].sh_size / sizeof(*symbol);

		if (section[i].sh_type != SHT_SYMTAB && section[i].sh_type != SHT_DYNSYM)
			continue;
		starts.address = reallocarray(starts.address, starts.count + n, sizeof(long));
		for (j = 0; j < n; j++) {
			if (symbol[j].st_value && ELF_ST_TYPE(symbol[j].st_info) == STT_FUNC)
				starts.address[starts.count++] = symbol[j].st_value;
		}
	}
	if (starts.count)
		qsort(starts.address, starts.count, sizeof(long), by_address);
	return starts;
}

/* Returns how many pieces, to be written to @piece. */
static size_t cut_section(const void *file, const struct elf64_shdr *section,
			  const struct starts *starts, struct code *piece)
{
	const u8 *bytes = file + section->sh_offset;
	const unsigned long end = section->sh_addr + section->sh_size;
	unsigned long begin = section->sh_addr;
	size_t i, count = 0;

	for (i = 0; i <= starts->count; i++) {
		const unsigned long next = i < starts->count ? starts->address[i] : end;

		if (next <= begin || next > end)
			continue;
		piece[count++] = (struct code) {
			.bytes = bytes + (begin - section->sh_addr),
			.size = next - begin,
			.readable = end - begin,
			.address = begin,
		};
		begin = next;
	}
	return count;
}

struct code *read_code(const char *path, unsigned int machine, size_t *count)
{
	const struct elf64_shdr *section;
	const struct elf64_hdr *file;
	struct starts starts;
	struct code *code;
	size_t i, size;

	file = map_file(path, &size);
	if (!file || !is_ours(file, size, machine))
		return NULL;

	section = (const void *)file + file->e_shoff;
	starts = find_starts(file, section, file->e_shnum);
	code = calloc(starts.count + file->e_shnum, sizeof(*code));
	*count = 0;
	for (i = 0; i < file->e_shnum; i++) {
		if (section[i].sh_type == SHT_PROGBITS && section[i].sh_size &&
		    (section[i].sh_flags & SHF_EXECINSTR))
			*count += cut_section(file, section + i, &starts, code + *count);
	}
	free(starts.address);
	return code;
}

csh open_capstone(cs_arch arch, cs_mode mode)
{
	csh capstone;

	if (cs_open(arch, mode, &capstone) || cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON))
		exit(2);
	return capstone;
}
