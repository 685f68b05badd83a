// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: probed text where there is little room for slots, or none.
 *
 *	uhook_limits make DIR		make the file; prints NAME PATH OFFSET
 *	uhook_limits DIR SCENARIO	map it, in places, and call it there; prints
 *					"ADDRESS slot" for each, or "ADDRESS gap" or
 *					"ADDRESS full" where it has to be stepped, then
 *					"held"; a line is read, and all called again
 *
 * As the places are those of an architecture, so is how far a slot may be: REACH
 * is more than that, and NEARER less.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "uhook_text.h"

#if defined(__x86_64__)
#define REACH		0x90000000UL
#define NEARER		0x78000000UL
#define HIGHEST		0x7ffffffff000UL
#elif defined(__aarch64__)
#define REACH		0x10000000UL
#define NEARER		0x7800000UL
#define HIGHEST		0x1000000000000UL
#endif

/* Free in every program, with more than REACH around it. */
#define FAR		((char *)0x100000000000UL)
#define FAR_STEP	0x200000000UL
#define AREA_PAGES	16
#define AREAS		32
#define PLACES_MAX	64
#define NUMBER		0x55
#define HEAP_GROWS	0x400000

static char path[256];
static size_t page_size;

static struct place {
	char *at;
	const char *what;
} places[PLACES_MAX];
static int nr_places;

static void call(const char *at)
{
	int i;

	for (i = 0; i < 3; i++)
		check(call_text(at, i) == i + NUMBER, "%p has returned 0x%lx", at,
		      call_text(at, i));
}

static void call_all(void)
{
	int i;

	for (i = 0; i < nr_places; i++)
		call(places[i].at);
}

static void add(char *at, const char *what)
{
	places[nr_places++] = (struct place){ at, what };
	call(at);
}

/* Text at an address; if it is taken, or the heap's, at the next one that is not. */
static char *place_text(char *at, long step)
{
	const char *heap = sbrk(0);
	void *free;
	int i;

	for (i = 0; i < 0x10000; i++, at += step) {
		if (at + page_size > heap && at < heap + HEAP_GROWS)
			continue;
		free = mmap(at, page_size, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (free != MAP_FAILED)
			return map_text(path, 0, at, MAP_FIXED);
	}
	fail("there is no room, up to %p", at);
}

/* Nothing else is mapped there. */
static void fill(char *from, char *to)
{
	check(mmap(from, to - from, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) ==
	      from, "mmap of %p to %p: %s", from, to, strerror(errno));
}

static char *surrounded(int n, bool below, bool above)
{
	char *at = FAR + n * 2 * FAR_STEP;

	map_text(path, 0, at, MAP_FIXED_NOREPLACE);
	if (below)
		fill(at - REACH, at);
	if (above)
		fill(at + page_size, at + REACH);

	return at;
}

static void hole(char *at, size_t size)
{
	check(!munmap(at, size), "munmap: %s", strerror(errno));
}

/* No gap, gaps that are too small, and the smallest that is not. */
static void scenario_gaps(void)
{
	const size_t area = AREA_PAGES * page_size;
	char *at;

	add(surrounded(0, true, true), "gap");
	add(surrounded(1, true, false), "slot");
	add(surrounded(2, false, true), "slot");

	at = surrounded(3, true, true);
	hole(at - 2 * area, area - page_size);
	hole(at + 2 * area, area - page_size);
	add(at, "gap");

	at = surrounded(4, true, true);
	hole(at - 2 * area, area);
	add(at, "slot");

	at = surrounded(5, true, true);
	hole(at + area, area);
	add(at, "slot");

	/* Points without a free gap nearby use an existing area of slots. */
	at = surrounded(6, true, true);
	hole(at - area, area);
	add(at, "slot");
	hole(at + page_size, page_size);
	map_text(path, 0, at + page_size, MAP_FIXED_NOREPLACE);
	add(at + page_size, "slot");

	/* A gap just out of reach cannot be used. */
	at = surrounded(7, true, true);
	hole(at - REACH, area);
	hole(at + REACH - area, area);
	add(at, "gap");
}

/* Texts so far from each other that each needs an area of its own. */
static void scenario_areas(void)
{
	int i;

	for (i = 0; i < AREAS + 6; i++)
		add(map_text(path, 0, FAR + i * 2 * FAR_STEP, MAP_FIXED_NOREPLACE),
		    i < AREAS ? "slot" : "full");
	/* Where there is an area, there is still room in it. */
	add(map_text(path, 0, FAR + page_size, MAP_FIXED_NOREPLACE), "slot");
}

/* The program may map nothing more; its probes do not count. */
static void scenario_rlimit(void)
{
	struct rlimit limit = { page_size, page_size };
	char *near = map_text(path, 0, FAR, MAP_FIXED_NOREPLACE);
	char *far = map_text(path, 0, FAR + FAR_STEP, MAP_FIXED_NOREPLACE);

	/* stdio has already allocated its memory. */
	printf("\n");
	check(!setrlimit(RLIMIT_AS, &limit), "setrlimit: %s", strerror(errno));
	check(mmap(NULL, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED,
	      "the limit is none");
	add(near, "slot");
	add(far, "slot");
}

/* The first and the last addresses that a program can have, and others. */
static void scenario_places(void)
{
	char *stack = (char *)((long)__builtin_frame_address(0) & -page_size);

	add(place_text((char *)0x10000, page_size), "slot");
	add(place_text((char *)0x1000000, page_size), "slot");
	/* In the middle of the highest mappings: stack, vdso. */
	add(place_text(stack - 0x10000000, -page_size), "slot");
	add(place_text((char *)HIGHEST - page_size, -page_size), "slot");
	/* Beside the program's own break, which grows. */
	add(place_text((char *)sbrk(0) + HEAP_GROWS, page_size), "slot");
	check(sbrk(0x100000) != (void *)-1, "sbrk: %s", strerror(errno));
	/* Where mmap goes by itself. */
	add(map_text(path, 0, NULL, 0), "slot");
	check(sbrk(0x100000) != (void *)-1, "sbrk: %s", strerror(errno));
}

/* The heap is in reach, and leaves no room above it that is. */
static void scenario_heap(void)
{
	unsigned long end = (unsigned long)surrounded(0, true, false) + NEARER - 0x2000000;

	/* In this order: at each step, it begins before it ends. */
	check(!prctl(PR_SET_MM, PR_SET_MM_BRK, end, 0, 0), "brk: %s", strerror(errno));
	check(!prctl(PR_SET_MM, PR_SET_MM_START_BRK, end, 0, 0), "start: %s", strerror(errno));
	add(FAR, "slot");
	add(surrounded(1, true, false), "slot");
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "gaps", scenario_gaps },
	{ "areas", scenario_areas },
	{ "rlimit", scenario_rlimit },
	{ "places", scenario_places },
	{ "heap", scenario_heap },
};

static void run(void (*scenario)(void))
{
	int i;

	scenario();
	call_all();
	for (i = 0; i < nr_places; i++)
		printf("%p %s\n", places[i].at, places[i].what);
	printf("held\n");
	fflush(stdout);
	getchar();
	call_all();
}

int main(int argc, char **argv)
{
	size_t i;

	check(argc == 3, "usage: %s make DIR | DIR SCENARIO", argv[0]);
	snprintf(path, sizeof(path), "%s/text", argv[strcmp(argv[1], "make") ? 1 : 2]);
	page_size = getpagesize();
	if (!strcmp(argv[1], "make")) {
		make_text(path, NUMBER, NUMBER);
		printf("text %s 0x0\n", path);
	}
	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
		if (!strcmp(argv[2], scenarios[i].name))
			run(scenarios[i].run);
	}

	return 0;
}
