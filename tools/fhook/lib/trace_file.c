// SPDX-License-Identifier: GPL-2.0
/* A stream that is being written: a window of its file, or a buffer. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "trace_file.h"

/* The lowest descriptor to use: programs do not expect to get such high ones. */
#define HIGH_FD	512

static bool is_file(const struct trace_file *file, int fd)
{
	struct stat status;

	return fd >= 0 && !fstat(fd, &status) && status.st_dev == file->device &&
	       status.st_ino == file->inode;
}

static void keep_open(struct trace_file *file, int fd)
{
	const int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	file->fd = high < 0 ? fd : high;
	if (high >= 0)
		close(fd);
}

/* The file's descriptor, or -1. */
static int descriptor(struct trace_file *file)
{
	int fd;

	if (is_file(file, file->fd))
		return file->fd;
	file->fd = -1;
	fd = open(file->path, O_RDWR | O_CLOEXEC);
	if (is_file(file, fd))
		keep_open(file, fd);
	else if (fd >= 0)
		close(fd);
	return file->fd;
}

/* Exceeding a limit on file sizes would raise a signal that kills the program. */
static bool may_be_long(off_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur >= (rlim_t)size;
}

/* Map a window at the end of the stream, or use the buffer. */
static void open_window(struct trace_file *file)
{
	const size_t ahead = file->written % sysconf(_SC_PAGESIZE);
	const off_t start = file->written - ahead;
	const int fd = descriptor(file);
	void *map = MAP_FAILED;

	file->window = file->buffer;
	file->size = TRACE_BUFFER;
	/* Writing to mapped memory without room on the disk would kill the program. */
	if (fd >= 0 && may_be_long(start + TRACE_BUFFER) &&
	    !posix_fallocate(fd, start, TRACE_BUFFER))
		map = mmap(NULL, TRACE_BUFFER, PROT_READ | PROT_WRITE, MAP_SHARED, fd, start);
	if (map == MAP_FAILED)
		return;
	file->window = (u8 *)map + ahead;
	file->size = TRACE_BUFFER - ahead;
	file->map = map;
}

struct trace_file *trace_file_open(const char *path)
{
	struct trace_file *file = malloc(sizeof(*file));
	struct stat status;
	int fd = -1;

	if (!file)
		return NULL;
	file->used = 0;
	file->written = 0;
	file->lost = 0;
	file->keep = 0;
	file->hole = 0;
	file->map = NULL;
	file->path = strdup(path);
	if (file->path)
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || fstat(fd, &status)) {
		if (fd >= 0)
			close(fd);
		free(file->path);
		free(file);
		return NULL;
	}
	file->device = status.st_dev;
	file->inode = status.st_ino;
	keep_open(file, fd);
	open_window(file);
	return file;
}

static size_t write_buffer(struct trace_file *file)
{
	const int fd = descriptor(file);
	size_t done = 0;

	/* Writing beyond the limit of a file's size raises a signal that kills the program. */
	while (fd >= 0 && done < file->used && may_be_long(file->written + done + 1)) {
		ssize_t result = pwrite(fd, file->buffer + done, file->used - done,
					file->written + done);

		if (result < 0 && errno == EINTR)
			continue;
		if (result <= 0)
			break;
		done += result;
	}
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

/*
 * A process forked in the meantime must not find a mapping that no longer belongs to the file.
 */
static void close_window(struct trace_file *file)
{
	u8 *map = file->map;

	file->map = NULL;
	munmap(map, TRACE_BUFFER);
}

void trace_file_keep(struct trace_file *file, u64 bytes)
{
	file->keep = bytes;
}

/* Make a hole before the part of the stream that is to be kept. */
static void drop_old(struct trace_file *file)
{
	const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	u64 end;
	int fd;

	if (!file->keep || file->written <= file->keep)
		return;
	end = (file->written - file->keep) / TRACE_BUFFER * TRACE_BUFFER;
	fd = end > file->hole ? descriptor(file) : -1;
	if (fd >= 0 && !fallocate(fd, mode, file->hole, end - file->hole))
		file->hole = end;
}

void trace_file_advance(struct trace_file *file)
{
	sigset_t all, before;
	int cancelled;

	/* Cancelling the thread here, or leaving by a signal handler, would corrupt the stream. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (file->map) {
		close_window(file);
		file->written += file->used;
		file->used = 0;
		open_window(file);
	} else {
		trace_file_flush(file);
	}
	drop_old(file);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_setcancelstate(cancelled, NULL);
}

void trace_file_disown(struct trace_file *file)
{
	if (file->map)
		mmap(file->map, TRACE_BUFFER, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (is_file(file, file->fd))
		close(file->fd);
}

void trace_file_close(struct trace_file *file)
{
	const int fd = descriptor(file);

	trace_file_flush(file);
	if (file->map) {
		close_window(file);
		/* If this fails, the file ends with zeroes, as after being killed. */
		while (fd >= 0 && ftruncate(fd, file->written + file->used) && errno == EINTR)
			;
	}
	if (fd >= 0)
		close(fd);
	free(file->path);
	free(file);
}
