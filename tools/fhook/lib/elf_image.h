/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ELF file in memory, none of whose contents is trusted
 *
 * 64 bits, little-endian, x86_64 or aarch64. All offsets and sizes in the file are
 * checked against its size before they are used.
 */
#ifndef FHOOK_ELF_IMAGE_H
#define FHOOK_ELF_IMAGE_H

#include <elf.h>
#include "base.h"

/**
 * struct elf_symbol - a named function of a file
 * @address: start address
 * @size: size in bytes, 0 if unknown
 * @name: name of the function, in the image
 * @type: STT_FUNC or STT_GNU_IFUNC
 * @global: the symbol is visible to other files
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
 * @path: path of the file
 * @data: contents of the file
 * @size: size of @data in bytes
 * @header: ELF header, at the start of @data
 * @segments: header->e_phnum program headers
 * @sections: nr_sections section headers
 * @names: index of the section with their names
 * @symbols: functions defined in the file, sorted by address
 * @by_name: indexes of symbols, sorted by name
 * @loads: loadable segments, sorted by address, without overlaps
 * @by_address: sections in memory with bytes in the file, sorted by address, without
 *	overlaps
 * @names_most: limit for the total length of names, see elf_count_name()
 * @stripped: there is no .symtab; the symbols are those of the dynamic linker
 */
struct elf_image {
	const char *path;
	u8 *data;
	size_t size;
	Elf64_Ehdr *header;
	Elf64_Phdr *segments;
	Elf64_Shdr *sections;
	size_t nr_sections, names;
	struct elf_symbol *symbols;
	size_t nr_symbols, room_symbols;
	size_t *by_name;
	const Elf64_Phdr **loads;
	const Elf64_Shdr **by_address;
	size_t nr_loads, nr_by_address;
	u64 names_most;
	bool stripped;
};

/* Returns 0, or -1 and a sentence, in which case nothing has to be closed. */
int elf_open(struct elf_image *image, const char *path, struct fault *fault);

/* The same for a file with the symbols of another one; it has no segments then. */
int elf_open_debug(struct elf_image *image, const char *path, struct fault *fault);

/* The same as elf_open() for a file of at most this size. */
int elf_open_small(struct elf_image *image, const char *path, size_t most, struct fault *fault);
void elf_close(struct elf_image *image);

/* Use the symbols of a debug file, which stays open because it contains their names. */
void elf_take_symbols(struct elf_image *image, struct elf_image *debug);

/*
 * Names that are suffixes of others share their bytes, so the total length of the names
 * may exceed the size of the file, but by more than this factor only in a malicious file.
 */
#define ELF_NAMES_MOST	16

/*
 * Add the length of a name to *NAMES, before something is made of it once more. Fails if the
 * names are then too long together.
 */
int elf_count_name(const struct elf_image *image, u64 *names, const char *name,
		   struct fault *fault);

/* Add functions, whose names must live as long as the image. */
int elf_add_symbols(struct elf_image *image, const struct elf_symbol *symbols, size_t nr,
		    struct fault *fault);

const char *elf_section_name(const struct elf_image *image, const Elf64_Shdr *section);
Elf64_Shdr *elf_section(const struct elf_image *image, const char *name);

/* Does the file get a function from a library, rather than define it? */
bool elf_imports(const struct elf_image *image, const char *name);

/* The bytes of a section, or NULL if it has none in the file. */
void *elf_section_data(const struct elf_image *image, const Elf64_Shdr *section);

/* A string of a section of strings, or NULL. */
const char *elf_string(const struct elf_image *image, const Elf64_Shdr *strings, u64 offset);

/* SIZE bytes at a virtual address, or NULL if the file does not have them all. */
void *elf_at(const struct elf_image *image, u64 address, size_t size);

/* The segment that contains an address, or NULL. */
const Elf64_Phdr *elf_segment_of(const struct elf_image *image, u64 address);

/* The section with bytes in the file that contains an address, or NULL. */
const Elf64_Shdr *elf_section_of(const struct elf_image *image, u64 address);

/**
 * elf_named - look up functions by name
 * @image: the file
 * @name: start of the name
 * @length: length of @name
 * @whole: @name is the complete name; otherwise more may follow
 * @first: receives the index of the first one in by_name
 *
 * @first: receives the index of the first match in by_name
 */
size_t elf_named(const struct elf_image *image, const char *name, size_t length, bool whole,
		 size_t *first);

/* The function that contains an address, or NULL. */
const struct elf_symbol *elf_symbol_of(const struct elf_image *image, u64 address);

/**
 * struct elf_note - a note
 * @name: name of its owner
 * @type: type, as its owner defines it
 * @data: the descriptor
 * @size: length of @data
 */
struct elf_note {
	const char *name;
	u32 type;
	u8 *data;
	size_t size;
};

/*
 * Take the first one of LEFT bytes of notes, which are aligned to 4 bytes. False if there is
 * none, or it is damaged.
 */
bool elf_next_note(u8 **notes, size_t *left, struct elf_note *note);

/* The maximum length of a build id; the longest that linkers make has 32 bytes. */
#define BUILD_ID_MAX	64

/* The bytes of the build id, and their number; NULL if there is none. */
u8 *elf_build_id(const struct elf_image *image, size_t *size);
/* The build id in LEFT bytes of notes. */
u8 *elf_find_build_id(u8 *notes, size_t left, size_t *size);

#define BUILD_ID_TEXT	129

/* The build id as hex digits, or "-" if there is none or it is too long. */
void build_id_text(const struct elf_image *image, char *text);

/* The same for the bytes of a build id; ID is NULL if there is none. */
void build_id_of(const u8 *id, size_t size, char *text);

/* The same for a file of notes, which sysfs has for the kernel and its modules. */
void build_id_of_notes(const char *path, char *text);

#endif /* FHOOK_ELF_IMAGE_H */
