/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stream that is being written: a buffer and a file
 *
 * Of one thread at a time. When something cannot be written (the disk is full), the
 * stream ends there, and the rest is counted: a hole in it would be read as something
 * else than what was there.
 */
#ifndef FHOOK_TRACE_FILE_H
#define FHOOK_TRACE_FILE_H

#include <string.h>
#include "base.h"

#define TRACE_BUFFER	(256 * 1024)

struct trace_file {
	int fd;
	size_t used;
	u64 written, lost;
	u8 buffer[TRACE_BUFFER];
};

/* NULL when it cannot be made. */
struct trace_file *trace_file_open(const char *path);
void trace_file_flush(struct trace_file *file);
void trace_file_close(struct trace_file *file);

/* Room for so many bytes, which are to be few; used is to be advanced by them. */
static inline u8 *trace_file_room(struct trace_file *file, size_t size)
{
	if (file->used + size > sizeof(file->buffer))
		trace_file_flush(file);
	return file->buffer + file->used;
}

static inline void trace_file_put(struct trace_file *file, const void *data, size_t size)
{
	memcpy(trace_file_room(file, size), data, size);
	file->used += size;
}

#endif /* FHOOK_TRACE_FILE_H */
