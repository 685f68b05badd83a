// SPDX-License-Identifier: GPL-2.0
/* A stream that is being written: a window of its file, or a buffer. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "trace_file.h"

/* The window of the file at the stream's end; without one, it is the buffer. */
static void open_window(struct trace_file *file, int fd)
{
	const size_t ahead = file->written % sysconf(_SC_PAGESIZE);
	const off_t start = file->written - ahead;
	void *map = MAP_FAILED;

	file->map = NULL;
	file->window = file->buffer;
	file->size = TRACE_BUFFER;
	/* Memory for which there is no room on the disk would kill the program. */
	if (fd >= 0 && !posix_fallocate(fd, start, TRACE_BUFFER))
		map = mmap(NULL, TRACE_BUFFER, PROT_READ | PROT_WRITE, MAP_SHARED, fd, start);
	if (map == MAP_FAILED)
		return;
	file->map = map;
	file->window = file->map + ahead;
	file->size = TRACE_BUFFER - ahead;
}

struct trace_file *trace_file_open(const char *path)
{
	struct trace_file *file = malloc(sizeof(*file));
	int fd = -1;

	if (!file)
		return NULL;
	file->used = 0;
	file->written = 0;
	file->lost = 0;
	file->path = strdup(path);
	if (file->path)
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		free(file->path);
		free(file);
		return NULL;
	}
	open_window(file, fd);
	close(fd);
	return file;
}

static size_t write_buffer(const struct trace_file *file)
{
	const int fd = open(file->path, O_WRONLY | O_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < file->used) {
		ssize_t result = pwrite(fd, file->buffer + done, file->used - done,
					file->written + done);

		if (result < 0 && errno == EINTR)
			continue;
		if (result <= 0)
			break;
		done += result;
	}
	if (fd >= 0)
		close(fd);
	return done;
}

void trace_file_flush(struct trace_file *file)
{
	size_t done;

	if (file->map)
		return;
	done = file->lost ? 0 : write_buffer(file);
	file->lost += file->used - done;
	file->written += done;
	file->used = 0;
}

void trace_file_advance(struct trace_file *file)
{
	sigset_t all, before;
	int fd, cancelled;

	/* A thread that is cancelled in here, or left by a signal handler, would spoil it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (file->map) {
		munmap(file->map, TRACE_BUFFER);
		file->written += file->used;
		file->used = 0;
		fd = open(file->path, O_RDWR | O_CLOEXEC);
		open_window(file, fd);
		if (fd >= 0)
			close(fd);
	} else {
		trace_file_flush(file);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_setcancelstate(cancelled, NULL);
}

void trace_file_abandon(struct trace_file *file)
{
	if (file->map)
		munmap(file->map, TRACE_BUFFER);
	free(file->path);
	free(file);
}

void trace_file_close(struct trace_file *file)
{
	int result __unused;

	trace_file_flush(file);
	/* If this fails there are zeroes at its end, as if the program had been killed. */
	if (file->map)
		result = truncate(file->path, file->written + file->used);
	trace_file_abandon(file);
}
