/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: fprobes that are carried by fhook's slots, for kernel/trace/fprobe.c.
 */
#ifndef _LINUX_FHOOK_FPROBES_H
#define _LINUX_FHOOK_FPROBES_H

#include <linux/errno.h>

struct fprobe;

#ifdef CONFIG_FPROBE_ON_FHOOK

int fhook_fprobe_register(struct fprobe *fp, const unsigned long *addrs, unsigned int num);
void fhook_fprobe_unregister(struct fprobe *fp);
unsigned long fhook_fprobe_missed(const struct fprobe *fp);

#else /* !CONFIG_FPROBE_ON_FHOOK */

static inline int fhook_fprobe_register(struct fprobe *fp, const unsigned long *addrs,
					unsigned int num)
{
	return -EOPNOTSUPP;
}

static inline void fhook_fprobe_unregister(struct fprobe *fp) { }

static inline unsigned long fhook_fprobe_missed(const struct fprobe *fp)
{
	return 0;
}

#endif /* CONFIG_FPROBE_ON_FHOOK */

#endif /* _LINUX_FHOOK_FPROBES_H */
