/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stream that is being written
 *
 * Of one thread at a time. It is written to memory that is a window of its file, so
 * that nothing is missing when the program is killed, or executes another one: then
 * the file has zeroes behind its end, which decoders leave out. Where a file cannot be
 * mapped, or has no room for a whole window, it is a buffer that is written when it is
 * full.
 *
 * The program that is recorded may close descriptors that it does not know, and open
 * files of its own in their place: ours is looked at before it is used. If it is
 * not the file's any more, that is opened anew by its path, which has to be good wherever
 * the program goes.
 *
 * When something cannot be written (the disk is full), the stream ends there, and the
 * rest is counted: a hole in it would be read as something else than what was there.
 */
#ifndef FHOOK_TRACE_FILE_H
#define FHOOK_TRACE_FILE_H

#include <string.h>
#include <sys/types.h>
#include "base.h"

#define TRACE_BUFFER	(256 * 1024)

/**
 * struct trace_file - a stream
 * @path: of its file
 * @fd: the file, unless the program has closed it
 * @device: of the file, and
 * @inode: its number there
 * @map: where that is mapped, or NULL
 * @window: what is written next, the end of it or @buffer
 * @size: the room in that, in bytes
 * @used: how much of it has been written
 * @written: bytes of the stream before that
 * @lost: bytes behind the stream's end that could not be written, known when flushed
 * @buffer: what is to be written when it is not mapped
 */
struct trace_file {
	char *path;
	int fd;
	dev_t device;
	ino_t inode;
	u8 *map, *window;
	size_t size, used;
	u64 written, lost;
	u8 buffer[TRACE_BUFFER];
};

/* NULL when it cannot be made. */
struct trace_file *trace_file_open(const char *path);
void trace_file_flush(struct trace_file *file);
void trace_file_close(struct trace_file *file);

/*
 * It is that of another process, which we are a child of: what is still written to it here
 * is nobody's. It is not freed, for we may be in the midst of that.
 */
void trace_file_disown(struct trace_file *file);

/* The window is full: go on behind it. */
void trace_file_advance(struct trace_file *file);

/* Room for so many bytes, which are to be few; used is to be advanced by them. */
static inline u8 *trace_file_room(struct trace_file *file, size_t size)
{
	if (file->used + size > file->size)
		trace_file_advance(file);
	return file->window + file->used;
}

static inline void trace_file_put(struct trace_file *file, const void *data, size_t size)
{
	memcpy(trace_file_room(file, size), data, size);
	file->used += size;
}

#endif /* FHOOK_TRACE_FILE_H */
