// SPDX-License-Identifier: GPL-2.0
/*
 * Common code of tests that execute generated code: messages, and memory at given
 * addresses.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "common.h"

#define COMPLAINTS_MAX	20

unsigned long complaints;

void complain(const char *format, ...)
{
	va_list values;

	if (__atomic_fetch_add(&complaints, 1, __ATOMIC_RELAXED) >= COMPLAINTS_MAX)
		return;
	va_start(values, format);
	printf("  FAIL: ");
	vprintf(format, values);
	printf("\n");
	va_end(values);
}

void *map_at(unsigned long address, size_t size, int protection)
{
	void *p = mmap((void *)address, size, protection,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != (void *)address) {
		perror("mmap");
		exit(2);
	}
	return p;
}
