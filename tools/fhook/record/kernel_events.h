/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook's events on the functions that a software recorder records
 *
 * Two events, of the entry and of the return, in a group of this process, and an
 * instance of tracefs for them: nothing that others trace is touched, and all of it is
 * taken away again. What this process itself does is not recorded, or it would record
 * how it records.
 */
#ifndef FHOOK_KERNEL_EVENTS_H
#define FHOOK_KERNEL_EVENTS_H

#include "choice.h"
#include "pages.h"

struct tracefs_instance;

/**
 * struct kernel_events - them
 * @group: of the events; the instance is called so as well
 * @instance: NULL before it was made
 * @format: of the events
 * @page_size: of the ring buffer
 * @enter: there is an event of entries, which is to be taken away
 * @leave: and one of exits
 */
struct kernel_events {
	char group[32];
	struct tracefs_instance *instance;
	struct page_format format;
	int page_size;
	bool enter, leave;
};

/* Define the events for these patterns; with a buffer of so many KiB for each CPU. */
int kernel_events_make(struct kernel_events *events, const struct choice *choice, u64 buffer_kb,
		       struct fault *fault);

/* Hook the functions; nothing is recorded yet. */
int kernel_events_hook(struct kernel_events *events, struct fault *fault);

/* Begin to record, or end it. */
int kernel_events_record(struct kernel_events *events, bool on, struct fault *fault);

/* How many calls the hooks have missed. */
u64 kernel_events_missed(const struct kernel_events *events);

/* Take away what has been made, as far as it was. */
void kernel_events_remove(struct kernel_events *events);

#endif /* FHOOK_KERNEL_EVENTS_H */
