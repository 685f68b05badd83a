// SPDX-License-Identifier: GPL-2.0
/*
 * A uprobe of the kernel that this machine runs; the header describes the functions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "host_uprobe.h"

#define TYPE_FILE	"/sys/bus/event_source/devices/uprobe/type"
#define PAGE		4096UL

static bool fail(const char *what)
{
	printf("# no uprobe of this machine's kernel: %s: %s\n", what, strerror(errno));
	return false;
}

/* Where in this program's file an address of it is; 0 if it is in no mapping of it. */
static unsigned long file_offset(const char *path, const void *address)
{
	const unsigned long wanted = (unsigned long)address;
	unsigned long begin, end, offset, found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4200];

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) == 3 &&
		    wanted >= begin && wanted < end && strstr(line, path))
			found = wanted - begin + offset;
	}
	if (maps)
		fclose(maps);
	return found;
}

static bool map_code(struct host_uprobe *uprobe, unsigned long offset, size_t size)
{
	const unsigned long inside = offset % PAGE;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *map;

	if (fd < 0)
		return false;
	uprobe->size = size + inside;
	map = mmap(NULL, uprobe->size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset - inside);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	uprobe->code = map + inside;
	return true;
}

static void unmap_code(const struct host_uprobe *uprobe)
{
	const int error = errno;

	munmap(uprobe->code - (unsigned long)uprobe->code % PAGE, uprobe->size);
	errno = error;
}

static int open_event(const char *path, unsigned long offset)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	FILE *file = fopen(TYPE_FILE, "r");
	int type;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &type) != 1)
		type = -1;
	fclose(file);
	attr.type = type;
	attr.uprobe_path = (unsigned long)path;
	attr.probe_offset = offset;
	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

bool host_uprobe_place(struct host_uprobe *uprobe, const void *code, size_t size, size_t offset)
{
	char path[4096];
	const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	unsigned long start;

	if (length < 0)
		return fail("/proc/self/exe");
	path[length] = '\0';
	start = file_offset(path, code);
	if (!start || !map_code(uprobe, start, size))
		return fail(path);
	uprobe->fd = open_event(path, start + offset);
	if (uprobe->fd >= 0)
		return true;
	unmap_code(uprobe);
	return fail("perf_event_open");
}

unsigned long host_uprobe_remove(struct host_uprobe *uprobe)
{
	unsigned long hits = 0;

	if (read(uprobe->fd, &hits, sizeof(hits)) != sizeof(hits))
		hits = 0;
	close(uprobe->fd);
	unmap_code(uprobe);
	return hits;
}
