// SPDX-License-Identifier: GPL-2.0
/*
 * Names that are too long are refused, and the image can be closed after that
 *
 * Usage: elf-symbols FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/elf_image.h"

/* Add functions that all have the same name, as long as the file. Returns 0 if that fails. */
static int add_long_names(struct elf_image *image, struct fault *fault)
{
	struct elf_symbol symbols[ELF_NAMES_MOST + 1];
	char *name = malloc(image->size + 1);
	size_t i;
	int ret;

	if (!name)
		return -1;
	memset(name, 'a', image->size);
	name[image->size] = '\0';
	for (i = 0; i < ARRAY_SIZE(symbols); i++)
		symbols[i] = (struct elf_symbol){ .address = i, .size = 1, .name = name };
	ret = elf_add_symbols(image, symbols, ARRAY_SIZE(symbols), fault) ? 0 : -1;
	elf_close(image);
	free(name);
	return ret;
}

int main(int argc, char **argv)
{
	struct elf_image image;
	struct fault fault;

	if (argc != 2) {
		fprintf(stderr, "Usage: elf-symbols FILE\n");
		return 1;
	}
	if (elf_open(&image, argv[1], &fault)) {
		fprintf(stderr, "%s cannot be opened.\n", argv[1]);
		return 1;
	}
	return add_long_names(&image, &fault) ? 1 : 0;
}
