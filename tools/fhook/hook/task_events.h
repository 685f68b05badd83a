/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Forks, threads and mappings of code while functions are hooked
 *
 * They come from /proc when a run begins, and then from perf: a process may end before the
 * kernel's stacks are read, and mappings have other addresses in each process.
 */
#ifndef FHOOK_HOOK_TASK_EVENTS_H
#define FHOOK_HOOK_TASK_EVENTS_H

#include "tasks.h"

/**
 * struct task_ring - events of a CPU
 * @fd: descriptor of the perf event
 * @page: the page of perf with the positions, and the data after it
 */
struct task_ring {
	int fd;
	void *page;
};

/**
 * struct task_events - a source of events
 * @tasks: receives them
 * @rings: a ring of each CPU
 * @nr: number of rings
 * @fd: readable when a ring should be read
 * @scanned: time of CLOCK_MONOTONIC at which all tasks of /proc were known
 * @lost: number of events for which a ring had no room
 */
struct task_events {
	struct tasks *tasks;
	struct task_ring *rings;
	size_t nr;
	int fd;
	u64 scanned;
	u64 lost;
};

/* Begin; task_events_close() may be called in any case if @fd was -1 before. */
int task_events_open(struct task_events *events, struct tasks *tasks, struct fault *fault);

/* Add what has happened. */
int task_events_read(struct task_events *events, struct fault *fault);

/* Warn of mappings that are not known. */
void task_events_warn(const struct task_events *events);
void task_events_close(struct task_events *events);

#endif /* FHOOK_HOOK_TASK_EVENTS_H */
