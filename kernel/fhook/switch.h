/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: its switch, and the directory in tracefs where that is.
 */
#ifndef _FHOOK_SWITCH_H
#define _FHOOK_SWITCH_H

#include <linux/dcache.h>
#include <linux/types.h>

int fhook_switch(bool on);

/* NULL if there is none. */
extern struct dentry *fhook_tracefs_dir;

#endif /* _FHOOK_SWITCH_H */
