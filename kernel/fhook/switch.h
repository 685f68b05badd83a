/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: the off switch, and the directory in tracefs that contains it.
 */
#ifndef _FHOOK_SWITCH_H
#define _FHOOK_SWITCH_H

#include <linux/dcache.h>
#include <linux/types.h>

int fhook_switch(bool on);

/* NULL if tracefs has no such directory. */
extern struct dentry *fhook_tracefs_dir;

#endif /* _FHOOK_SWITCH_H */
