/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the pages of the kernel's ring buffer to a stream
 *
 * Each CPU has a ring buffer, which is read page by page, and a stream of software
 * records. An event becomes the record of a stub: a function's entry or its exit. When
 * the task is another one than that of the event before, records that spell it come
 * first. Where the kernel says that events were overwritten before they were read, a
 * record says that they are missing, and how many if that is known; behind it the task
 * is spelled anew.
 */
#ifndef FHOOK_RECORD_PAGES_H
#define FHOOK_RECORD_PAGES_H

#include "lib/base.h"
#include "lib/trace_file.h"

struct kbuffer;

/* Where an event has what, as its format says. */
struct page_event {
	int id;
	int function;
};

/**
 * struct page_format - what there is to know of the pages of all CPUs
 * @enter: the event of an entry, with the place of the function's address
 * @leave: that of an exit
 * @id: where any event has its number, 2 bytes
 * @task: where it has the task's, 4 bytes
 */
struct page_format {
	struct page_event enter, leave;
	int id, task;
};

/**
 * struct page_stream - one CPU
 * @file: its stream
 * @buffer: reads pages
 * @task: of the last event, or -1
 * @events: how many events have been recorded
 * @missed: how many are missing, as far as is known
 * @gaps: how often some are
 */
struct page_stream {
	struct trace_file *file;
	struct kbuffer *buffer;
	s64 task;
	u64 events, missed, gaps;
};

/* Begin a stream. Returns 0, or -1: it cannot be made. */
int page_stream_open(struct page_stream *stream, const char *path);
void page_stream_close(struct page_stream *stream);

/* Record the events of a page. */
void page_stream_add(struct page_stream *stream, const struct page_format *format, void *page);

#endif /* FHOOK_RECORD_PAGES_H */
