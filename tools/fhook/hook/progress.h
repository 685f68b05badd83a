/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The progress of hooking many functions, in a line of the terminal
 *
 * The line is on the standard error, if that is a terminal and functions are many, and is
 * removed at the end.
 */
#ifndef FHOOK_HOOK_PROGRESS_H
#define FHOOK_HOOK_PROGRESS_H

#include "lib/base.h"

/**
 * struct progress - a line
 * @program: name of the program whose functions are hooked, or "the kernel"
 * @all: number of functions, or 0 if it is not known
 * @begun: number of functions so far
 * @next: when to print again, in milliseconds of CLOCK_MONOTONIC; the maximum for never
 * @printed: the line is there
 */
struct progress {
	const char *program;
	size_t all, begun;
	u64 next;
	bool printed;
};

/* Is a descriptor a terminal that understands escape sequences? */
bool has_escapes(int fd);

/* Begin. PROGRAM may be a path, and must stay. */
void progress_begin(struct progress *progress, const char *program, size_t all);

/* Before the next function; fails if a signal has arrived. */
int progress_step(struct progress *progress, struct fault *fault);

/* Remove the line. */
void progress_end(struct progress *progress);

#endif /* FHOOK_HOOK_PROGRESS_H */
