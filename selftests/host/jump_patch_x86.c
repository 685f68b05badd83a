// SPDX-License-Identifier: GPL-2.0
/*
 * A program of x86_64 that patches itself as uhook patches programs
 *
 * Usage: jump-patch-x86 [-b] [-s SEED] [-n CALLS]
 *
 * There are two copies of the functions of jump_functions_x86.S, one of them
 * unchanged.  In the other, a jump to a body that counts is written over each site;
 * where the bytes after the site are part of the jump, it leads to a hop at the
 * address that they determine.  No breakpoint is ever written.  Both copies must
 * return the same for all arguments, and the counter must be the number of calls;
 * afterwards all bytes are as before.
 *
 * No other thread runs the code while it is patched: that a page is replaced as a
 * whole is up to the kernel, and to its own tests.
 *
 * With -b, times are measured instead: nanoseconds for a call, with nothing but
 * the loop around it, the best of several runs; and those of a uprobe of the kernel
 * that this machine runs.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/uhook_code.h>
#include "common.h"
#include "host_uprobe.h"
#include "jump_x86.h"
#include "relocate.h"

#define PAGE		4096UL
#define CALLS		20000
#define THREADS		4
#define THREAD_CALLS	1000000UL

#define BENCH_CALLS	10000000UL
#define BENCH_RUNS	7
/* These take a hundred times as long. */
#define UPROBE_CALLS	100000UL

/* All addresses that a jump can reach from there are free, but for these. */
#define BASE		0x100000000000UL
#define BODIES_BELOW	(BASE - 0x1000000UL)
#define BODIES_ABOVE	(BASE + 0x1000000UL)
#define LANES		(BASE + 0x2000000UL)
#define LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)
#define REACH		0x80000000UL
/* The functions as they were. */
#define PRISTINE	(BASE - 0x100000000UL)

static const int all = PROT_READ | PROT_WRITE | PROT_EXEC;

typedef u64 (*function_fn)(u64 a, u64 b);

/* The jump over the site of a function, and the code that it leads to. */
struct patch {
	const struct function *function;
	struct uhook_jump jump;
	struct uhook_targets targets;
	unsigned long site;
	unsigned long cell;
	unsigned long target;
	unsigned long body;
	void *hop;			/* its pages, or NULL */
	size_t hop_size;
};

static unsigned long forced, plain, below, above;
static u8 *patched, *pristine;

static void complain_of(const char *what, const struct function *function)
{
	complain("%s: %s", function->name, what);
}

static function_fn entry_of(u8 *functions, const struct function *function)
{
	return (function_fn)(functions + function->entry);
}

static unsigned long counted(unsigned long cell)
{
	unsigned long lane, sum = 0;

	for (lane = 0; lane < UHOOK_LANES; lane++)
		sum += *(u64 *)(cell + lane * UHOOK_LANE_SIZE);
	return sum;
}

static unsigned long lanes_used(unsigned long cell)
{
	unsigned long lane, used = 0;

	for (lane = 0; lane < UHOOK_LANES; lane++)
		used += *(u64 *)(cell + lane * UHOOK_LANE_SIZE) != 0;
	return used;
}

/*
 * The patch.
 */

/* Choose a target; if the site allows only some, write a hop there. */
static bool put_hop(struct patch *patch)
{
	const struct uhook_targets *t = &patch->targets;
	unsigned long first;

	if (!t->forced) {
		patch->body = random_next() % 2 ? BODIES_BELOW : BODIES_ABOVE;
		patch->target = patch->body;
		plain++;
		return true;
	}
	patch->target = t->first + random_next() % (t->last - t->first + 1);
	patch->body = patch->target < BASE ? BODIES_BELOW : BODIES_ABOVE;
	first = patch->target & ~(PAGE - 1);
	patch->hop_size = 2 * PAGE;
	patch->hop = map_at(first, patch->hop_size, all);
	if (uhook_make_hop(patch->target, patch->body, (u8 *)patch->target)) {
		complain_of("no hop", patch->function);
		return false;
	}
	forced++;
	if (patch->target < BASE)
		below++;
	else
		above++;
	return true;
}

static bool put_body(struct patch *patch, const u8 *text)
{
	const struct function *function = patch->function;
	u8 bytes[UHOOK_BODY_SIZE];
	struct uhook_copy copy;
	const int len = uhook_count_code(bytes, sizeof(bytes), patch->body, patch->cell);

	if (len < 0 || uhook_relocate_branch(text, INSN_MAX, patch->site, patch->body + len,
					     &copy)) {
		complain_of("no body", function);
		return false;
	}
	if (copy.insn_len != function->next - function->site) {
		complain_of("the length is wrong", function);
		return false;
	}
	memcpy(bytes + len, copy.bytes, copy.len);
	memcpy((void *)patch->body, bytes, len + copy.len);
	return true;
}

static bool patch_site(struct patch *patch, const struct function *function)
{
	const u8 *text = patched + function->site;
	const u8 len = function->next - function->site;

	memset(patch, 0, sizeof(*patch));
	memset((void *)LANES, 0, LANES_SIZE);
	patch->function = function;
	patch->site = BASE + function->site;
	patch->cell = LANES + (random_next() % UHOOK_LANE_SIZE & ~7UL);
	if (uhook_jump_targets(patch->site, text, len, &patch->targets)) {
		complain_of("no targets", function);
		return false;
	}
	if (!put_hop(patch) || !put_body(patch, text))
		return false;
	if (uhook_make_jump(patch->site, text, len, patch->target, &patch->jump)) {
		complain_of("no jump", function);
		return false;
	}
	if (patch->targets.forced && patch->jump.len != len)
		complain_of("bytes of others are written", function);
	memcpy(patched + function->site, patch->jump.bytes, patch->jump.len);
	return true;
}

static void restore(struct patch *patch)
{
	const size_t size = jump_functions_data - jump_functions;

	memcpy(patched + patch->function->site, patch->jump.before, patch->jump.len);
	if (patch->hop)
		munmap(patch->hop, patch->hop_size);
	if (memcmp(patched, jump_functions, size))
		complain_of("other bytes than before", patch->function);
}

/*
 * The checks.
 */
static void call_both(const struct function *function, unsigned long calls)
{
	const function_fn one = entry_of(patched, function), other = entry_of(pristine, function);
	unsigned long wrong = 0;

	while (calls--) {
		const u64 a = random_next() >> random_next() % 64, b = random_next();

		wrong += one(a, b) != other(a, b);
	}
	if (wrong)
		complain_of("other results", function);
}

static void check_function(const struct function *function, unsigned long calls)
{
	struct patch patch;

	if (!patch_site(&patch, function))
		return;
	call_both(function, calls);
	if (counted(patch.cell) != calls)
		complain_of("not counted exactly", function);
	restore(&patch);
	call_both(function, 100);
	if (counted(patch.cell) != calls)
		complain_of("counted when it was restored", function);
}

static const struct function *find(const char *name)
{
	const struct function *function;

	for (function = jump_table; function < jump_table_end; function++) {
		if (!strcmp(function->name, name))
			return function;
	}
	printf("no function %s\n", name);
	exit(2);
}

/* Deeper in the stack each time, for all lanes. */
static void *hammer(void *data)
{
	const function_fn call = entry_of(patched, data);
	unsigned long i, wrong = 0;
	int depth;

	for (depth = 0; depth < UHOOK_LANES; depth++) {
		u8 room[depth * UHOOK_LANE_SIZE + 1];

		asm volatile("" : : "r" (room) : "memory");
		for (i = 0; i < THREAD_CALLS / UHOOK_LANES; i++)
			wrong += call(i, depth) != i + 2 * depth;
	}
	return (void *)wrong;
}

static void check_threads(void)
{
	const struct function *function = find("push_first");
	const unsigned long calls = THREADS * (THREAD_CALLS / UHOOK_LANES * UHOOK_LANES);
	pthread_t thread[THREADS];
	struct patch patch;
	void *wrong;
	size_t i;

	if (!patch_site(&patch, function))
		return;
	for (i = 0; i < THREADS; i++) {
		if (pthread_create(thread + i, NULL, hammer, (void *)function))
			exit(2);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &wrong);
		if (wrong)
			complain_of("other results in a thread", function);
	}
	if (counted(patch.cell) != calls)
		complain_of("threads are not counted exactly", function);
	if (lanes_used(patch.cell) != UHOOK_LANES)
		complain_of("not all lanes are used", function);
	restore(&patch);
	printf("%d threads: %lu calls\n", THREADS, calls);
}

/*
 * Times.
 */
static double time_calls(function_fn call, unsigned long calls)
{
	struct timespec begin, end;
	double best = 1e9;
	unsigned long i;
	int run;

	for (run = 0; run < BENCH_RUNS; run++) {
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		for (i = 0; i < calls; i++)
			call(i, i);
		clock_gettime(CLOCK_MONOTONIC, &end);
		ns = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
		if (ns / calls < best)
			best = ns / calls;
	}
	return best;
}

/* The same instruction with a uprobe of this machine's kernel on it, which counts. */
static void time_uprobe(const char *name, const struct function *function)
{
	struct host_uprobe uprobe;
	double ns;

	if (!host_uprobe_place(&uprobe, jump_functions, jump_functions_end - jump_functions,
			       function->site))
		return;
	ns = time_calls(entry_of(uprobe.code, function), UPROBE_CALLS);
	if (host_uprobe_remove(&uprobe) != BENCH_RUNS * UPROBE_CALLS)
		complain_of("not counted by the uprobe", function);
	printf("native %s-uprobe\t%.2f\n", name, ns);
}

static void bench(void)
{
	static const struct {
		const char *name, *function;
	} cases[] = {
		{ "push", "push_first" },
		{ "push-imm32", "push_long_first" },
		{ "sub-imm8", "sub_first" },
		{ "sub-imm32", "sub_long_first" },
	};
	const char *kind;
	struct patch patch;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct function *function = find(cases[i].function);

		printf("native %s-unprobed\t%.2f\n", cases[i].name,
		       time_calls(entry_of(patched, function), BENCH_CALLS));
		if (!patch_site(&patch, function))
			exit(1);
		kind = patch.targets.forced ? "pun-hop" : "jump";
		printf("native %s-%s\t%.2f\n", cases[i].name, kind,
		       time_calls(entry_of(patched, function), BENCH_CALLS));
		restore(&patch);
		time_uprobe(cases[i].name, function);
	}
}

static void set_up(void)
{
	const size_t size = jump_functions_end - jump_functions;

	patched = map_at(BASE, (size + PAGE - 1) & ~(PAGE - 1), all);
	pristine = map_at(PRISTINE, (size + PAGE - 1) & ~(PAGE - 1), all);
	memcpy(patched, jump_functions, size);
	memcpy(pristine, jump_functions, size);
	map_at(BODIES_BELOW, PAGE, all);
	map_at(BODIES_ABOVE, PAGE, all);
	map_at(LANES, LANES_SIZE, all);
}

int main(int argc, char **argv)
{
	unsigned long calls = CALLS, measure = 0;
	const struct function *function;

	read_options(argc, argv, "n:b", &calls, &measure);
	set_up();
	if (measure) {
		bench();
		return verdict();
	}
	/* A jump to nowhere ends the test. */
	alarm(300);
	for (function = jump_table; function < jump_table_end; function++)
		check_function(function, calls);
	check_threads();
	printf("%lu plain, %lu forced: %lu below, %lu above\n", plain, forced, below, above);
	if (!plain || !below || !above)
		complain("nothing of a kind");
	return verdict();
}
