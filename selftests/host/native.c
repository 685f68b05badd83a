// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the time of hooked calls: trampolines of a kernel, run in a program
 *
 * Usage: native-ARCH [-c] VMLINUX HOOKS
 *
 * The image of the kernel is in the program, and HOOKS, which is hooks/ built for it,
 * makes the trampolines that mainline and fhook have for a function with some hooks. A function
 * with a slot leads to each of them in turn.
 *
 * It is called with a number of callers that return after it, and, as "busy", after calls that
 * use the processor's predictors of indirect branches and of returns. With -c, it is only
 * checked that each hook is called. Prints lines
 * "NAME<tab>WHOSE<tab>CALLERS<tab>MEDIAN<tab>LOW<tab>HIGH": nanoseconds that a call takes longer
 * than with a no-op in the slot, and the limits of the middle eight tenths of the runs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/hooks.h"
#include "image.h"
#include "nest.h"

#define CALLS	500
#define RUNS	401
#define TARGETS	32

enum { MAINLINE, FHOOK, WAYS };

static const char *const ways[WAYS] = { "mainline", "fhook" };

static const char *const names[HOOKS_CASES] = {
	[HOOKS_PLAIN]		= "1 ops, caller takes care of recursion",
	[HOOKS_GUARDED]		= "1 ops, protected",
	[HOOKS_REGS]		= "1 ops, full registers, protected",
	[HOOKS_TWO]		= "2 ops, protected",
	[HOOKS_TEN]		= "10 ops",
	[HOOKS_EXIT]		= "entry + exit [graph tracer]",
	[HOOKS_REDIRECT]	= "redirect [live patch]",
	[HOOKS_BPF_ENTRY]	= "1 ops, protected [fentry]",
	[HOOKS_BPF_EXIT]	= "exit [fexit]",
};

/* How a call is surrounded: by so many callers, and busy */
static const struct {
	const char *name;
	unsigned int depth;
	bool busy;
} places[] = {
	{ "1", 1, false }, { "4", 4, false }, { "16", 16, false }, { "busy", 1, true },
};

#define PLACES (sizeof(places) / sizeof(*places))

/* Functions with a slot, the last one with a no-op in it; NULL if a kernel has no such hook */
static nest_last_t *functions[HOOKS_CASES][WAYS], *unhooked;
static hooks_select_t *select_hooks;
static double times[HOOKS_CASES][WAYS][PLACES][RUNS];

static hooks_function_t *make_function;

/*
 * The functions.
 */

static void *function_of(unsigned int result)
{
	return (void *)make_function(image_room(HOOKS_ROOM), result);
}

/* A function that is hooked in this way, if the kernel has one */
static nest_last_t *hook(unsigned int i, hooks_make_t *make)
{
	struct hooks_place place = {
		.function = function_of(HOOKS_RESULT),
		.room = image_room(HOOKS_ROOM),
		.replacement = (unsigned long)function_of(HOOKS_REPLACED),
	};
	const int error = make(i, &place);

	if (error && error != -EOPNOTSUPP)
		image_die(names[i], "the trampoline cannot be made");
	return error ? NULL : place.function;
}

static void set_up(const char *vmlinux, const char *hooks)
{
	hooks_make_t *make[WAYS];
	hooks_begin_t *begin;
	unsigned long area, room;
	unsigned int i, way;

	image_load(vmlinux);
	image_link(hooks);
	begin = image_symbol("hooks_begin");
	select_hooks = image_symbol("hooks_select");
	make[MAINLINE] = image_symbol("hooks_mainline");
	make[FHOOK] = image_symbol("hooks_fhook");
	make_function = image_symbol("hooks_function");
	area = image_percpu(&room);
	begin(area, room);
	image_sync();
	unhooked = function_of(HOOKS_RESULT);
	for (i = 0; i < HOOKS_CASES; i++) {
		for (way = 0; way < WAYS; way++)
			functions[i][way] = hook(i, make[way]);
	}
	image_sync();
}

/*
 * The times.
 */
static unsigned long target(void)
{
	return 1;
}

/* Different functions, at distances that are not the same */
#define TARGET(n) static unsigned long target##n(void) { return (n) + target(); }
TARGET(1) TARGET(2) TARGET(3) TARGET(4) TARGET(5) TARGET(6) TARGET(7)

static nest_last_t *const targets[] = {
	target, target1, target2, target3, target4, target5, target6, target7,
};

/* The same sequence of calls whenever it begins with the same state */
static unsigned int keep_busy(unsigned int state)
{
	unsigned int i;

	nest(TARGETS, target);
	for (i = 0; i < TARGETS; i++) {
		state = state * 1664525 + 1013904223;
		((nest_last_t *volatile)targets[state >> 29])();
	}
	return state;
}

static double time_calls(unsigned int where, unsigned int run, nest_last_t *last)
{
	return nest_time(&(struct nest_calls){
		.last = last, .depth = places[where].depth, .count = CALLS,
		.before = places[where].busy ? keep_busy : NULL, .state = run,
	});
}

static void measure(unsigned int run)
{
	unsigned int where, i, way, n;

	for (i = 0; i < HOOKS_CASES; i++) {
		select_hooks(i);
		for (where = 0; where < PLACES; where++) {
			const double plain = time_calls(where, run, unhooked);

			for (n = 0; n < WAYS; n++) {
				way = (n + run) % WAYS;
				if (!functions[i][way])
					continue;
				times[i][way][where][run] =
					time_calls(where, run, functions[i][way]) - plain;
			}
		}
	}
}

/* Each hook must be called once for each call of the function. */
static void check(unsigned int i, unsigned int way)
{
	static const unsigned int entries[HOOKS_CASES] = {
		[HOOKS_PLAIN] = 1, [HOOKS_GUARDED] = 1, [HOOKS_REGS] = 1, [HOOKS_TWO] = 2,
		[HOOKS_TEN] = HOOKS_MANY, [HOOKS_EXIT] = 1, [HOOKS_BPF_ENTRY] = 1,
	};
	static const bool exits[HOOKS_CASES] = {
		[HOOKS_EXIT] = true, [HOOKS_BPF_EXIT] = true,
	};
	const unsigned long result = i == HOOKS_REDIRECT ? HOOKS_REPLACED : HOOKS_RESULT;
	unsigned long *const calls = image_symbol("calls");
	unsigned long *const returns = image_symbol("returns");
	unsigned int n;

	memset(calls, 0, HOOKS_MANY * sizeof(*calls));
	*returns = 0;
	select_hooks(i);
	if (functions[i][way]() != result || functions[i][way]() != result)
		image_die(names[i], "the hooked function does not return what it should");
	for (n = 0; n < HOOKS_MANY; n++) {
		if (calls[n] != (n < entries[i] ? 2 : 0))
			image_die(names[i], "the hooks were not called as they should be");
	}
	if (*returns != (exits[i] ? 2 : 0))
		image_die(names[i], "the exits were not called as they should be");
}

static void print_times(void)
{
	unsigned int i, way, where;

	for (i = 0; i < HOOKS_CASES; i++) {
		for (way = 0; way < WAYS; way++) {
			for (where = 0; functions[i][way] && where < PLACES; where++) {
				printf("%s\t%s\t%s\t", names[i], ways[way], places[where].name);
				nest_print(times[i][way][where], RUNS);
			}
		}
	}
}

int main(int argc, char **argv)
{
	const bool checks = argc > 1 && !strcmp(argv[1], "-c");
	unsigned int i, way, run;

	if (argc != 3 + checks) {
		fprintf(stderr, "Usage: %s [-c] VMLINUX HOOKS\n", argv[0]);
		return 2;
	}
	set_up(argv[1 + checks], argv[2 + checks]);
	for (i = 0; i < HOOKS_CASES; i++) {
		for (way = 0; way < WAYS; way++) {
			if (functions[i][way])
				check(i, way);
			if (functions[i][way] && checks)
				printf("%s\t%s\n", names[i], ways[way]);
		}
	}
	if (checks)
		return 0;
	/* The first is not looked at. */
	for (run = 0; run <= RUNS; run++)
		measure(run ? run - 1 : 0);
	print_times();
	return 0;
}
