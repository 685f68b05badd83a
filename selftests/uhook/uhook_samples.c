// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: a program that samples itself with perf while a function of its own, which hooks
 * call, runs on a stack of uhook.
 *
 *	uhook_samples offsets		where: the site "work", and the "handler"
 *	uhook_samples look N		until N samples are in code that uhook made, with
 *					another stack pointer than the program's at the
 *					site, and N at the site; prints how many there were
 *
 * A sample has the instruction pointer and the stack pointer of the same code, and the
 * stack that it copies begins there: a sample at the site never has the stack pointer of
 * a body or a handler, from which it could not be unwound.  Exits with 4 where perf has no
 * clock.
 */
#define _GNU_SOURCE
#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <linux/uhook.h>

#include "uhook_test.h"

#define UNSUPPORTED	4
#define PAGES		64
#define STACK_BYTES	64
#define MAX_AREAS	8
#define ROUNDS		2000
#define NO_VECTORS	__attribute__((target("general-regs-only")))

UHOOK_FUNCTION(samples_work);
UHOOK_LABEL(samples_work_end);

#if defined(__x86_64__)
#define REG_IP		PERF_REG_X86_IP
#define REG_SP		PERF_REG_X86_SP
asm(".text\n"
	"samples_work:\n"
	"	{disp32} lea 1(%rdi), %rax\n"
	"	ret\n"
	"samples_work_end:\n");
#elif defined(__aarch64__)
#define REG_IP		PERF_REG_ARM64_PC
#define REG_SP		PERF_REG_ARM64_SP
asm(".text\n"
	"samples_work:\n"
	"	add x0, x0, #1\n"
	"	ret\n"
	"samples_work_end:\n");
#endif

/* The requested fields of a sample: registers are in the order of their numbers. */
struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint64_t abi;
	uint64_t regs[2];
	uint64_t stack_size;
	uint64_t stack[STACK_BYTES / sizeof(uint64_t)];
	uint64_t stack_used;
};

static struct { unsigned long start, end; } areas[MAX_AREAS];
static int nr_areas;
static struct perf_event_mmap_page *ring;
static long in_code, in_program, unpaired;

/* The same at all calls that matter, which one loop makes */
static volatile unsigned long site_sp;

/* Short, so that much of the time passes in the code that leads to it. */
NO_VECTORS __attribute__((used, noinline))
static void handler(struct uhook_user_regs *regs, __u64 *data)
{
	site_sp = regs->sp;
	data[0]++;
}

static bool is_uhooks(unsigned long addr)
{
	int i;

	for (i = 0; i < nr_areas; i++) {
		if (addr >= areas[i].start && addr < areas[i].end)
			return true;
	}

	return false;
}

static void find_areas(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	check(maps, "/proc/self/maps: %s", strerror(errno));
	while (nr_areas < MAX_AREAS && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[uhook]") &&
		    sscanf(line, "%lx-%lx", &areas[nr_areas].start, &areas[nr_areas].end) == 2)
			nr_areas++;
	}
	fclose(maps);
}

static void open_samples(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = 100000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = 1ULL << REG_IP | 1ULL << REG_SP,
		.sample_stack_user = STACK_BYTES,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		perror("perf_event_open");
		exit(UNSUPPORTED);
	}
	ring = mmap(NULL, (1 + PAGES) * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(ring != MAP_FAILED, "mmap: %s", strerror(errno));
}

static void judge(const struct sample *sample)
{
	unsigned long ip = sample->regs[REG_IP > REG_SP], sp = sample->regs[REG_SP > REG_IP];
	bool at_site = ip >= (unsigned long)samples_work && ip < (unsigned long)samples_work_end;

	if (at_site && sp != site_sp)
		unpaired++;
	if (at_site && sp == site_sp)
		in_program++;
	if (is_uhooks(ip) && sp != site_sp)
		in_code++;
}

static void copy_out(void *to, uint64_t from, size_t size)
{
	const char *data = (char *)ring + getpagesize();
	size_t ring_size = (size_t)PAGES * getpagesize(), i;

	for (i = 0; i < size; i++)
		((char *)to)[i] = data[(from + i) % ring_size];
}

static void read_samples(void)
{
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->data_tail;

	while (tail < head) {
		struct sample sample = { };

		copy_out(&sample.header, tail, sizeof(sample.header));
		check(sample.header.size >= sizeof(sample.header), "perf's records are broken");
		if (sample.header.type == PERF_RECORD_SAMPLE &&
		    sample.header.size == sizeof(sample)) {
			copy_out(&sample, tail, sizeof(sample));
			judge(&sample);
		}
		tail += sample.header.size;
	}
	__atomic_store_n(&ring->data_tail, tail, __ATOMIC_RELEASE);
}

static void look(long enough)
{
	long i;

	/* The first hits make the areas. */
	for (i = 0; i < ROUNDS; i++)
		samples_work(i);
	find_areas();
	open_samples();
	/* Where nothing is hooked, there are never enough. */
	alarm(300);
	while (in_code < enough || in_program < enough) {
		for (i = 0; i < ROUNDS; i++)
			samples_work(i);
		read_samples();
	}
	printf("%ld in code of uhook, %ld in the program, %ld unpaired\n", in_code, in_program,
	       unpaired);
	check(!unpaired, "%ld samples have the site's address with another stack pointer",
	      unpaired);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "offsets")) {
		say_offset("work", samples_work);
		say_offset("handler", handler);
	} else if (argc == 3 && !strcmp(argv[1], "look")) {
		look(atol(argv[2]));
	} else {
		fail("usage: %s offsets | look N", argv[0]);
	}

	return 0;
}
