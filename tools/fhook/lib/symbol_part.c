// SPDX-License-Identifier: GPL-2.0
/* Symbols of parts of functions; the header describes them. */
#include <string.h>
#include "base.h"
#include "symbol_part.h"

size_t symbol_part_of(const char *symbol)
{
	static const char *const parts[] = { ".cold", ".__part" };
	size_t i, length;
	const char *part;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		length = strlen(parts[i]);
		for (part = symbol; (part = strstr(part, parts[i])); part++) {
			if (!part[length] || part[length] == '.')
				return part - symbol;
		}
	}
	return 0;
}
