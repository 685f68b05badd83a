// SPDX-License-Identifier: GPL-2.0
/* The progress of hooking many functions; the header describes the functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/work.h"
#include "progress.h"

/* The progress of fewer functions is not shown. */
#define LEAST_FUNCTIONS	100
#define EVERY_MS	100

bool has_escapes(int fd)
{
	const char *terminal = getenv("TERM");

	return isatty(fd) && terminal && *terminal && strcmp(terminal, "dumb");
}

void progress_begin(struct progress *progress, const char *program, size_t all)
{
	const char *slash = strrchr(program, '/');
	const bool shown = has_escapes(STDERR_FILENO);

	*progress = (struct progress){
		.program = slash ? slash + 1 : program, .all = all,
		.next = shown ? 0 : ~0ull,
	};
}

static void print(struct progress *progress, u64 now)
{
	fprintf(stderr, "\r\033[Khooking functions of %.40s: %zu", progress->program,
		progress->begun);
	if (progress->all)
		fprintf(stderr, " of %zu", progress->all);
	progress->next = now + EVERY_MS;
	progress->printed = true;
}

int progress_step(struct progress *progress, struct fault *fault)
{
	const bool many = progress->all >= LEAST_FUNCTIONS || progress->begun >= LEAST_FUNCTIONS;
	const u64 now = many ? clock_ns(CLOCK_MONOTONIC) / NS_PER_MS : 0;

	if (many && now >= progress->next)
		print(progress, now);
	progress->begun++;
	return work_stopped() ?
	       fault_say(fault, "a signal came before all functions were hooked") : 0;
}

void progress_end(struct progress *progress)
{
	if (progress->printed)
		fputs("\r\033[K", stderr);
	progress->printed = false;
}
