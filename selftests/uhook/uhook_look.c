// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program for tests that only look where it is.
 *
 *	uhook_look offsets	the probed instructions
 *	uhook_look loop ROUNDS	run through the loop, then print its mappings of slots
 *				(area START END) and its points (site NAME ADDRESS)
 *	uhook_look blocked ROUNDS
 *				a thread waits for the page that a probed load wants,
 *				and /proc has to show it at the load; exits with 4 where
 *				there is no userfaultfd
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "uhook_faults.h"
#include "uhook_loop.h"

#define UNSUPPORTED	4
#define TIMEOUT		120

static void say_areas(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char *line = NULL, *end;
	size_t size = 0;

	check(maps, "/proc/self/maps: %s", strerror(errno));
	while (getline(&line, &size, maps) > 0) {
		if (!strstr(line, "[uhook]"))
			continue;
		printf("area %lx ", strtoul(line, &end, 16));
		printf("%lx\n", strtoul(end + 1, NULL, 16));
	}
	free(line);
	fclose(maps);
}

static void run_loop(unsigned long rounds)
{
	unsigned long sum = 0;

	uhook_loop(rounds, &sum);
	check(sum == rounds, "%lu rounds count %lu", rounds, sum);
	say_areas();
	printf("site add %lx\nsite load %lx\nsite store %lx\nsite long %lx\nsite compare %lx\n",
	       (unsigned long)uhook_loop_add, (unsigned long)uhook_loop_load,
	       (unsigned long)uhook_loop_store, (unsigned long)uhook_loop_long,
	       (unsigned long)uhook_loop_compare);
}

static int uffd;
static pid_t loader_tid;
static char *page;

static int open_uffd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd < 0) {
		perror("userfaultfd");
		exit(UNSUPPORTED);
	}
	check(!ioctl(fd, UFFDIO_API, &api), "userfaultfd: %s", strerror(errno));

	return fd;
}

static void *load_page(void *unused)
{
	loader_tid = gettid();
	check(!fault_load(page, 0), "a page of zeroes has something else");

	return NULL;
}

/* Wait until a thread waits for the page. */
static void wait_for_fault(void)
{
	struct uffd_msg msg;

	check(read(uffd, &msg, sizeof(msg)) == sizeof(msg), "userfaultfd: %s", strerror(errno));
	check(msg.event == UFFD_EVENT_PAGEFAULT &&
	      msg.arg.pagefault.address == (unsigned long)page, "it is another fault");
}

/* A thread that is "running" has not gone to sleep yet. */
static unsigned long address_in_proc(pid_t tid)
{
	char name[64], text[256];
	unsigned long ip = 0;
	int nr = 0;

	sprintf(name, "/proc/self/task/%d/syscall", tid);
	do {
		FILE *file = fopen(name, "r");

		check(file && fgets(text, sizeof(text), file), "%s: %s", name, strerror(errno));
		fclose(file);
	} while (!strncmp(text, "running", 7));
	check(sscanf(text, "%d 0x%*x 0x%lx", &nr, &ip) == 2 && nr == -1, "%s says %s", name, text);

	return ip;
}

static void run_blocked(unsigned long rounds)
{
	const long page_size = sysconf(_SC_PAGESIZE);
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = { .mode = 0 };
	pthread_t loader;
	unsigned long i;

	/* In case no thread ever waits. */
	alarm(TIMEOUT);
	uffd = open_uffd();
	page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(page != MAP_FAILED, "mmap: %s", strerror(errno));
	reg.range.start = (unsigned long)page;
	reg.range.len = page_size;
	check(!ioctl(uffd, UFFDIO_REGISTER, &reg), "register: %s", strerror(errno));
	zero.range = reg.range;

	for (i = 0; i < rounds; i++) {
		unsigned long ip;

		check(!pthread_create(&loader, NULL, load_page, NULL), "no thread can be made");
		wait_for_fault();
		ip = address_in_proc(loader_tid);
		check(ip == (unsigned long)fault_load, "/proc shows it at 0x%lx, not at %p", ip,
		      fault_load);
		check(!ioctl(uffd, UFFDIO_ZEROPAGE, &zero), "zeropage: %s", strerror(errno));
		pthread_join(loader, NULL);
		madvise(page, page_size, MADV_DONTNEED);
	}
	printf("fault %lu\n", rounds);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "offsets")) {
		say_loop_offsets();
		say_offset("fault", fault_load);
	} else if (argc == 3 && !strcmp(mode, "loop")) {
		run_loop(strtoul(argv[2], NULL, 0));
	} else if (argc == 3 && !strcmp(mode, "blocked")) {
		run_blocked(strtoul(argv[2], NULL, 0));
	} else {
		fail("it wants a mode and a number");
	}

	return 0;
}
