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

/**
 * struct fhook_looks - looks for a task in the way of a consistent switch
 * @ranges: functions of the last try that no task may be in; NULL if there was none
 * @num: number of looks so far that found a task inside
 * @waited: time between the looks so far, in milliseconds
 * @took: duration of the last try, in milliseconds
 */
struct fhook_looks {
	struct fhook_ranges	*ranges;
	unsigned int		num;
	unsigned int		waited;
	unsigned int		took;
};

#ifdef CONFIG_HAVE_RELIABLE_STACKTRACE
int fhook_switch_consistently(struct fhook_looks *looks, u32 *gate, u32 value,
			      struct fhook_report *report);
bool fhook_look_again(struct fhook_looks *looks, int err,
		      struct fhook_report *report);
void fhook_wait_until_left(const struct fhook_ranges *ranges, const char *name);
#else
static inline int
fhook_switch_consistently(struct fhook_looks *looks, u32 *gate, u32 value,
			  struct fhook_report *report)
{
	return -EOPNOTSUPP;
}

static inline bool fhook_look_again(struct fhook_looks *looks, int err,
				    struct fhook_report *report)
{
	return false;
}

static inline void
fhook_wait_until_left(const struct fhook_ranges *ranges, const char *name)
{
}
#endif

#endif /* _FHOOK_CONSISTENCY_H */
