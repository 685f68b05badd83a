/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: contents of the files in tracefs.
 */
#ifndef _KERNEL_UHOOK_TRACEFS_H
#define _KERNEL_UHOOK_TRACEFS_H

#include <linux/fs.h>
#include <linux/types.h>
#include <linux/uhook_hooks.h>

struct seq_file;

unsigned long uhook_hits_of(enum uhook_outcome outcome);

extern const struct file_operations uhook_slots_fops;

#ifdef CONFIG_UHOOK_EVENTS
void trace_uhook_show_hits(struct seq_file *m);
#else
static inline void trace_uhook_show_hits(struct seq_file *m) { }
#endif

#endif /* _KERNEL_UHOOK_TRACEFS_H */
