/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: files with code that a test makes, probes and maps by hand.
 *
 * Each page begins with a function that returns its argument and a number; its
 * first instruction is the probe point, and is one of two kinds.  Those of
 * plain pages are equally long, so that a thread may be in one while it becomes
 * another.
 */
#ifndef _UHOOK_TEXT_H
#define _UHOOK_TEXT_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "uhook_test.h"

typedef long function(long arg);

/* From the probe point of a plain page to its last instruction, in bytes. */
#define PLAIN_LAST	4

/*
 * Where text is mapped: free in every program.  On x86_64, the jump of a plain page leads
 * 1 GB down, where the heap of a program that is linked to low addresses must not be: it
 * begins anywhere in the first GB.
 */
#define HERE		((char *)0x200000000UL)

/* The code of a plain page: lea NUMBER(%rdi), %rax; ret */
static inline size_t plain_code(unsigned char *code, unsigned char number)
{
#if defined(__x86_64__)
	const unsigned char insns[] = { 0x48, 0x8d, 0x47, number, 0xc3 };
#elif defined(__aarch64__)
	const unsigned int insns[] = { 0x91000000 | number << 10, 0xd65f03c0 };
#endif

	memcpy(code, insns, sizeof(insns));

	return sizeof(insns);
}

/* That of another: mov %rdi, %rax; add $NUMBER, %rax; ret */
static inline size_t other_code(unsigned char *code, unsigned char number)
{
#if defined(__x86_64__)
	const unsigned char insns[] = { 0x48, 0x89, 0xf8, 0x48, 0x83, 0xc0, number, 0xc3 };
#elif defined(__aarch64__)
	const unsigned int insns[] = { 0xaa0003e1, 0x91000020 | number << 10, 0xd65f03c0 };
#endif

	memcpy(code, insns, sizeof(insns));

	return sizeof(insns);
}

static inline void write_at(int fd, const void *bytes, size_t size, off_t offset)
{
	check(pwrite(fd, bytes, size, offset) == (ssize_t)size, "write: %s", strerror(errno));
}

/* Make a file of two pages: a plain one, then the other kind. */
static inline void make_text(const char *path, unsigned char plain, unsigned char other)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
	long page = getpagesize();
	unsigned char code[16];

	check(fd >= 0 && !ftruncate(fd, 2 * page), "%s: %s", path, strerror(errno));
	write_at(fd, code, plain_code(code, plain), 0);
	write_at(fd, code, other_code(code, other), page);
	close(fd);
}

/* Map a page of a file; at must be free, or may be anything with MAP_FIXED. */
static inline char *map_text(const char *path, int page, char *at, int flags)
{
	int fd = open(path, O_RDONLY);
	char *text;

	check(fd >= 0, "%s: %s", path, strerror(errno));
	text = mmap(at, getpagesize(), PROT_READ | PROT_EXEC, MAP_PRIVATE | flags, fd,
		    (off_t)page * getpagesize());
	check(text != MAP_FAILED, "mmap of %s at %p: %s", path, at, strerror(errno));
	close(fd);

	return text;
}

static inline long call_text(const char *text, long arg)
{
	return ((function *)text)(arg);
}

#endif /* _UHOOK_TEXT_H */
