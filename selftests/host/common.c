// SPDX-License-Identifier: GPL-2.0
/* Common code of the host tests: the rules are in the header. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common.h"

#define COMPLAINTS_MAX	40
#define OPTIONS_MAX	8

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

const char *in_hex(const void *bytes, size_t size)
{
	static char texts[2][128];
	static unsigned int which;
	char *text = texts[which++ % 2];
	size_t i;

	text[0] = '\0';
	for (i = 0; i < size && i < sizeof(texts[0]) / 3; i++)
		sprintf(text + 3 * i, " %02x", ((const uint8_t *)bytes)[i]);
	return text;
}

void read_options(int argc, char **argv, const char *letters, ...)
{
	unsigned long seed = 1, *numbers[OPTIONS_MAX] = {};
	char all[2 * OPTIONS_MAX] = "s:";
	const char *letter;
	va_list values;
	int opt;

	va_start(values, letters);
	for (letter = letters; *letter; letter++) {
		if (*letter != ':')
			numbers[letter - letters] = va_arg(values, unsigned long *);
	}
	va_end(values);
	strcat(all, letters);
	while ((opt = getopt(argc, argv, all)) != -1) {
		if (opt == '?')
			exit(2);
		*(opt == 's' ? &seed : numbers[strchr(letters, opt) - letters]) =
			optarg ? strtoul(optarg, NULL, 0) : 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	random_seed(seed);
	printf("seed %lu\n", seed);
}

int verdict(void)
{
	printf("%lu complaints\n", complaints);
	return complaints ? 1 : 0;
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
