/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: switching a whole patch while no task is inside its functions.
 */
#ifndef _FHOOK_CONSISTENCY_H
#define _FHOOK_CONSISTENCY_H

#include <linux/errno.h>
#include <linux/fhook.h>
#include <linux/types.h>

#include "function.h"

#ifdef CONFIG_HAVE_RELIABLE_STACKTRACE
int fhook_switch_consistently(const struct fhook_ranges *ranges, u32 *gate, u32 value,
			      struct fhook_report *report);
void fhook_wait_until_left(const struct fhook_ranges *ranges, const char *name);
#else
static inline int
fhook_switch_consistently(const struct fhook_ranges *ranges, u32 *gate, u32 value,
			  struct fhook_report *report)
{
	return -EOPNOTSUPP;
}

static inline void
fhook_wait_until_left(const struct fhook_ranges *ranges, const char *name)
{
}
#endif

#endif /* _FHOOK_CONSISTENCY_H */
