/* SPDX-License-Identifier: GPL-2.0 */
/* The build id of a file, as a map has it. */
#ifndef FHOOK_BUILD_ID_H
#define FHOOK_BUILD_ID_H

#include "elf_image.h"

#define BUILD_ID_TEXT	129

/* Hex digits, or "-" when there is none, or one longer than any. */
void build_id_text(const struct elf_image *image, char *text);

/* The same of its bytes; ID is NULL when there is none. */
void build_id_of(const u8 *id, size_t size, char *text);

/* The same of notes in a file of their own, as sysfs has them of what is loaded. */
void build_id_of_notes(const char *path, char *text);

#endif /* FHOOK_BUILD_ID_H */
