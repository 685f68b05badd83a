/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook's events on the functions that a software recorder records
 *
 * Two events, for entries and returns, in a group of this process, and a tracefs
 * instance for them: tracing by others is not affected, and everything is removed in
 * the end. Calls of this process are not recorded, because it would record its own
 * recording.
 */
#ifndef FHOOK_KERNEL_EVENTS_H
#define FHOOK_KERNEL_EVENTS_H

#include "instrument/choice.h"
#include "lib/instance.h"
#include "pages.h"

struct tracefs_instance;

/**
 * struct kernel_events - the events of a recording
 * @group: group of the events; the instance has the same name
 * @instance: the instance; NULL before it is made
 * @format: format of the events
 * @page_size: page size of the ring buffer
 * @lock: descriptor of the instance's directory, locked while the run lives, or -1
 */
struct kernel_events {
	char group[INSTANCE_NAME];
	struct tracefs_instance *instance;
	struct page_format format;
	int page_size, lock;
};

/*
 * Define the events for these patterns, with a buffer of the given size in KiB for
 * each CPU.
 */
int kernel_events_make(struct kernel_events *events, const struct choice *choice, u64 buffer_kb,
		       struct fault *fault);

/* Hook the functions, without recording yet. */
int kernel_events_hook(struct kernel_events *events, struct fault *fault);

/* Start or stop recording. */
int kernel_events_record(struct kernel_events *events, bool on, struct fault *fault);

/* The number of calls that the hooks have missed. */
u64 kernel_events_missed(const struct kernel_events *events);

/* Remove everything that has been made. */
void kernel_events_remove(struct kernel_events *events);

#endif /* FHOOK_KERNEL_EVENTS_H */
