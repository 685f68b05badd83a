/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Converting pages of the kernel's ring buffer to a stream
 *
 * Each CPU has a ring buffer, which is read page by page, and a stream of software
 * records. An event becomes the record of a stub: a function's entry or its exit. If
 * the task differs from that of the previous event, records that spell the task come
 * first. If the kernel reports that events were overwritten before they were read, a
 * record marks the gap, with the number of events if it is known; after it, the task
 * is spelled again.
 */
#ifndef FHOOK_RECORD_PAGES_H
#define FHOOK_RECORD_PAGES_H

#include "lib/base.h"
#include "lib/trace_file.h"

struct kbuffer;

/* The location of a field, from an event's format. */
struct page_event {
	int id;
	int function;
};

/**
 * struct page_format - the layout of events on the pages of all CPUs
 * @enter: number of the entry event, with the location of the function's address
 * @leave: number of the exit event, with the location of the function's address
 * @id: location of the event number, 2 bytes
 * @task: location of the task number, 4 bytes
 */
struct page_format {
	struct page_event enter, leave;
	int id, task;
};

/**
 * struct page_stream - conversion of one CPU's pages
 * @file: stream of the CPU
 * @buffer: reader of pages
 * @task: task of the last event, or -1
 * @events: number of recorded events
 * @missed: number of missing events, as far as known
 * @gaps: number of gaps
 */
struct page_stream {
	struct trace_file *file;
	struct kbuffer *buffer;
	s64 task;
	u64 events, missed, gaps;
};

/* Begin a stream. Returns 0, or -1 if it cannot be made. */
int page_stream_open(struct page_stream *stream, const char *path);
void page_stream_close(struct page_stream *stream);

/* Record the events of a page. */
void page_stream_add(struct page_stream *stream, const struct page_format *format, void *page);

#endif /* FHOOK_RECORD_PAGES_H */
