/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: kprobes and kretprobes at function entries that are carried by fhook's slots, for
 * kernel/kprobes.c.
 */
#ifndef _LINUX_FHOOK_KPROBES_H
#define _LINUX_FHOOK_KPROBES_H

#include <linux/types.h>

struct kprobe;

#ifdef CONFIG_KPROBES_ON_FHOOK

bool fhook_kprobe_possible(const struct kprobe *p);
void fhook_kprobe_prepare(struct kprobe *p);
int fhook_kprobe_arm(struct kprobe *p, bool is_return);
void fhook_kprobe_disarm(struct kprobe *p, bool is_return);
unsigned long fhook_kprobe_missed(struct kprobe *p);

#else /* !CONFIG_KPROBES_ON_FHOOK */

static inline bool fhook_kprobe_possible(const struct kprobe *p)
{
	return false;
}

static inline void fhook_kprobe_prepare(struct kprobe *p) { }

static inline int fhook_kprobe_arm(struct kprobe *p, bool is_return)
{
	return -EOPNOTSUPP;
}

static inline void fhook_kprobe_disarm(struct kprobe *p, bool is_return) { }

static inline unsigned long fhook_kprobe_missed(struct kprobe *p)
{
	return 0;
}

#endif /* CONFIG_KPROBES_ON_FHOOK */

#endif /* _LINUX_FHOOK_KPROBES_H */
