// SPDX-License-Identifier: GPL-2.0
/*
 * Converting pages of the kernel's ring buffer to a stream; the header describes
 * how.
 */
#include <kbuffer.h>
#include <string.h>
#include "decode/software.h"
#include "pages.h"
#include "symbols.h"

int page_stream_open(struct page_stream *stream, const char *path)
{
	/* The supported machines have 64 bits, and are little-endian. */
	stream->buffer = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	if (!stream->buffer)
		return -1;
	stream->file = trace_file_open(path);
	if (!stream->file) {
		kbuffer_free(stream->buffer);
		return -1;
	}
	stream->task = -1;
	return 0;
}

void page_stream_close(struct page_stream *stream)
{
	if (!stream->file)
		return;
	trace_file_close(stream->file);
	kbuffer_free(stream->buffer);
	stream->file = NULL;
}

static void put(struct page_stream *stream, u64 address, u64 time)
{
	const struct software_record record = { .address = address, .time = time };

	trace_file_put(stream->file, &record, sizeof(record));
}

static void put_gap(struct page_stream *stream, u64 missed)
{
	put(stream, 0, missed);
	stream->missed += missed;
	stream->gaps++;
	stream->task = -1;
}

static void put_task(struct page_stream *stream, u32 task, u64 time)
{
	stream->task = task;
	if (task >> 16)
		put(stream, symbols_context(STUB_TASK2, task >> 16), time);
	if (task >> 8)
		put(stream, symbols_context(STUB_TASK1, task >> 8), time);
	put(stream, symbols_context(STUB_TASK0, task), time);
}

static void put_event(struct page_stream *stream, const struct page_format *format,
		      const void *event, int size, u64 time)
{
	const struct page_event *kind = NULL;
	u64 function;
	u32 task;
	u16 id;

	memcpy(&id, event + format->id, sizeof(id));
	memcpy(&task, event + format->task, sizeof(task));
	if (id == format->enter.id)
		kind = &format->enter;
	else if (id == format->leave.id)
		kind = &format->leave;
	if (!kind || kind->function + (int)sizeof(function) > size)
		return;
	memcpy(&function, event + kind->function, sizeof(function));
	if (stream->task != task)
		put_task(stream, task, time);
	put(stream, kind == &format->enter ? symbols_entry(function) : symbols_exit(function),
	    time);
	stream->events++;
}

void page_stream_add(struct page_stream *stream, const struct page_format *format, void *page)
{
	struct kbuffer *buffer = stream->buffer;
	unsigned long long time;
	void *event;
	int missed;

	if (kbuffer_load_subbuffer(buffer, page))
		return;
	missed = kbuffer_missed_events(buffer);
	/* A negative number: the number of missing events is unknown. */
	if (missed)
		put_gap(stream, missed > 0 ? missed : 0);
	for (event = kbuffer_read_event(buffer, &time); event;
	     event = kbuffer_next_event(buffer, &time))
		put_event(stream, format, event, kbuffer_event_size(buffer), time);
}
