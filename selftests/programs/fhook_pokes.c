// SPDX-License-Identifier: GPL-2.0
/*
 * Print the records that perf gets of code that comes and goes while a command runs.
 *
 *	fhook_pokes COMMAND [ARGUMENT...]
 *
 * Prints, of all CPUs, one after the other, lines of
 *
 *	poke ADDRESS OLD-LENGTH NEW-LENGTH
 *	ksymbol ADDRESS LENGTH come|gone NAME
 *
 * and ends as the command does; with 4 where there is no perf, with 2 if something was
 * lost.  Decoders of the processor's trace rebuild the text from these; perf itself asks
 * for pokes only when it records such a trace.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CPUS	64
#define RING_SIZE	(1024 * 1024)	/* in bytes, a power of 2 */

struct ring {
	struct perf_event_mmap_page *control;
	const char *data;
};

struct ksymbol {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t type;
	uint16_t flags;
	char name[];
};

struct poke {
	struct perf_event_header header;
	uint64_t addr;
	uint16_t old_len;
	uint16_t new_len;
	uint8_t bytes[];
};

static struct ring rings[MAX_CPUS];
static int lost;

static void open_ring(struct ring *ring, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.ksymbol = 1,
		.text_poke = 1,
	};
	long page = sysconf(_SC_PAGESIZE);
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

	if (fd < 0) {
		fprintf(stderr, "perf_event_open: %s\n", strerror(errno));
		exit(4);
	}
	ring->control = mmap(NULL, page + RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring->control == MAP_FAILED) {
		fprintf(stderr, "mmap: %s\n", strerror(errno));
		exit(1);
	}
	ring->data = (const char *)ring->control + page;
}

static void print_record(const struct perf_event_header *header)
{
	const struct ksymbol *ksymbol = (const void *)header;
	const struct poke *poke = (const void *)header;

	switch (header->type) {
	case PERF_RECORD_KSYMBOL:
		printf("ksymbol 0x%lx %u %s %s\n", (unsigned long)ksymbol->addr, ksymbol->len,
		       ksymbol->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? "gone" : "come",
		       ksymbol->name);
		break;
	case PERF_RECORD_TEXT_POKE:
		printf("poke 0x%lx %u %u\n", (unsigned long)poke->addr, poke->old_len,
		       poke->new_len);
		break;
	case PERF_RECORD_LOST:
		lost = 1;
		break;
	}
}

static void print_ring(const struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = 0;

	/* Nothing was read meanwhile, and nothing has been overwritten. */
	while (at < head) {
		const struct perf_event_header *header = (const void *)(ring->data + at);

		print_record(header);
		at += header->size;
	}
}

static int run(char **argv)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("fork");
		return 1;
	}

	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	long cpu, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int status;

	if (argc < 2 || cpus > MAX_CPUS) {
		fprintf(stderr, "usage: fhook_pokes COMMAND [ARGUMENT...]\n");
		return 1;
	}
	for (cpu = 0; cpu < cpus; cpu++)
		open_ring(&rings[cpu], cpu);
	status = run(argv + 1);
	for (cpu = 0; cpu < cpus; cpu++)
		print_ring(&rings[cpu]);

	return status ? status : 2 * lost;
}
