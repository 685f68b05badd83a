/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conditions that end a recording of the kernel
 *
 * Each condition is an event of fhook with a trigger that stops the instance's ring buffer, so
 * that no later event is recorded on any CPU. The events themselves are not recorded.
 */
#ifndef FHOOK_KERNEL_UNTIL_H
#define FHOOK_KERNEL_UNTIL_H

#include "kernel_events.h"
#include "record.h"

/**
 * struct kernel_until - the conditions of a recording
 * @events: events of the recording, whose group and instance are used
 * @record: options of the command line
 * @nr_defined: number of events that have been defined
 */
struct kernel_until {
	const struct kernel_events *events;
	const struct record *record;
	size_t nr_defined;
};

/* Define the events. If this fails, kernel_until_remove() undoes what has been done. */
int kernel_until_make(struct kernel_until *until, struct fault *fault);

/* Let the conditions end the recording, from now on. */
int kernel_until_arm(const struct kernel_until *until, struct fault *fault);

/* Have no events been recorded any more since a condition was true? */
bool kernel_until_ended(const struct kernel_until *until);

/* The number of the condition that was true, from 1; 0 if none was. */
u32 kernel_until_reason(const struct kernel_until *until);

/* Remove the triggers and events. */
void kernel_until_remove(struct kernel_until *until);

#endif /* FHOOK_KERNEL_UNTIL_H */
