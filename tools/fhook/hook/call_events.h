/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events on calls, defined as the user writes them
 *
 * Each function, pattern or condition of the command line becomes an event of the run's
 * instance. The words that print calls and those that record them share this.
 */
#ifndef FHOOK_HOOK_CALL_EVENTS_H
#define FHOOK_HOOK_CALL_EVENTS_H

#include "options.h"
#include "program.h"
#include "session.h"
#include "spec.h"

/**
 * struct call_events - events of a run
 * @session: the run that they belong to
 * @options: options of the command
 * @nr: number of events
 */
struct call_events {
	struct session session;
	const struct options *options;
	unsigned int nr;
};

/* Begin the run, which records no calls of this process; session_end() ends it in any case. */
int call_events_begin(struct call_events *events, const struct options *options,
		      struct fault *fault);

/* Define and enable the events. */
int call_events_add(struct call_events *events, struct fault *fault);

/*
 * The places of a span of a function of a program, to be freed; or NULL and a sentence, also if
 * SPEC, which may be NULL, wants a return value that is not known at all exits.
 */
char *call_events_span(const struct program *program, const struct program_function *function,
		       const struct spec *spec, struct fault *fault);

#endif /* FHOOK_HOOK_CALL_EVENTS_H */
