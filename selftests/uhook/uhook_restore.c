// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the operations of checkpointing on the mappings of hooks.
 *
 *	uhook_restore offsets	the probe points
 *	uhook_restore N		hit them N times, then between each of the attempts;
 *				prints NAME TIMES, and "mappings NUMBER"
 *
 * None of them may change the mappings, their contents, or any result.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "uhook_test.h"

#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC	0x8000
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED	24
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define MAX_MAPPINGS	64
#define CODE_SAMPLE	64

UHOOK_FUNCTION(restore_one);
UHOOK_FUNCTION(restore_two);

asm(".text\n"
#if defined(__x86_64__)
	"restore_one:\n"
	"	{disp32} lea 1(%rdi), %rax\n"
	"	ret\n"
	"restore_two:\n"
	"	lea 2(%rdi), %rax\n"
	"	ret\n"
#elif defined(__aarch64__)
	"restore_one:\n"
	"	add x0, x0, #1\n"
	"	ret\n"
	"restore_two:\n"
	"	add x0, x0, #2\n"
	"	ret\n"
#endif
	);

static struct mapping {
	unsigned long start, end;
	char perms[5];
	unsigned char code[CODE_SAMPLE];
} mappings[MAX_MAPPINGS];
static unsigned int nr_mappings;
static unsigned long times, called;
static size_t page_size;

static void hit(void)
{
	unsigned long i;

	for (i = 0; i < times; i++) {
		check(restore_one(i) == (long)i + 1, "restore_one(%lu) is wrong", i);
		check(restore_two(i) == (long)i + 2, "restore_two(%lu) is wrong", i);
		called++;
	}
}

static bool is_code(const struct mapping *m)
{
	return m->perms[1] != 'w' && m->perms[0] == 'r' && m->perms[2] == 'x';
}

static unsigned int find_mappings(struct mapping *found)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int nr = 0;
	char line[512];

	check(maps, "maps: %s", strerror(errno));
	while (fgets(line, sizeof(line), maps)) {
		struct mapping m = { };

		if (!strstr(line, "[uhook]") ||
		    sscanf(line, "%lx-%lx %4s", &m.start, &m.end, m.perms) != 3)
			continue;
		check(nr < MAX_MAPPINGS, "there are too many mappings");
		if (is_code(&m))
			memcpy(m.code, (void *)m.start, sizeof(m.code));
		found[nr++] = m;
	}
	fclose(maps);

	return nr;
}

/* The attempts must have changed nothing. */
static void look(const char *what)
{
	static struct mapping now[MAX_MAPPINGS];
	unsigned int i, nr;

	hit();
	nr = find_mappings(now);
	check(nr == nr_mappings, "%s: there are %u mappings, not %u", what, nr, nr_mappings);
	for (i = 0; i < nr; i++)
		check(!memcmp(&now[i], &mappings[i], sizeof(now[i])),
		      "%s: 0x%lx-0x%lx %s was 0x%lx-0x%lx %s, or other code", what, now[i].start,
		      now[i].end, now[i].perms, mappings[i].start, mappings[i].end,
		      mappings[i].perms);
}

/* The heap may end in a mapping or after it: it must not grow there, or unmap anything. */
static void try_heap(const struct mapping *m)
{
	const unsigned long at[] = { m->start, m->start + page_size, m->end };
	const unsigned long before = m->start - page_size, after = m->end + page_size;
	unsigned long end = (unsigned long)sbrk(0);
	size_t i;

	/* It cannot begin after its end, nor grow from there. */
	if (m->start < end)
		check(!prctl(PR_SET_MM, PR_SET_MM_START_BRK, before, 0, 0), "START_BRK: %s",
		      strerror(errno));
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		check(!prctl(PR_SET_MM, PR_SET_MM_BRK, at[i], 0, 0), "BRK: %s", strerror(errno));
		check(syscall(SYS_brk, before) == (long)at[i] || at[i] == m->start,
		      "brk unmaps what is at 0x%lx", m->start);
		hit();
		syscall(SYS_brk, m->start);
		syscall(SYS_brk, after);
		hit();
		check(!prctl(PR_SET_MM, PR_SET_MM_BRK, end, 0, 0), "BRK: %s", strerror(errno));
		look("brk");
	}
}

/* The process says that its text, data, stack or arguments are there. */
static void try_claims(const struct mapping *m)
{
	static const int what[] = {
		PR_SET_MM_START_CODE, PR_SET_MM_END_CODE, PR_SET_MM_START_DATA,
		PR_SET_MM_END_DATA, PR_SET_MM_START_STACK, PR_SET_MM_ARG_START,
		PR_SET_MM_ARG_END, PR_SET_MM_ENV_START, PR_SET_MM_ENV_END,
	};
	static char buffer[0x10000];
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		prctl(PR_SET_MM, what[i], m->start + page_size, 0, 0);
		fd = open("/proc/self/cmdline", O_RDONLY);
		check(fd >= 0, "cmdline: %s", strerror(errno));
		if (read(fd, buffer, sizeof(buffer)) < 0)
			hit();
		close(fd);
		look("PR_SET_MM");
	}
}

static void try_clearing(void)
{
	static const char * const how[] = { "1", "2", "3", "4", "5" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(how); i++) {
		int fd = open("/proc/self/clear_refs", O_WRONLY);

		check(fd >= 0, "clear_refs: %s", strerror(errno));
		/* Not every processor has soft-dirty bits. */
		check(write(fd, how[i], 1) == 1 || i == 3, "clear_refs: %s", strerror(errno));
		close(fd);
		look("clear_refs");
	}
}

static void try_pagemap(const struct mapping *m)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	unsigned long at, there = 0;

	check(fd >= 0, "pagemap: %s", strerror(errno));
	for (at = m->start; at < m->end; at += page_size) {
		uint64_t entry;

		check(pread(fd, &entry, sizeof(entry), at / page_size * sizeof(entry)) ==
		      sizeof(entry), "pagemap of 0x%lx: %s", at, strerror(errno));
		check(!(entry >> 62 & 1), "0x%lx is swapped", at);
		there += entry >> 63;
	}
	close(fd);
	check(there, "nothing is at 0x%lx", m->start);
	look("pagemap");
}

/* The mapped file cannot be opened, nor mapped again or elsewhere. */
static void try_files(const struct mapping *m)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", m->start, m->end);
	fd = open(path, O_RDWR);
	check(fd < 0, "%s can be opened", path);
	fd = open(path, O_RDONLY);
	check(fd < 0, "%s can be opened to read", path);
	look("map_files");
}

static void try_advice(const struct mapping *m)
{
	static const int advice[] = {
		MADV_COLD, MADV_PAGEOUT, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_HUGEPAGE,
		MADV_NOHUGEPAGE, MADV_COLLAPSE, MADV_POPULATE_READ, MADV_POPULATE_WRITE,
		MADV_DONTNEED, MADV_DONTNEED_LOCKED, MADV_FREE, MADV_REMOVE,
		MADV_WIPEONFORK, MADV_DODUMP,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(advice); i++) {
		madvise((void *)m->start, m->end - m->start, advice[i]);
		hit();
		madvise((void *)m->start + page_size, page_size, advice[i]);
		look("madvise");
	}
	mlock((void *)m->start, m->end - m->start);
	look("mlock");
	munlock((void *)m->start, m->end - m->start);
	look("munlock");
}

static void try_policy(const struct mapping *m)
{
	const unsigned long nodes = 1;

	/* Bind and move the pages: MPOL_BIND, MPOL_MF_MOVE. */
	syscall(SYS_mbind, m->start, m->end - m->start, 2, &nodes, 64, 1 << 1);
	look("mbind");
	syscall(SYS_mbind, m->start + page_size, page_size, 2, &nodes, 64, 1 << 1);
	look("mbind of a page");
	syscall(SYS_mbind, m->start, m->end - m->start, 0, NULL, 0, 0);
	look("mbind to none");
}

/* Stores into the data of hooks are watched, and done. */
static void try_watching(const struct mapping *m)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_WP_ASYNC };
	struct uffdio_register reg = {
		.range = { m->start, m->end - m->start },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect wp = {
		.range = reg.range,
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		return;
	if (!ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &reg)) {
		ioctl(fd, UFFDIO_WRITEPROTECT, &wp);
		look("UFFDIO_WRITEPROTECT");
	}
	/* In other modes, tasks that fault could be made to wait forever. */
	reg.mode = UFFDIO_REGISTER_MODE_MISSING;
	check(ioctl(fd, UFFDIO_REGISTER, &reg), "who misses a page of uhook can be made to wait");
	close(fd);
	look("userfaultfd");
}

int main(int argc, char **argv)
{
	unsigned int i;
	int status;
	pid_t pid;

	check(argc == 2, "usage: %s offsets | N", argv[0]);
	page_size = getpagesize();
	if (!strcmp(argv[1], "offsets")) {
		say_offset("one", restore_one);
		say_offset("two", restore_two);
		return 0;
	}

	times = strtoul(argv[1], NULL, 0);
	hit();
	hit();
	nr_mappings = find_mappings(mappings);
	for (i = 0; i < nr_mappings; i++) {
		try_files(&mappings[i]);
		try_pagemap(&mappings[i]);
		try_heap(&mappings[i]);
		try_claims(&mappings[i]);
		try_advice(&mappings[i]);
		try_policy(&mappings[i]);
		try_watching(&mappings[i]);
	}
	try_clearing();
	pid = fork();
	check(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		hit();
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "the child: status 0x%x", status);
	called += times;
	printf("one %lu\ntwo %lu\nmappings %u\n", called, called, nr_mappings);

	return 0;
}
