// SPDX-License-Identifier: GPL-2.0
/* The build id of a file, as a map has it. */
#include <stdio.h>
#include <string.h>
#include "build_id.h"

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
