/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BPF programs by hand, for tests that link with no library: a map of one element that
 * the program leaves something in, and instructions.
 */
#ifndef _FHOOK_BPF_PROGRAM_H
#define _FHOOK_BPF_PROGRAM_H

#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i })
#define MOVE(d, s)		INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define SET(d, i)		INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD(d, i)		INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define LOAD(d, s, o)		INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE(d, o, s)		INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE_ZERO(d, o)	INSN(BPF_ST | BPF_MEM | BPF_W, d, 0, o, 0)
#define ATOMIC_ADD(d, o, s)	INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, o, BPF_ADD)
#define CALL(i)			INSN(BPF_JMP | BPF_CALL, 0, 0, 0, i)
#define SKIP_IF_ZERO(d, n)	INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, n, 0)
#define EXIT			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* The map with this descriptor, in two. */
#define LOAD_MAP(d, fd)		INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_MAP_FD, 0, fd)
#define LOAD_MAP_END		INSN(0, 0, 0, 0, 0)

/* A system call on BPF that must succeed. */
static inline int bpf_do(const char *what, int cmd, union bpf_attr *attr)
{
	int ret = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	if (ret < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(1);
	}

	return ret;
}

static inline int bpf_make_map(unsigned int size)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = size,
		.max_entries = 1,
	};

	return bpf_do("BPF_MAP_CREATE", BPF_MAP_CREATE, &attr);
}

static inline void bpf_read_map(int map, void *value)
{
	uint32_t key = 0;
	union bpf_attr attr = {
		.map_fd = map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)value,
	};

	bpf_do("BPF_MAP_LOOKUP_ELEM", BPF_MAP_LOOKUP_ELEM, &attr);
}

/* A program for probes; complaints of the verifier go to the standard error. */
static inline int bpf_make_probe_for(enum bpf_attach_type type, const struct bpf_insn *insns,
				     unsigned int nr)
{
	static char log[8192];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.expected_attach_type = type,
		.insns = (uintptr_t)insns,
		.insn_cnt = nr,
		.license = (uintptr_t)"GPL",
		.log_level = 1,
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd < 0) {
		fprintf(stderr, "BPF_PROG_LOAD: %s\n%s", strerror(errno), log);
		exit(1);
	}

	return fd;
}

static inline int bpf_make_probe(const struct bpf_insn *insns, unsigned int nr)
{
	return bpf_make_probe_for(0, insns, nr);
}

#endif /* _FHOOK_BPF_PROGRAM_H */
