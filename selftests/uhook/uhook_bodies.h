/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: is a program in the code that counts?
 *
 * Handlers in the program are ordinary code, where signals and tracers may find the
 * program.  But they never find it at the copy of an instruction, nor after the copy.
 */
#ifndef _UHOOK_BODIES_H
#define _UHOOK_BODIES_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "uhook_test.h"

#define BODY_SIZE	128
#if defined(__x86_64__)
#define HANDLER_SIZE	42
#elif defined(__aarch64__)
#define HANDLER_SIZE	52
#endif

/* Read a number, as a signal handler may. */
static inline unsigned long read_hex(const char **p)
{
	unsigned long value = 0;

	for (;; (*p)++) {
		if (**p >= '0' && **p <= '9')
			value = value * 16 + **p - '0';
		else if (**p >= 'a' && **p <= 'f')
			value = value * 16 + **p - 'a' + 10;
		else
			return value;
	}
}

/*
 * Is the address in the handler of a body, or in a hop, of a process that has this
 * file of mappings?  Counters follow the bodies.
 */
static inline bool in_handler(const char *maps, unsigned long ip)
{
	/* It stays where it was found: handlers that take long would be all that runs. */
	static unsigned long known_start, known_end;
	unsigned long start, end, in_start = 0, in_end = 0;
	size_t size = 0, max = 1 << 18;
	bool body = false;
	const char *p;
	ssize_t len;
	char *text;
	int fd;

	if (ip - known_start < known_end - known_start)
		return (ip - known_start) % BODY_SIZE < HANDLER_SIZE;

	/* A handler's stack is small, and it may have interrupted malloc(). */
	text = mmap(NULL, max, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = open(maps, O_RDONLY);
	check(text != MAP_FAILED && fd >= 0, "%s cannot be read", maps);
	while ((len = read(fd, text + size, max - 1 - size)) > 0)
		size += len;
	close(fd);
	text[size] = '\0';

	for (p = text; *p; ) {
		const char *line = strchr(p, '\n');
		bool ours = line && line - p > 7 && !memcmp(line - 7, "[uhook]", 7);

		start = read_hex(&p);
		p++;
		end = read_hex(&p);
		if (ours && p[1] == 'r' && p[3] == 'x' && ip >= start && ip < end) {
			in_start = start;
			in_end = end;
		}
		if (ours && p[2] == 'w' && start == in_end)
			body = true;
		if (!line)
			break;
		p = line + 1;
	}
	munmap(text, max);
	if (body) {
		known_start = in_start;
		known_end = in_end;
	}

	return in_end && (!body || (ip - in_start) % BODY_SIZE < HANDLER_SIZE);
}

#endif /* _UHOOK_BODIES_H */
