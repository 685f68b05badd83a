// SPDX-License-Identifier: GPL-2.0
/*
 * BPF programs for events on hooks, which fhook_bpf attaches as it would to a tracepoint,
 * and some for kprobes.
 *
 * The context at an event is the record: eight bytes of common fields, and the fields that
 * the format file of the event lists.
 */
#include <linux/bpf.h>
#include <asm/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "fhook_bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fhook_bpf_hits);
} hits SEC(".maps");

/* Store a hit with the first @nr words of its record. */
static __always_inline int store(__u64 *record, int nr)
{
	struct fhook_bpf_hits *all;
	__u32 key = 0;
	int i;

	all = bpf_map_lookup_elem(&hits, &key);
	if (!all)
		return 0;
	__sync_fetch_and_add(&all->count, 1);
	all->tgid = bpf_get_current_pid_tgid() >> 32;
	all->cookie = bpf_get_attach_cookie(record);
	for (i = 0; i < nr; i++)
		all->words[i] = record[1 + i];
	all->kernel_size = bpf_get_stack(record, all->kernel, sizeof(all->kernel), 0);
	all->user_size = bpf_get_stack(record, all->user, sizeof(all->user), BPF_F_USER_STACK);
	return 0;
}

static __always_inline int count(void)
{
	struct fhook_bpf_hits *all;
	__u32 key = 0;

	all = bpf_map_lookup_elem(&hits, &key);
	if (all)
		__sync_fetch_and_add(&all->count, 1);
	return 0;
}

SEC("tracepoint")
int count_event(void *record)
{
	return count();
}

SEC("kprobe")
int count_kprobe(void *regs)
{
	return count();
}

SEC("fentry")
int count_call(void *arguments)
{
	return count();
}

static __always_inline int store_function(struct pt_regs *regs, bool wanted)
{
	struct fhook_bpf_hits *all;
	__u32 key = 0;

	all = bpf_map_lookup_elem(&hits, &key);
	if (!all || !wanted)
		return 0;
	__sync_fetch_and_add(&all->count, 1);
	all->cookie = bpf_get_attach_cookie(regs);
	all->words[0] = bpf_get_func_ip(regs);
	all->kernel_size = bpf_get_stack(regs, all->kernel, sizeof(all->kernel), 0);
	return 0;
}

/* Calls whose third argument is FHOOK_BPF_SIZE */
SEC("kprobe")
int third_is_size(struct pt_regs *regs)
{
	return store_function(regs, PT_REGS_PARM3(regs) == FHOOK_BPF_SIZE);
}

/* Calls that return FHOOK_BPF_SIZE */
SEC("kprobe")
int returns_size(struct pt_regs *regs)
{
	return store_function(regs, PT_REGS_RC(regs) == FHOOK_BPF_SIZE);
}

/* Both, in a session */
SEC("kprobe")
int either_is_size(struct pt_regs *regs)
{
	return store_function(regs, PT_REGS_PARM3(regs) == FHOOK_BPF_SIZE ||
				    PT_REGS_RC(regs) == FHOOK_BPF_SIZE);
}

/* The function returns FHOOK_BPF_ERROR at once. */
SEC("kprobe")
int override_return(struct pt_regs *regs)
{
	bpf_override_return(regs, (__u64)FHOOK_BPF_ERROR);
	return count();
}

SEC("tracepoint")
int words2(void *record)
{
	return store(record, 2);
}

SEC("tracepoint")
int words4(void *record)
{
	return store(record, 4);
}

char _license[] SEC("license") = "GPL";
