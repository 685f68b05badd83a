// SPDX-License-Identifier: GPL-2.0
/* A stream that is being written: a buffer and a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "trace_file.h"

struct trace_file *trace_file_open(const char *path)
{
	struct trace_file *file = malloc(sizeof(*file));

	if (!file)
		return NULL;
	file->used = 0;
	file->written = 0;
	file->lost = 0;
	file->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (file->fd < 0) {
		free(file);
		return NULL;
	}
	return file;
}

void trace_file_flush(struct trace_file *file)
{
	size_t done = 0;

	while (done < file->used && !file->lost) {
		ssize_t result = write(file->fd, file->buffer + done, file->used - done);

		if (result < 0 && errno == EINTR)
			continue;
		if (result <= 0)
			break;
		done += result;
	}
	file->lost += file->used - done;
	file->written += done;
	file->used = 0;
}

void trace_file_close(struct trace_file *file)
{
	trace_file_flush(file);
	close(file->fd);
	free(file);
}
