// SPDX-License-Identifier: GPL-2.0
/*
 * Print the function whose address a BPF program at a kprobe gets.
 *
 *	fhook_func_ip FUNCTION
 *
 * Probes the first byte of FUNCTION, which reading a file must come by, and prints what
 * bpf_get_func_ip() says there.  Ends with 4 where perf has no such probes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../bpf_program.h"

#define PMU "/sys/bus/event_source/devices/kprobe/type"

static void fail(const char *what, int status)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(status);
}

/* The only element of the map is the result of the helper. */
static int make_prog(int map)
{
	const struct bpf_insn insns[] = {
		CALL(BPF_FUNC_get_func_ip),
		STORE(BPF_REG_10, -8, BPF_REG_0),
		STORE_ZERO(BPF_REG_10, -12),
		LOAD_MAP(BPF_REG_1, map),
		LOAD_MAP_END,
		MOVE(BPF_REG_2, BPF_REG_10),
		ADD(BPF_REG_2, -12),
		MOVE(BPF_REG_3, BPF_REG_10),
		ADD(BPF_REG_3, -8),
		SET(BPF_REG_4, BPF_ANY),
		CALL(BPF_FUNC_map_update_elem),
		SET(BPF_REG_0, 0),
		EXIT,
	};

	return bpf_make_probe(insns, sizeof(insns) / sizeof(*insns));
}

static int make_event(const char *function)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.kprobe_func = (uintptr_t)function,
		.sample_period = 1,
	};
	FILE *type = fopen(PMU, "r");
	int fd;

	if (!type || fscanf(type, "%u", &attr.type) != 1)
		fail(PMU, 4);
	fclose(type);
	fd = syscall(SYS_perf_event_open, &attr, getpid(), -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		fail("perf_event_open", 1);

	return fd;
}

static void read_something(void)
{
	int fd = open("/proc/self/stat", O_RDONLY);
	char byte;

	if (fd < 0 || read(fd, &byte, 1) != 1)
		fail("/proc/self/stat", 1);
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t ip = 0;
	int map, event;

	if (argc != 2) {
		fprintf(stderr, "usage: fhook_func_ip FUNCTION\n");
		return 1;
	}
	event = make_event(argv[1]);
	map = bpf_make_map(sizeof(ip));
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, make_prog(map)) ||
	    ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		fail("attaching", 1);
	read_something();
	bpf_read_map(map, &ip);
	printf("%016lx\n", (unsigned long)ip);

	return 0;
}
