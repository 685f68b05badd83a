// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: text whose pages the kernel merges, swaps out, migrates and collapses.
 *
 *	uhook_memory make FILE		make a file of 2 MiB with functions in some of
 *					its pages; prints NAME OFFSET of each
 *	uhook_memory run FILE N		call each N times; prints NAME TIMES
 *	uhook_memory steps FILE		for each line that is read one of the commands
 *					below, "done"; at the end NAME TIMES of each
 *	uhook_memory twins FILE		the same, as does a second process
 *
 * Each page has other bytes around its functions, so that no two are the same.
 */
#define _GNU_SOURCE
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "uhook_text.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define SIZE		0x200000UL
#define LONG_AT		0x100
#define PLAIN_NUMBER	0x11
#define LONG_NUMBER	0x22

/* Aligned for a huge page, with nothing near; and where the file is only read. */
#define TEXT		((char *)0x10000000000UL)
#define VIEW		((char *)0x18000000000UL)

#define PM_FILE		0x2000000000000000UL
#define PM_SWAPPED	0x4000000000000000UL
#define PM_PRESENT	0x8000000000000000UL

static struct site {
	const char *name;
	unsigned long offset;
	long number;
	atomic_ulong called;
} sites[] = {
	{ "plain0", 0, PLAIN_NUMBER, 0 },
	{ "long0", LONG_AT, LONG_NUMBER, 0 },
	{ "plain1", 0x1000, PLAIN_NUMBER, 0 },
	{ "plain200", 200 * 0x1000, PLAIN_NUMBER, 0 },
	{ "long200", 200 * 0x1000 + LONG_AT, LONG_NUMBER, 0 },
	{ "plain511", 511 * 0x1000, PLAIN_NUMBER, 0 },
};

static const unsigned long pages[] = { 0, 0x1000, 200 * 0x1000, 511 * 0x1000 };

#define THREADS_MAX	8

static const char *path;
static pthread_t threads[THREADS_MAX];
static unsigned int nr_threads;
static atomic_bool stop;
static int to_twin = -1, from_twin;

/* An instruction that is as long as a jump or longer: lea NUMBER(%rdi), %rax; ret */
static size_t long_code(unsigned char *code)
{
#if defined(__x86_64__)
	const unsigned char insns[] = { 0x48, 0x8d, 0x87, LONG_NUMBER, 0, 0, 0, 0xc3 };

	memcpy(code, insns, sizeof(insns));

	return sizeof(insns);
#else
	return plain_code(code, LONG_NUMBER);
#endif
}

static void make(void)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
	unsigned char code[16];
	uint64_t words[0x200];
	unsigned long at;
	size_t i;

	check(fd >= 0, "%s: %s", path, strerror(errno));
	for (at = 0; at < SIZE; at += sizeof(words)) {
		for (i = 0; i < ARRAY_SIZE(words); i++)
			words[i] = (at + i) * 0x9e3779b97f4a7c15UL;
		write_at(fd, words, sizeof(words), at);
	}
	for (i = 0; i < ARRAY_SIZE(sites); i++) {
		write_at(fd, code, sites[i].number == LONG_NUMBER ? long_code(code) :
			 plain_code(code, PLAIN_NUMBER), sites[i].offset);
		printf("%s 0x%lx\n", sites[i].name, sites[i].offset);
	}
	close(fd);
}

static char *map(char *at, int prot, int flags)
{
	int fd = open(path, O_RDONLY);
	char *text;

	check(fd >= 0, "%s: %s", path, strerror(errno));
	text = mmap(at, SIZE, prot, flags | MAP_FIXED_NOREPLACE, fd, 0);
	check(text == at, "mmap of %s: %s", path, strerror(errno));
	close(fd);

	return text;
}

static void run(unsigned long times)
{
	unsigned long i;
	size_t s;

	for (i = 0; i < times; i++) {
		for (s = 0; s < ARRAY_SIZE(sites); s++) {
			long ret = call_text(TEXT + sites[s].offset, i);

			check(ret == (long)i + sites[s].number, "%s has returned 0x%lx",
			      sites[s].name, ret);
			sites[s].called++;
		}
	}
}

static void *run_thread(void *unused)
{
	(void)unused;
	while (!stop)
		run(1);

	return NULL;
}

static void start_threads(unsigned int nr)
{
	check(nr <= THREADS_MAX, "%u threads are too many", nr);
	stop = false;
	while (nr_threads < nr)
		check(!pthread_create(&threads[nr_threads++], NULL, run_thread, NULL),
		      "pthread_create");
}

static void join_threads(void)
{
	stop = true;
	while (nr_threads)
		pthread_join(threads[--nr_threads], NULL);
}

static void say_counts(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sites); i++)
		printf("%s %lu\n", sites[i].name, sites[i].called);
}

static uint64_t pagemap_of(const char *addr)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry;

	check(fd >= 0, "pagemap: %s", strerror(errno));
	check(pread(fd, &entry, sizeof(entry), (unsigned long)addr / 0x1000 * sizeof(entry)) ==
	      sizeof(entry), "pagemap: %s", strerror(errno));
	close(fd);

	return entry;
}

/* How many pages with functions are the process's own, with these bits. */
static unsigned int count_changed(uint64_t bits)
{
	unsigned int i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		uint64_t entry = pagemap_of(TEXT + pages[i]);

		nr += entry & bits && !(entry & PM_FILE);
	}

	return nr;
}

/* How many are out; those that others look at just now stay, so it is tried again. */
static void page_out(void)
{
	const unsigned int changed = count_changed(PM_PRESENT | PM_SWAPPED);
	int tries;

	for (tries = 0; tries < 50 && count_changed(PM_SWAPPED) < changed; tries++) {
		check(!madvise(TEXT, SIZE, MADV_PAGEOUT), "MADV_PAGEOUT: %s", strerror(errno));
		usleep(20000);
	}
	printf("swapped %u\n", count_changed(PM_SWAPPED));
}

/* How many pages with functions are on a node after they have been sent there. */
static void move_to_node(int node)
{
	void *addrs[ARRAY_SIZE(pages)];
	int nodes[ARRAY_SIZE(pages)], status[ARRAY_SIZE(pages)];
	unsigned int i, nr, tries;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		addrs[i] = TEXT + pages[i];
		nodes[i] = node;
	}
	for (tries = 0, nr = 0; tries < 50 && nr < ARRAY_SIZE(pages); tries++) {
		check(syscall(SYS_move_pages, 0, ARRAY_SIZE(pages), addrs, nodes, status,
			      MPOL_MF_MOVE_ALL) >= 0, "move_pages: %s", strerror(errno));
		check(!syscall(SYS_move_pages, 0, ARRAY_SIZE(pages), addrs, NULL, status, 0),
		      "move_pages: %s", strerror(errno));
		for (i = 0, nr = 0; i < ARRAY_SIZE(pages); i++)
			nr += status[i] == node;
	}
	printf("moved %u\n", nr);
}

/* How many KiB of a mapping are in huge pages. */
static unsigned long huge_kb(const char *at)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long start, end, kb, sum = 0;
	bool inside = false;
	char line[512], c;

	check(smaps, "smaps: %s", strerror(errno));
	while (fgets(line, sizeof(line), smaps)) {
		const char *huge = strstr(line, "PmdMapped:");

		if (sscanf(line, "%lx-%lx %c", &start, &end, &c) == 3)
			inside = start - (unsigned long)at < SIZE;
		else if (inside && huge && sscanf(huge, "PmdMapped: %lu", &kb) == 1)
			sum += kb;
	}
	fclose(smaps);

	return sum;
}

/* Do other processes see a huge page of the file? */
static bool file_is_huge(void)
{
	/* Shared memory cannot be probed. */
	volatile char *view = map(VIEW, PROT_READ, MAP_SHARED);
	bool huge;

	(void)view[0];
	huge = huge_kb(VIEW) == SIZE / 1024;
	munmap(VIEW, SIZE);

	return huge;
}

static void collapse_text(void)
{
	int ret = madvise(TEXT, SIZE, MADV_COLLAPSE) ? errno : 0;

	printf("collapse %d huge %d mapped %lu\n", ret, file_is_huge(), huge_kb(TEXT));
}

static void run_child(unsigned long times)
{
	pid_t pid = fork();
	int status;
	size_t i;

	check(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		run(times);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "the child: status 0x%x", status);
	for (i = 0; i < ARRAY_SIZE(sites); i++)
		sites[i].called += times;
}

static void say_merged(void)
{
	FILE *file = fopen("/proc/self/ksm_merging_pages", "r");
	long pages = 0;

	check(file && fscanf(file, "%ld", &pages) == 1, "no ksm_merging_pages");
	fclose(file);
	printf("merged %ld\n", pages);
}

/* Writable for a moment, in which breakpoints replace jumps. */
static void make_writable(void)
{
	check(!mprotect(TEXT, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC), "mprotect: %s",
	      strerror(errno));
	check(!mprotect(TEXT, SIZE, PROT_READ | PROT_EXEC), "mprotect: %s", strerror(errno));
}

static void do_command(const char *word, unsigned long number)
{
	if (!strcmp(word, "run"))
		run(number);
	else if (!strcmp(word, "child"))
		run_child(number);
	else if (!strcmp(word, "counts"))
		say_counts();
	else if (!strcmp(word, "pageout"))
		page_out();
	else if (!strcmp(word, "move"))
		move_to_node(number);
	else if (!strcmp(word, "merge"))
		check(!madvise(TEXT, SIZE, MADV_MERGEABLE), "MADV_MERGEABLE: %s", strerror(errno));
	else if (!strcmp(word, "merged"))
		say_merged();
	else if (!strcmp(word, "collapse"))
		collapse_text();
	else if (!strcmp(word, "hammer"))
		start_threads(number);
	else if (!strcmp(word, "stop"))
		join_threads();
	else if (!strcmp(word, "writable"))
		make_writable();
	else if (!strcmp(word, "changed"))
		printf("changed %u\n", count_changed(PM_PRESENT | PM_SWAPPED));
	else
		fail("'%s' is no command", word);
}

/* The other of the twins does the same, and says one byte for each command. */
static void make_twin(void)
{
	int to[2], from[2], null;

	check(!pipe(to) && !pipe(from), "pipe: %s", strerror(errno));
	if (fork()) {
		to_twin = to[1];
		from_twin = from[0];
		close(to[0]);
		close(from[1]);
		return;
	}
	close(to[1]);
	close(from[0]);
	null = open("/dev/null", O_WRONLY);
	check(dup2(to[0], 0) == 0 && dup2(null, 1) == 1, "dup2: %s", strerror(errno));
	from_twin = from[1];
}

/* The one that was asked has done it, and so has the other. */
static void both(const char *line, bool told)
{
	char byte = 0;

	if (to_twin >= 0 && !told)
		check(write(to_twin, line, strlen(line)) == (ssize_t)strlen(line), "write");
	else if (to_twin >= 0)
		check(read(from_twin, &byte, 1) == 1, "the twin has ended");
	else if (from_twin && told)
		check(write(from_twin, &byte, 1) == 1, "write: %s", strerror(errno));
}

static void steps(void)
{
	unsigned long number;
	char line[32], word[16];

	puts("held");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		number = 0;
		if (sscanf(line, "%15s %lu", word, &number) < 1)
			break;
		both(line, false);
		do_command(word, number);
		both(line, true);
		puts("done");
		fflush(stdout);
	}
	join_threads();
	if (to_twin >= 0) {
		close(to_twin);
		check(wait(NULL) > 0, "wait: %s", strerror(errno));
	}
}

int main(int argc, char **argv)
{
	check(argc > 2, "usage: see the beginning of this file");
	path = argv[2];
	if (!strcmp(argv[1], "make")) {
		make();
		return 0;
	}
	if (!strcmp(argv[1], "twins"))
		make_twin();
	map(TEXT, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	if (!strcmp(argv[1], "run") && argc == 4)
		run(strtoul(argv[3], NULL, 0));
	else
		steps();
	say_counts();

	return 0;
}
