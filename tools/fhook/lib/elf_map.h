/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The map of an instrumented file
 */
#ifndef FHOOK_ELF_MAP_H
#define FHOOK_ELF_MAP_H

#include <stdio.h>
#include "base.h"

/**
 * struct elf_record - a record of a stub in section .entry_exit_map
 *
 * fhook_calltrace_stub.h describes the members.
 */
struct elf_record {
	u64 stub;
	u64 entry;
	u64 name;
	u32 kind;
	u32 size;
};

#define ELF_STUB_SECTION	".entry_exit_stub"
#define ELF_MAP_SECTION		".entry_exit_map"
#define ELF_NAME_SECTION	".entry_exit_str"

/**
 * elf_map_write - write the map of files as text
 * @paths: the files in the order of the objects; a file that was named before is left out
 * @count: number of files
 * @to: receives the map, only on success
 * @fault: receives a sentence
 */
int elf_map_write(char *const *paths, size_t count, FILE *to, struct fault *fault);

#endif /* FHOOK_ELF_MAP_H */
