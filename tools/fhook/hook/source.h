/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where counts and durations of calls come from
 *
 * The kernel adds them up: in histograms of events on functions, or, for calls of programs
 * that are only counted, in counters that the program increments without an exception.
 */
#ifndef FHOOK_HOOK_SOURCE_H
#define FHOOK_HOOK_SOURCE_H

#include "groups.h"
#include "kernel_arguments.h"
#include "options.h"
#include "program.h"
#include "session.h"
#include "slowest.h"
#include "tally.h"

/**
 * struct source - events that count
 * @session: the run that they belong to
 * @options: options of the command; the functions, the program, the other key
 * @spans: also measure how long calls take
 * @groups: the functions by their arguments, if calls are measured
 * @info: types of the kernel's functions
 * @program: functions of the program, if one was given
 * @own: which of them have an event of their own
 * @nr_shared: number of functions whose event is shared
 * @tally: sums of the calls
 */
struct source {
	struct session session;
	const struct options *options;
	bool spans;
	struct groups groups;
	struct kernel_info info;
	struct program program;
	bool *own;
	size_t nr_shared;
	struct tally tally;
};

/* Hook the functions, and begin to count. source_close() may be called in any case. */
int source_open(struct source *source, const struct options *options, bool spans,
		struct fault *fault);

/* Read the sums into the tally. */
int source_read(struct source *source, struct fault *fault);

/* Read the slowest call of each function that was given with brackets. */
int source_slowest(struct source *source, struct slowest *slowest, struct fault *fault);

/* Warn of calls and rows that the tally lacks. */
void source_warn(const struct source *source);

void source_close(void *source);

#endif /* FHOOK_HOOK_SOURCE_H */
