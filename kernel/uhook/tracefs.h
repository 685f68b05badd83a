/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: contents of the files in tracefs.
 */
#ifndef _KERNEL_UHOOK_TRACEFS_H
#define _KERNEL_UHOOK_TRACEFS_H

#include <linux/fs.h>
#include <linux/types.h>
#include <linux/uhook_hooks.h>

unsigned long uhook_hits_of(enum uhook_outcome outcome);

u64 uhook_hits_jumped(void);

extern const struct file_operations uhook_slots_fops;

#endif /* _KERNEL_UHOOK_TRACEFS_H */
