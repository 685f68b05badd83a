/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stream that is being written
 *
 * Used by one thread at a time. The stream is written to a mapped window of its file, so that
 * nothing is lost when the program is killed, or executes another one: the file then has
 * zeroes after its end, which decoders ignore. If a file cannot be mapped, or has no room for
 * a whole window, a buffer is used, which is written when it is full.
 *
 * The recorded program may close descriptors that it does not know, and open files of its
 * own in their place, so the descriptor is checked before it is used. If it is no longer
 * that of our file, the file is opened again by its path, which must be independent of the
 * working directory.
 *
 * If only the end of a stream is to be kept, what is before it becomes a hole in the file, which
 * takes no room on the disk. A file system that has no holes keeps everything.
 *
 * If data cannot be written (the disk is full), the stream ends there, and the rest is
 * counted: a hole in the stream would be decoded wrongly.
 */
#ifndef FHOOK_TRACE_FILE_H
#define FHOOK_TRACE_FILE_H

#include <string.h>
#include <sys/types.h>
#include "base.h"

#define TRACE_BUFFER	(256 * 1024)

/**
 * struct trace_file - a stream
 * @path: path of the file
 * @fd: descriptor of the file, unless the program has closed it
 * @device: device of the file
 * @inode: inode number of the file
 * @map: address of the mapped window, or NULL
 * @window: memory to write to next, at the end of the window or of @buffer
 * @size: room in @window, in bytes
 * @used: number of bytes written to @window
 * @written: number of bytes of the stream before @window
 * @keep: number of bytes of the stream to keep; 0: all
 * @hole: size of the hole at the start of the file
 * @lost: number of bytes after the stream's end that could not be written, known after
 *	flushing
 * @buffer: buffer to write to if the file is not mapped
 */
struct trace_file {
	char *path;
	int fd;
	dev_t device;
	ino_t inode;
	u8 *map, *window;
	size_t size, used;
	u64 written, keep, hole, lost;
	u8 buffer[TRACE_BUFFER];
};

/* Returns NULL if the file cannot be made. */
struct trace_file *trace_file_open(const char *path);
/* Keep only the last bytes of the stream, and up to TRACE_BUFFER more. */
void trace_file_keep(struct trace_file *file, u64 bytes);
void trace_file_flush(struct trace_file *file);
void trace_file_close(struct trace_file *file);

/*
 * The file belongs to the parent process; data that this child still writes to it are
 * discarded. It is not freed, because this may interrupt a writer.
 */
void trace_file_disown(struct trace_file *file);

/* The window is full: continue after it. */
void trace_file_advance(struct trace_file *file);

/* Reserve room for a few bytes; the caller increments used by the number written. */
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
