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
#include "session.h"

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

#endif /* FHOOK_HOOK_CALL_EVENTS_H */
