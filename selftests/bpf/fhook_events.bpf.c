// SPDX-License-Identifier: GPL-2.0
/*
 * BPF programs for events on hooks, which fhook_bpf attaches as it would to a tracepoint,
 * and one for kprobes.
 *
 * The context at an event is the record: eight bytes of common fields, and the fields that
 * the format file of the event lists.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

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
