// SPDX-License-Identifier: GPL-2.0
/* Writing files of trace-cmd; the header describes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <tracefs.h>
#include <unistd.h>
#include "lib/kernel_files.h"
#include "trace_dat.h"
#include "trace_format.h"

/* The magic number, the version, little-endian, and 8 bytes in a word. */
static const char start[] = TRACE_DAT_MAGIC "6\0\0\x08";

/* Options of the format. */
#define OPTION_END	0
#define OPTION_CLOCK	4

/* Pages are copied in pieces of this size. */
#define PIECE		(1024 * 1024)

/* Enough for a header, most of which are the kernel's symbols, and the first piece. */
#define HEADER_ROOM	(16 * 1024 * 1024)

static bool is_trace_dat(int fd)
{
	char magic[sizeof(TRACE_DAT_MAGIC) - 1];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, start, sizeof(magic));
}

static int check_output(const struct trace_dat *file, struct fault *fault)
{
	struct stat status;

	if (fstat(file->fd, &status) || !S_ISREG(status.st_mode) ||
	    (status.st_size && !is_trace_dat(file->fd)))
		return fault_say(fault,
				 "%s is not a trace.dat, and is not overwritten: give another name with -o",
				 file->path);
	if (status.st_uid != geteuid())
		return fault_say(fault,
				 "%s belongs to another user, who could read it: give another name with -o",
				 file->path);
	if (flock(file->fd, LOCK_EX | LOCK_NB))
		return fault_say(fault, "another run records to %s: give another name with -o",
				 file->path);
	return 0;
}

int trace_dat_scratch(const struct trace_dat *file, struct fault *fault)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s.XXXXXX", file->path) < 0)
		return fault_say(fault, "there is not enough memory");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		fault_say(fault, "no file can be created in the directory of %s: %s", file->path,
			  strerror(errno));
	else
		unlink(path);
	free(path);
	return fd;
}

int trace_dat_open(struct trace_dat *file, const char *path, struct fault *fault)
{
	const bool new = access(path, F_OK) && errno == ENOENT;

	file->path = path;
	file->room = -1;
	file->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0600);
	if (file->fd < 0)
		return fault_say(fault, "%s cannot be written: %s", path, strerror(errno));
	if (check_output(file, fault))
		return -1;
	file->made = new;
	file->room = trace_dat_scratch(file, fault);
	if (file->room < 0)
		return -1;
	if (fallocate(file->room, 0, 0, HEADER_ROOM) && errno != EOPNOTSUPP)
		return fault_say(fault, "%s cannot be written: %s", path, strerror(errno));
	return 0;
}

void trace_dat_close(struct trace_dat *file, bool complete)
{
	if (file->fd < 0)
		return;
	if (file->made && !complete)
		unlink(file->path);
	if (file->room >= 0)
		close(file->room);
	close(file->fd);
	file->fd = -1;
}

/* Numbers are little-endian, like the supported machines. */
static void put_number(FILE *out, u64 number, size_t width)
{
	fwrite(&number, 1, width, out);
}

static void put_text(FILE *out, const char *text)
{
	put_number(out, strlen(text), sizeof(u64));
	fputs(text, out);
}

/* Copy a file of the kernel, whose size is not known before it is read, after its size. */
static int put_file(FILE *out, const char *path, size_t width, struct fault *fault)
{
	FILE *in = fopen(path, "re");
	const off_t before = ftello(out);
	char text[65536];
	u64 size = 0;
	size_t part;
	bool failed;

	if (!in)
		return fault_say(fault, "%s cannot be read: %s", path, strerror(errno));
	put_number(out, 0, width);
	while ((part = fread(text, 1, sizeof(text), in)) > 0) {
		fwrite(text, 1, part, out);
		size += part;
	}
	failed = ferror(in);
	fclose(in);
	if (failed)
		return fault_say(fault, "%s cannot be read", path);
	fseeko(out, before, SEEK_SET);
	put_number(out, size, width);
	fseeko(out, 0, SEEK_END);
	return 0;
}

/* The same for a file of tracefs. */
static int put_tracefs(FILE *out, const char *name, size_t width, struct fault *fault)
{
	char *path;
	int result;

	if (asprintf(&path, "%s/%s", kernel_files_path(), name) < 0)
		return fault_say(fault, "there is not enough memory");
	result = put_file(out, path, width, fault);
	free(path);
	return result;
}

static int put_tasks(FILE *out, struct fault *fault)
{
	char *text = kernel_file_read("saved_cmdlines", fault), *changed;

	if (!text)
		return -1;
	changed = trace_format_tasks(text);
	free(text);
	if (!changed)
		return fault_say(fault, "there is not enough memory");
	put_text(out, changed);
	free(changed);
	return 0;
}

static unsigned int count_names(char **names)
{
	unsigned int nr = 0;

	while (names && names[nr])
		nr++;
	return nr;
}

/* The kernel's own events, as stacks. */
static int put_own_formats(FILE *out, struct fault *fault)
{
	char **names = tracefs_system_events(kernel_files_path(), "ftrace"), path[256];
	const unsigned int nr = count_names(names);
	unsigned int i;
	int result = 0;

	put_number(out, nr, sizeof(u32));
	for (i = 0; i < nr && !result; i++) {
		snprintf(path, sizeof(path), "events/ftrace/%s/format", names[i]);
		result = put_tracefs(out, path, sizeof(u64), fault);
	}
	tracefs_list_free(names);
	return result;
}

static int put_format(FILE *out, const struct call_events *events, const char *name,
		      struct fault *fault)
{
	char *text = session_get(&events->session, name, "format", fault), *changed;

	if (!text)
		return -1;
	changed = trace_format(text, events->options->program,
			       call_events_find(events, name));
	free(text);
	if (!changed)
		return fault_say(fault, "there is not enough memory");
	put_text(out, changed);
	free(changed);
	return 0;
}

static int put_formats(FILE *out, const struct call_events *events, struct fault *fault)
{
	const char *group = events->session.name;
	char **names = tracefs_system_events(kernel_files_path(), group);
	const unsigned int nr = count_names(names);
	unsigned int i;
	int result = 0;

	put_number(out, 1, sizeof(u32));
	fwrite(group, 1, strlen(group) + 1, out);
	put_number(out, nr, sizeof(u32));
	for (i = 0; i < nr && !result; i++)
		result = put_format(out, events, names[i], fault);
	tracefs_list_free(names);
	return result;
}

static int put_options(FILE *out, const struct session *session, struct fault *fault)
{
	char *clocks = session_read(session, "trace_clock", fault);

	if (!clocks)
		return -1;
	fwrite("options  ", 1, sizeof("options  "), out);
	put_number(out, OPTION_CLOCK, sizeof(u16));
	put_number(out, strlen(clocks) + 1, sizeof(u32));
	fwrite(clocks, 1, strlen(clocks) + 1, out);
	put_number(out, OPTION_END, sizeof(u16));
	free(clocks);
	return 0;
}

static int put_header(FILE *out, const struct call_events *events, struct fault *fault)
{
	fwrite(start, 1, sizeof(start) - 1, out);
	put_number(out, getpagesize(), sizeof(u32));
	fwrite("header_page", 1, sizeof("header_page"), out);
	if (put_tracefs(out, "events/header_page", sizeof(u64), fault))
		return -1;
	fwrite("header_event", 1, sizeof("header_event"), out);
	return put_tracefs(out, "events/header_event", sizeof(u64), fault) ||
	       put_own_formats(out, fault) || put_formats(out, events, fault) ||
	       put_file(out, "/proc/kallsyms", sizeof(u32), fault) ||
	       put_tracefs(out, "printk_formats", sizeof(u32), fault) ||
	       put_tasks(out, fault) ? -1 : 0;
}

static u64 size_of(int fd)
{
	struct stat status;

	return fd >= 0 && !fstat(fd, &status) ? status.st_size : 0;
}

/* Where the pages of each CPU are: after this table, at the start of a page of the file. */
static u64 put_table(FILE *out, const int *pages, unsigned int nr)
{
	const u64 page = getpagesize();
	const u64 end = ftello(out) + sizeof("flyrecord") + nr * 2 * sizeof(u64);
	const u64 first = (end + page - 1) / page * page;
	u64 at = first;
	unsigned int i;

	fwrite("flyrecord", 1, sizeof("flyrecord"), out);
	for (i = 0; i < nr; i++) {
		put_number(out, at, sizeof(u64));
		put_number(out, size_of(pages[i]), sizeof(u64));
		at += size_of(pages[i]);
	}
	return first;
}

/* Returns -1, and errno, if the disk is full. */
static int move_pages(int out, int pages)
{
	const u64 size = size_of(pages);
	off_t at = 0, before;

	while (at < (off_t)size) {
		before = at;
		if (sendfile(out, pages, &at, PIECE) <= 0)
			return -1;
		/* If this is not supported, the copy needs room. */
		fallocate(pages, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, before, at - before);
	}
	return 0;
}

static int put_all(FILE *out, const struct call_events *events, const int *pages,
		   unsigned int nr, struct fault *fault)
{
	unsigned int i;
	u64 at;

	if (put_header(out, events, fault))
		return -1;
	put_number(out, nr, sizeof(u32));
	if (put_options(out, &events->session, fault))
		return -1;
	at = put_table(out, pages, nr);
	errno = ENOSPC;
	if (fflush(out) || ferror(out) || ftruncate(fileno(out), at) ||
	    lseek(fileno(out), at, SEEK_SET) < 0)
		return fault_say(fault, "%s", strerror(errno));
	for (i = 0; i < nr; i++)
		if (pages[i] >= 0 && move_pages(fileno(out), pages[i]))
			return fault_say(fault, "%s", strerror(errno));
	return 0;
}

int trace_dat_write(struct trace_dat *file, const struct call_events *events, const int *pages,
		    unsigned int nr, struct fault *fault)
{
	const int copy = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
	struct fault reason;
	int result;

	if (!out) {
		if (copy >= 0)
			close(copy);
		return fault_say(fault, "%s cannot be written: %s", file->path, strerror(errno));
	}
	file->made = true;
	/* The addresses of the kernel's symbols are for the owner alone. */
	if (fchmod(file->fd, 0600) || ftruncate(file->fd, 0) || ftruncate(file->room, 0))
		result = fault_say(&reason, "%s", strerror(errno));
	else
		result = put_all(out, events, pages, nr, &reason);
	if (fclose(out) && !result)
		result = fault_say(&reason, "%s", strerror(errno));
	return result ? fault_say(fault, "%s cannot be written: %s", file->path, reason.text) : 0;
}
