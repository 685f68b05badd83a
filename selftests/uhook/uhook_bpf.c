// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: BPF programs at a function of this program.
 *
 *	uhook_bpf N		attach a program by a probe of perf's, call the function
 *				N times; then two programs, then one at the return as
 *				well
 *
 * A program counts its calls in a map, where it also stores the address and the
 * stack of the last one.  Exits with 4 where perf has no such probes.
 * Prints how many breakpoints were hit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "../bpf_program.h"
#include "uhook_test.h"

#define STACK_DEPTH	4
#define RETURN_PROBE	1	/* in config; /sys/.../uprobe/format/retprobe */
#define PMU		"/sys/bus/event_source/devices/uprobe/"

UHOOK_FUNCTION(bpf_site);
UHOOK_LABEL(bpf_site_end);

#if defined(__x86_64__)
#define IP_OFFSET	128	/* in struct pt_regs */
asm(".text\n"
	"bpf_site:\n"
	"	lea 1(%rdi), %rax\n"
	"	ret\n"
	"bpf_site_end:\n");
#elif defined(__aarch64__)
#define IP_OFFSET	256	/* in struct user_pt_regs */
asm(".text\n"
	"bpf_site:\n"
	"	add x0, x0, #1\n"
	"	ret\n"
	"bpf_site_end:\n");
#endif

/* Results of a program. */
struct result {
	uint64_t count;
	uint64_t ip;
	int64_t stack_size;
	uint64_t stack[STACK_DEPTH];
};

struct probe {
	int map;
	int prog;
	int event;
};

static long hits;

static int make_prog(int map)
{
	const struct bpf_insn insns[] = {
		MOVE(BPF_REG_6, BPF_REG_1),
		STORE_ZERO(BPF_REG_10, -4),
		LOAD_MAP(BPF_REG_1, map),
		LOAD_MAP_END,
		MOVE(BPF_REG_2, BPF_REG_10),
		ADD(BPF_REG_2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		SKIP_IF_ZERO(BPF_REG_0, 12),
		MOVE(BPF_REG_7, BPF_REG_0),
		SET(BPF_REG_1, 1),
		ATOMIC_ADD(BPF_REG_7, offsetof(struct result, count), BPF_REG_1),
		LOAD(BPF_REG_1, BPF_REG_6, IP_OFFSET),
		STORE(BPF_REG_7, offsetof(struct result, ip), BPF_REG_1),
		MOVE(BPF_REG_1, BPF_REG_6),
		MOVE(BPF_REG_2, BPF_REG_7),
		ADD(BPF_REG_2, offsetof(struct result, stack)),
		SET(BPF_REG_3, STACK_DEPTH * sizeof(uint64_t)),
		SET(BPF_REG_4, BPF_F_USER_STACK),
		CALL(BPF_FUNC_get_stack),
		STORE(BPF_REG_7, offsetof(struct result, stack_size), BPF_REG_0),
		SET(BPF_REG_0, 0),
		EXIT,
	};

	return bpf_make_probe(insns, ARRAY_SIZE(insns));
}

static int make_event(bool at_return)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = at_return ? RETURN_PROBE : 0,
		.uprobe_path = (uintptr_t)"/proc/self/exe",
		.probe_offset = (const char *)bpf_site - __executable_start,
		.sample_period = 1,
	};
	FILE *type = fopen(PMU "type", "r");
	int fd;

	if (!type || fscanf(type, "%u", &attr.type) != 1) {
		fprintf(stderr, "perf has no probes in programs\n");
		exit(4);
	}
	fclose(type);
	fd = syscall(SYS_perf_event_open, &attr, getpid(), -1, -1, PERF_FLAG_FD_CLOEXEC);
	check(fd >= 0, "perf_event_open: %s", strerror(errno));

	return fd;
}

static struct probe attach(bool at_return)
{
	struct probe p;

	p.map = bpf_make_map(sizeof(struct result));
	p.prog = make_prog(p.map);
	p.event = make_event(at_return);
	check(!ioctl(p.event, PERF_EVENT_IOC_SET_BPF, p.prog), "PERF_EVENT_IOC_SET_BPF: %s",
	      strerror(errno));
	check(!ioctl(p.event, PERF_EVENT_IOC_ENABLE, 0), "PERF_EVENT_IOC_ENABLE: %s",
	      strerror(errno));

	return p;
}

static void detach(const struct probe *p)
{
	close(p->event);
	close(p->prog);
	close(p->map);
}

static struct result result_of(const struct probe *p)
{
	struct result result;

	bpf_read_map(p->map, &result);

	return result;
}

static void call(long count)
{
	long i;

	for (i = 0; i < count; i++)
		check(bpf_site(i) == i + 1, "bpf_site(%ld) is %ld", i, bpf_site(i));
	hits += count;
}

static void saw(const struct probe *p, uint64_t count, const void *low, const void *high)
{
	struct result r = result_of(p);

	check(r.count == count, "%lu calls were counted, not %lu", r.count, count);
	check(r.ip >= (uintptr_t)low && r.ip < (uintptr_t)high,
	      "the program was at 0x%lx, not from %p to %p", r.ip, low, high);
	check(r.stack_size >= 8, "the stack has %ld bytes", r.stack_size);
	check(r.stack[0] == r.ip, "the program was at 0x%lx, its stack says 0x%lx", r.ip,
	      r.stack[0]);
}

int main(int argc, char **argv)
{
	const char *site = (const char *)bpf_site;
	char code[16];
	struct probe one, two, returns;
	long n;

	check(argc == 2, "usage: %s N", argv[0]);
	n = atol(argv[1]);
	memcpy(code, site, bpf_site_end - site);

	one = attach(false);
	call(n);
	saw(&one, n, site, site + 1);
	two = attach(false);
	call(n);
	saw(&one, 2 * n, site, site + 1);
	saw(&two, n, site, site + 1);
	detach(&one);
	call(n);
	saw(&two, 2 * n, site, site + 1);
	returns = attach(true);
	call(n);
	saw(&two, 3 * n, site, site + 1);
	/* Its address must be that of the function, or the return address. */
	saw(&returns, n, __executable_start, sbrk(0));
	detach(&returns);
	detach(&two);

	call(0);
	check(!memcmp(code, site, bpf_site_end - site), "a breakpoint has stayed");
	check(bpf_site(1) == 2, "bpf_site(1) is %ld", bpf_site(1));
	printf("%ld\n", hits);

	return 0;
}
