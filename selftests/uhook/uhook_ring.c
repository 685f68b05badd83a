// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program that forges records, without being hit.
 *
 *	uhook_ring offsets		the probe points: rec, cnt
 *	uhook_ring forge N		N rings full of made up records, and it ends
 *	uhook_ring inherit		its child forges, when a line has come: the hooks may be
 *					limited to the parent
 *	uhook_ring attack N		N rings, filled again whenever they are read
 *	uhook_ring spin N		N rings, and it looks at them all the time
 *	uhook_ring forks N		another process, which runs cnt, and forks N times;
 *					prints how long that took and the longest of them
 *					did, in nanoseconds
 *	uhook_ring bystander N FILE...	another process, which runs cnt, and forks until N
 *					records have come, as the files say: each is a
 *					per_cpu/cpuN/stats; prints how many came during
 *					one fork(), at most
 *
 * Each ring is another area's: a child has the areas that there are, so that the next body
 * needs another one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "uhook_test.h"

#define MAX_RINGS	32
#define ENTRIES		4096
#define LANES		16

UHOOK_LABEL(ring_site);
UHOOK_LABEL(count_site);

#if defined(__x86_64__)
#define INSN "{disp32} lea 1(%rdi), %rax"
#elif defined(__aarch64__)
#define INSN "add x0, x0, #1"
#endif
asm(".text\n"
	".balign 65536\n"
	"ring_site:\n"
	"	" INSN "\n"
	"	ret\n"
	"	.balign 65536\n"
	"count_site:\n"
	"	" INSN "\n"
	"	ret\n"
	"	.balign 65536\n");

/* As Documentation/trace/uhook.rst has it. */
struct header {
	volatile uint64_t head, tail;
};

struct entry {
	uint64_t seq, time, thread;
	uint32_t id, unused;
	uint64_t rest[12];
};

static struct header *rings[MAX_RINGS];
static pid_t children[MAX_RINGS];
static size_t page;

/* One more area: the text once more, and a child that keeps the areas before it. */
static void add_area(int n, int fd)
{
	const char *text = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				ring_site - __executable_start);
	int i;

	check(text != MAP_FAILED, "mmap: %s", strerror(errno));
	for (i = 0; i < 3; i++)
		((long (*)(long))text)(i);

	children[n] = fork();
	check(children[n] >= 0, "fork: %s", strerror(errno));
	if (!children[n]) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
}

static int find_rings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start;
	char line[512];
	int n = 0;

	check(maps, "no /proc/self/maps");
	while (n < MAX_RINGS && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "rw-s") && strstr(line, "[uhook]") &&
		    sscanf(line, "%lx", &start) == 1)
			rings[n++] = (void *)(start + LANES * page);
	}
	fclose(maps);

	return n;
}

/* The old records have been read, or are not complete any more. */
static void forge(struct header *ring)
{
	struct entry *entries = (void *)((char *)ring + page);
	uint64_t i, tail = ring->tail;

	for (i = tail; i < tail + ENTRIES; i++) {
		struct entry *e = &entries[i % ENTRIES];

		/* Each by another thread, which would have to be looked for. */
		e->thread = i * 64;
		e->id = 0;
		e->time = i;
		__atomic_store_n(&e->seq, i + 1, __ATOMIC_RELEASE);
	}
}

static void make_rings(int n)
{
	int i, found, fd = open("/proc/self/exe", O_RDONLY);

	check(n > 0 && n <= MAX_RINGS, "%d rings", n);
	for (i = 0; i < n; i++)
		add_area(i, fd);
	found = find_rings();
	check(found == n, "%d rings of %d", found, n);
	/* Its real records are read first. */
	usleep(300000);
}

static int inherit(void)
{
	pid_t child;
	int i;

	getchar();
	for (i = 0; i < 3; i++)
		((long (*)(long))ring_site)(i);
	child = fork();
	check(child >= 0, "fork: %s", strerror(errno));
	if (!child) {
		check(find_rings() == 1, "the child has no ring");
		forge(rings[0]);
		rings[0]->head = rings[0]->tail + ENTRIES;
		_exit(0);
	}
	waitpid(child, &i, 0);

	return i != 0;
}

/* Until it is killed. Without forging, it only spins. */
static int attack(int n, bool forging)
{
	int i;

	make_rings(n);
	printf("held\n");
	fflush(stdout);
	for (;;) {
		for (i = 0; i < n; i++) {
			if (rings[i]->head != rings[i]->tail || !forging)
				continue;
			forge(rings[i]);
			rings[i]->head = rings[i]->tail + ENTRIES;
		}
	}

	return 0;
}

/* How many records there have been, of one CPU. */
static long records_in(const char *stats)
{
	FILE *file = fopen(stats, "r");
	long entries = -1, overrun = -1;
	char line[128];

	check(file, "%s: %s", stats, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "entries: ", 9))
			entries = atol(line + 9);
		if (!strncmp(line, "overrun: ", 9))
			overrun = atol(line + 9);
	}
	fclose(file);
	check(entries >= 0 && overrun >= 0, "nothing is in %s", stats);

	return entries + overrun;
}

static long records(char **stats)
{
	long sum = 0;

	for (; *stats; stats++)
		sum += records_in(*stats);

	return sum;
}

static void hit_count(void)
{
	int i;

	for (i = 0; i < 3; i++)
		((long (*)(long))count_site)(i);
}

static pid_t make_child(void)
{
	pid_t child = fork();

	check(child >= 0, "fork: %s", strerror(errno));
	if (!child)
		_exit(0);

	return child;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);

	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static int forks(long nr)
{
	uint64_t all = 0, longest = 0;
	long i;

	hit_count();
	for (i = 0; i < nr; i++) {
		uint64_t took = now();
		pid_t child = make_child();

		took = now() - took;
		all += took;
		if (took > longest)
			longest = took;
		waitpid(child, NULL, 0);
	}
	printf("%lu %lu\n", all, longest);

	return 0;
}

static int bystander(long enough, char **stats)
{
	long first = records(stats), before, all, worst = 0, forks = 0;
	pid_t child;

	hit_count();
	do {
		before = records(stats);
		child = make_child();
		all = records(stats);
		if (all - before > worst)
			worst = all - before;
		waitpid(child, NULL, 0);
		forks++;
	} while (all - first < enough);
	printf("%ld forks, %ld records, most during one: %ld\n", forks, all - first, worst);

	return 0;
}

static const char usage[] =
	"offsets | inherit | {forge | attack | spin | forks} N | bystander N FILE...";

int main(int argc, char **argv)
{
	int i, n;

	page = getpagesize();
	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		printf("rec 0x%lx\n", (unsigned long)(ring_site - __executable_start));
		printf("cnt 0x%lx\n", (unsigned long)(count_site - __executable_start));
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "inherit"))
		return inherit();
	if (argc > 3 && !strcmp(argv[1], "bystander"))
		return bystander(atol(argv[2]), argv + 3);
	if (argc == 3 && (!strcmp(argv[1], "attack") || !strcmp(argv[1], "spin")))
		return attack(atoi(argv[2]), !strcmp(argv[1], "attack"));
	if (argc == 3 && !strcmp(argv[1], "forks"))
		return forks(atol(argv[2]));
	check(argc == 3 && !strcmp(argv[1], "forge"), "usage: %s %s", argv[0], usage);
	n = atoi(argv[2]);
	make_rings(n);

	for (i = 0; i < n; i++)
		forge(rings[i]);
	for (i = 0; i < n; i++)
		rings[i]->head = rings[i]->tail + ENTRIES;
	/* So the worker has hardly come before it ends. */
	for (i = 0; i < n; i++)
		kill(children[i], SIGKILL);

	return 0;
}
