// SPDX-License-Identifier: GPL-2.0
/*
 * What all files of the host tools share: how a failure is said, arrays
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base.h"

int fault_say(struct fault *fault, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return -1;
}

void fault_print(const char *program, const struct fault *fault)
{
	const size_t length = strlen(fault->text);
	const bool ends = length && fault->text[length - 1] == '.';

	fprintf(stderr, "%s: %s%s\n", program, fault->text, ends ? "" : ".");
}

int grow(void *array, size_t *allocated, size_t used, size_t size)
{
	size_t wanted;
	void *old, *new;

	if (used < *allocated)
		return 0;
	wanted = *allocated ? *allocated * 2 : 64;
	memcpy(&old, array, sizeof(old));
	new = reallocarray(old, wanted, size);
	if (!new)
		return -1;
	memcpy(array, &new, sizeof(new));
	*allocated = wanted;
	return 0;
}
