// SPDX-License-Identifier: GPL-2.0
/*
 * Which function a BPF program at a kprobe is told that it is at.
 *
 *	fhook_func_ip FUNCTION
 *
 * Probes the first byte of FUNCTION, which reading a file must come by, and prints what
 * bpf_get_func_ip() says there.  Ends with 4 where perf has no such probes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU "/sys/bus/event_source/devices/kprobe/type"

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i })

static void fail(const char *what, int status)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(status);
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int make_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = 8,
		.max_entries = 1,
	};
	int fd = bpf(BPF_MAP_CREATE, &attr);

	if (fd < 0)
		fail("BPF_MAP_CREATE", 1);

	return fd;
}

/* The one element of the map is what the helper says. */
static int make_prog(int map)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_func_ip),
		INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_0, -8, 0),
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -12, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -12),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, 0, 0, -8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, BPF_ANY),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_update_elem),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(*insns),
		.license = (uintptr_t)"GPL",
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		fail("BPF_PROG_LOAD", 1);

	return fd;
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
	union bpf_attr attr = {};
	uint64_t ip = 0;
	uint32_t key = 0;
	int map, event;

	if (argc != 2) {
		fprintf(stderr, "usage: fhook_func_ip FUNCTION\n");
		return 1;
	}
	map = make_map();
	event = make_event(argv[1]);
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, make_prog(map)) ||
	    ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		fail("attaching", 1);
	read_something();
	attr.map_fd = map;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)&ip;
	if (bpf(BPF_MAP_LOOKUP_ELEM, &attr))
		fail("BPF_MAP_LOOKUP_ELEM", 1);
	printf("%016lx\n", (unsigned long)ip);

	return 0;
}
