/* SPDX-License-Identifier: GPL-2.0 */
/* The value that the BPF programs of fhook_events.bpf.c leave for fhook_bpf */
#ifndef _FHOOK_BPF_H
#define _FHOOK_BPF_H

#include <linux/types.h>

#define FHOOK_BPF_WORDS		4
#define FHOOK_BPF_DEPTH		8

/* Bytes that a process of the test reads at once, and no other */
#define FHOOK_BPF_SIZE		31347

/* What functions return that are overridden */
#define FHOOK_BPF_ERROR		(-12L)

/**
 * struct fhook_bpf_hits - number of hits, and data of the last one
 * @count: number of hits
 * @tgid: process of the current task
 * @cookie: cookie of the link
 * @words: words of the record after the common fields
 * @kernel_size: size of the kernel stack in bytes, or a negative error
 * @user_size: size of the user stack in bytes, or a negative error
 * @kernel: return addresses of the kernel, innermost first
 * @user: return addresses of the program, innermost first
 */
struct fhook_bpf_hits {
	__u64	count;
	__u64	tgid;
	__u64	cookie;
	__u64	words[FHOOK_BPF_WORDS];
	__s64	kernel_size;
	__s64	user_size;
	__u64	kernel[FHOOK_BPF_DEPTH];
	__u64	user[FHOOK_BPF_DEPTH];
};

#endif /* _FHOOK_BPF_H */
