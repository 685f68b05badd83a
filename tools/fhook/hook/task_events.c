// SPDX-License-Identifier: GPL-2.0
/* Events of tasks, from /proc and perf; the header describes the functions. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/kernel_files.h"
#include "lib/work.h"
#include "task_events.h"

/* Of each CPU; a mapping of a file takes about 100 bytes. */
#define RING_PAGES	64

/* The time of a record that does not exist. */
#define NO_RECORD	(~0ull)

/* Parts of the records that perf_event.h describes in comments only. */
struct mmap2_record {
	struct perf_event_header header;
	u32 pid, tid;
	u64 address, length, offset;
	u32 major, minor;
	u64 inode, generation;
	u32 protection, flags;
	char path[];
};

struct fork_record {
	struct perf_event_header header;
	u32 pid, parent, tid, parent_tid;
	u64 time;
};

struct lost_record {
	struct perf_event_header header;
	u64 id, lost;
};

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static size_t ring_size(void)
{
	return RING_PAGES * page_size();
}

static int no_memory(struct fault *fault)
{
	return fault_say(fault, "there is not enough memory");
}

/*
 * The kernel writes a newline in a path as \012, and does not mark these characters themselves:
 * a link has the path. A process that has ended meanwhile has no link.
 */
static const char *mapped_path(pid_t process, u64 start, u64 end, const char *path)
{
	static char target[PATH_MAX];
	char link[80];
	ssize_t length;

	if (!strstr(path, "\\012"))
		return path;
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", process, start, end);
	length = readlink(link, target, sizeof(target) - 1);
	if (length <= 0)
		return path;
	target[length] = '\0';
	return target;
}

/* A line of /proc/PID/maps. */
static int read_map(struct tasks *tasks, pid_t process, const char *line, struct fault *fault)
{
	struct mapping mapping = { };
	unsigned long long start, end, offset, inode;
	const char *path;
	int at = 0;
	char executable;

	if (sscanf(line, "%llx-%llx %*c%*c%c%*c %llx %*s %llu %n", &start, &end, &executable,
		   &offset, &inode, &at) < 5 || !at || executable != 'x')
		return 0;
	mapping = (struct mapping){ .start = start, .end = end, .offset = offset };
	path = line[at] ? mapped_path(process, start, end, line + at) : "[anonymous]";
	return tasks_map(tasks, process, &mapping, path, inode) ? no_memory(fault) : 0;
}

/* A process that has ended meanwhile has no file. */
static int read_maps(struct tasks *tasks, pid_t process, struct fault *fault)
{
	char path[64], *line = NULL;
	size_t size = 0;
	int result = 0;
	ssize_t length;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", process);
	maps = fopen(path, "re");
	while (maps && !result && (length = getline(&line, &size, maps)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		result = read_map(tasks, process, line, fault);
	}
	free(line);
	if (maps)
		fclose(maps);
	return result;
}

/* Adds a process, or a thread of it. */
typedef int add_task(struct tasks *tasks, pid_t process, pid_t number, struct fault *fault);

/* Add each task whose number is a name in a directory. */
static int add_tasks(const char *path, struct tasks *tasks, pid_t process, add_task *add,
		     struct fault *fault)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	int result = 0;
	u64 number;

	while (directory && !result && !work_stopped() && (entry = readdir(directory)))
		if (!word_number(entry->d_name, 10, INT_MAX, &number))
			result = add(tasks, process, number, fault);
	if (directory)
		closedir(directory);
	return result;
}

static int add_thread(struct tasks *tasks, pid_t process, pid_t thread, struct fault *fault)
{
	return tasks_thread(tasks, thread, process) ? no_memory(fault) : 0;
}

static int add_process(struct tasks *tasks, pid_t unused __unused, pid_t process,
		       struct fault *fault)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", process);
	return add_tasks(path, tasks, process, add_thread, fault) ?:
	       read_maps(tasks, process, fault);
}

static int open_ring(struct task_events *events, int cpu, struct fault *fault)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attributes),
		.config = PERF_COUNT_SW_DUMMY, .mmap = 1, .mmap2 = 1, .task = 1,
		.sample_id_all = 1, .sample_type = PERF_SAMPLE_TIME,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC,
		.watermark = 1, .wakeup_watermark = ring_size() / 4,
	};
	struct epoll_event ready = { .events = EPOLLIN };
	const int fd = syscall(SYS_perf_event_open, &attributes, -1, cpu, -1,
			       PERF_FLAG_FD_CLOEXEC);
	void *page;

	/* Numbers of CPUs may have gaps. */
	if (fd < 0 && errno == ENODEV)
		return 0;
	if (fd < 0)
		return fault_say(fault, "stacks of programs need perf events, which fail: %s",
				 strerror(errno));
	page = mmap(NULL, page_size() + ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || epoll_ctl(events->fd, EPOLL_CTL_ADD, fd, &ready)) {
		fault_say(fault, "perf events cannot be read: %s", strerror(errno));
		if (page != MAP_FAILED)
			munmap(page, page_size() + ring_size());
		close(fd);
		return -1;
	}
	events->rings[events->nr++] = (struct task_ring){ fd, page };
	return 0;
}

int task_events_open(struct task_events *events, struct tasks *tasks, struct fault *fault)
{
	const unsigned int cpus = kernel_cpus();
	unsigned int cpu;

	*events = (struct task_events){ .tasks = tasks, .fd = epoll_create1(EPOLL_CLOEXEC) };
	files_raise_limit(cpus);
	events->rings = calloc(cpus, sizeof(*events->rings));
	if (events->fd < 0 || !events->rings)
		return no_memory(fault);
	for (cpu = 0; cpu < cpus; cpu++)
		if (open_ring(events, cpu, fault))
			return -1;
	if (add_tasks("/proc", tasks, 0, add_process, fault))
		return -1;
	events->scanned = clock_ns(CLOCK_MONOTONIC);
	return 0;
}

static int add_record(struct task_events *events, const struct perf_event_header *header,
		      struct fault *fault)
{
	const struct mmap2_record *map = (const void *)header;
	const struct fork_record *fork = (const void *)header;
	struct mapping mapping;
	int result = 0;

	if (header->type == PERF_RECORD_MMAP2) {
		mapping.start = map->address;
		mapping.end = map->address + map->length;
		mapping.offset = map->offset;
		result = tasks_map(events->tasks, map->pid, &mapping, map->path, map->inode);
	} else if (header->type == PERF_RECORD_FORK && fork->pid == fork->parent) {
		result = tasks_thread(events->tasks, fork->tid, fork->pid);
	} else if (header->type == PERF_RECORD_FORK) {
		result = tasks_fork(events->tasks, fork->pid, fork->parent,
				    fork->time < events->scanned);
	} else if (header->type == PERF_RECORD_LOST) {
		events->lost += ((const struct lost_record *)header)->lost;
	}
	return result ? no_memory(fault) : 0;
}

/* Copy a part of the ring, which may be at its end and at its start. */
static void copy(void *to, const struct task_ring *ring, u64 at, size_t length)
{
	const u8 *data = (const u8 *)ring->page + page_size();
	const size_t first = at % ring_size(), left = ring_size() - first;
	const size_t part = length < left ? length : left;

	memcpy(to, data + first, part);
	memcpy((u8 *)to + part, data, length - part);
}

/* The time of the next record of a ring, which is its last part; or NO_RECORD. */
static u64 next_time(const struct task_ring *ring)
{
	const struct perf_event_mmap_page *page = ring->page;
	struct perf_event_header header;
	u64 time;

	if (__atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) == page->data_tail)
		return NO_RECORD;
	copy(&header, ring, page->data_tail, sizeof(header));
	if (header.size < sizeof(header) + sizeof(time))
		return NO_RECORD;
	copy(&time, ring, page->data_tail + header.size - sizeof(time), sizeof(time));
	return time;
}

/* Add the next record of a ring. */
static int read_record(struct task_events *events, const struct task_ring *ring,
		       struct fault *fault)
{
	/* A record's size has 16 bits. */
	static union {
		struct perf_event_header header;
		u8 bytes[65536];
	} record;
	struct perf_event_mmap_page *page = ring->page;

	copy(&record, ring, page->data_tail, sizeof(record.header));
	copy(&record, ring, page->data_tail, record.header.size);
	__atomic_store_n(&page->data_tail, page->data_tail + record.header.size, __ATOMIC_RELEASE);
	return add_record(events, &record.header, fault);
}

/* The ring with the oldest record that is older than a time, or NULL. */
static const struct task_ring *oldest_before(const struct task_events *events, u64 until)
{
	const struct task_ring *found = NULL;
	size_t i;

	for (i = 0; i < events->nr; i++) {
		const u64 time = next_time(events->rings + i);

		if (time >= until)
			continue;
		until = time;
		found = events->rings + i;
	}
	return found;
}

/* A record that is written now may be older than one of another CPU: newer ones wait. */
int task_events_read(struct task_events *events, struct fault *fault)
{
	const int signals = work_stopped();
	const struct task_ring *ring;
	const u64 until = clock_ns(CLOCK_MONOTONIC);

	while (work_stopped() == signals && (ring = oldest_before(events, until)))
		if (read_record(events, ring, fault))
			return -1;
	return 0;
}

void task_events_warn(const struct task_events *events)
{
	const u64 lost = events->lost + events->tasks->lost;

	if (lost)
		fprintf(stderr,
			"fhook: %llu mappings are unknown: stacks that lead to them end there.\n",
			lost);
}

void task_events_close(struct task_events *events)
{
	size_t i;

	for (i = 0; i < events->nr; i++) {
		munmap(events->rings[i].page, page_size() + ring_size());
		close(events->rings[i].fd);
	}
	free(events->rings);
	if (events->fd >= 0)
		close(events->fd);
	*events = (struct task_events){ .fd = -1 };
}
