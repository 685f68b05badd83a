/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ELF file in memory, of which nothing is believed
 *
 * 64 bits, little-endian, x86_64 or aarch64. Whatever a file says of itself is held
 * against its size before it is used.
 */
#ifndef FHOOK_ELF_IMAGE_H
#define FHOOK_ELF_IMAGE_H

#include <elf.h>
#include "base.h"

/**
 * struct elf_symbol - a function that the file has a name for
 * @address: where it begins
 * @size: in bytes, 0 if the file does not say
 * @name: in the image
 * @type: STT_FUNC or STT_GNU_IFUNC
 * @global: others can see it
 */
struct elf_symbol {
	u64 address;
	u64 size;
	const char *name;
	u8 type;
	bool global;
};

/**
 * struct elf_image - a file
 * @path: its name
 * @data: its bytes
 * @size: how many
 * @header: at their beginning
 * @segments: header->e_phnum of them
 * @sections: nr_sections of them
 * @symbols: the functions that are defined here, by address
 * @by_name: indexes of symbols, by name
 * @loads: the segments of memory, by address; no two overlap
 * @by_address: sections that are in memory and have bytes in the file, by address; no two
 *	overlap
 * @stripped: there is no .symtab, the symbols are those for the dynamic linker
 */
struct elf_image {
	const char *path;
	u8 *data;
	size_t size;
	Elf64_Ehdr *header;
	Elf64_Phdr *segments;
	Elf64_Shdr *sections;
	size_t nr_sections;
	struct elf_symbol *symbols;
	size_t nr_symbols, room_symbols;
	size_t *by_name;
	const Elf64_Phdr **loads;
	const Elf64_Shdr **by_address;
	size_t nr_loads, nr_by_address;
	bool stripped;
};

/* Returns 0, or -1 and a sentence: then there is nothing to close. */
int elf_open(struct elf_image *image, const char *path, struct fault *fault);
void elf_close(struct elf_image *image);

/* The functions of an image are those of its debug file, which stays open for their names. */
void elf_take_symbols(struct elf_image *image, struct elf_image *debug);

const char *elf_section_name(const struct elf_image *image, const Elf64_Shdr *section);
Elf64_Shdr *elf_section(const struct elf_image *image, const char *name);

/* The bytes of a section, or NULL if it has none in the file. */
void *elf_section_data(const struct elf_image *image, const Elf64_Shdr *section);

/* A string of a section of strings, or NULL. */
const char *elf_string(const struct elf_image *image, const Elf64_Shdr *strings, u64 offset);

/* SIZE bytes that will be at an address, or NULL if the file does not have them all. */
void *elf_at(const struct elf_image *image, u64 address, size_t size);

/* The segment that an address is in, or NULL. */
const Elf64_Phdr *elf_segment_of(const struct elf_image *image, u64 address);

/* The section with bytes in the file that an address is in, or NULL. */
const Elf64_Shdr *elf_section_of(const struct elf_image *image, u64 address);

/**
 * elf_named - functions by name
 * @image: where
 * @name: the beginning of the name
 * @length: its length
 * @whole: it is all of the name; otherwise more may follow
 * @first: receives the place of the first one in by_name
 *
 * Returns how many there are.
 */
size_t elf_named(const struct elf_image *image, const char *name, size_t length, bool whole,
		 size_t *first);

/* The function that an address is in, or NULL. */
const struct elf_symbol *elf_symbol_of(const struct elf_image *image, u64 address);

/* Of those that linkers make, the longest has 32 bytes. */
#define BUILD_ID_MAX	64

/* The bytes of the build id, and how many; NULL if there is none. */
u8 *elf_build_id(const struct elf_image *image, size_t *size);
/* The same in notes, of which there are LEFT bytes. */
u8 *elf_find_build_id(u8 *notes, size_t left, size_t *size);

#define BUILD_ID_TEXT	129

/* Hex digits, or "-" when there is none, or one longer than any. */
void build_id_text(const struct elf_image *image, char *text);

/* The same of its bytes; ID is NULL when there is none. */
void build_id_of(const u8 *id, size_t size, char *text);

/* The same of notes in a file of their own, as sysfs has them of what is loaded. */
void build_id_of_notes(const char *path, char *text);

#endif /* FHOOK_ELF_IMAGE_H */
