/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events on calls, defined as the user writes them
 *
 * Each function, pattern or condition of the command line becomes an event of the run's
 * instance. The words that print calls and those that record them share this.
 */
#ifndef FHOOK_HOOK_CALL_EVENTS_H
#define FHOOK_HOOK_CALL_EVENTS_H

#include "call_event.h"
#include "kernel_arguments.h"
#include "options.h"
#include "program.h"
#include "session.h"

/**
 * struct call_events - events of a run
 * @session: the run that they belong to
 * @options: options of the command
 * @info: types of the kernel's functions
 * @mark: end of the names of the events, or empty
 * @records_callers: events with stacks of programs also have the address of the caller
 * @all: events
 */
struct call_events {
	struct session session;
	const struct options *options;
	struct kernel_info info;
	char mark[12];
	bool records_callers;
	struct call_event *all;
	size_t nr, room;
};

/* Begin the run, which records no calls of this process; call_events_end() ends it in any case. */
int call_events_begin(struct call_events *events, const struct options *options,
		      struct fault *fault);

/* Choose a mark, which nobody can guess, before events are added. */
int call_events_mark(struct call_events *events, struct fault *fault);

/* Define and enable the events. */
int call_events_add(struct call_events *events, struct fault *fault);

/* The event of this name, or NULL. */
const struct call_event *call_events_find(const struct call_events *events, const char *name);

/* Remove the events. */
void call_events_end(struct call_events *events);

/*
 * The places of a span of a function of a program, to be freed; or NULL and a sentence, also if
 * SPEC, which may be NULL, wants a return value that is not known at all exits.
 */
char *call_events_span(const struct program *program, const struct program_function *function,
		       const struct spec *spec, struct fault *fault);

#endif /* FHOOK_HOOK_CALL_EVENTS_H */
