/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The image of a kernel in a program: what image.c and the part of each architecture share
 */
#ifndef SELFTESTS_HOST_IMAGE_ARCH_H
#define SELFTESTS_HOST_IMAGE_ARCH_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory after the variables of a CPU */
#define IMAGE_PERCPU	0x10000UL

/**
 * struct image_file - an ELF file
 * @name: its path
 * @head: its contents
 * @sections: its section headers
 * @symbols: its symbols
 * @nr_symbols: number of them
 * @names: their names
 */
struct image_file {
	const char *name;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sections;
	const Elf64_Sym *symbols;
	size_t nr_symbols;
	const char *names;
};

/* Of image.c */
extern struct image_file image_kernel;
extern uint64_t image_shift;

bool image_is_kernel(uint64_t addr);
uint64_t image_here(uint64_t addr);
void image_shift_word(void *at);
void *image_map(uint64_t addr, size_t size);
const Elf64_Shdr *image_section(const char *name);

/*
 * Of the architecture: the machine and the type of its kernel's file; what is done when the
 * image has been copied, and for each section of it and of the object; and a relocation of
 * the object, which it may not know.
 */
extern const unsigned int image_machine, image_type;

void image_begin(void);
void image_adapt(uint64_t at, const Elf64_Shdr *section);
bool image_relocate(void *at, unsigned int type, uint64_t value);

#endif /* SELFTESTS_HOST_IMAGE_ARCH_H */
