// SPDX-License-Identifier: GPL-2.0
/* The build id of a file, as a map has it. */
#include <stdio.h>
#include <string.h>
#include "build_id.h"

void build_id_text(const struct elf_image *image, char *text)
{
	size_t size = 0, i;
	const u8 *id = elf_build_id(image, &size);

	snprintf(text, BUILD_ID_TEXT, "-");
	if (!id || size * 2 >= BUILD_ID_TEXT)
		return;
	for (i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
}
