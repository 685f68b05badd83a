/* SPDX-License-Identifier: GPL-2.0 */
/* uhook: hardware breakpoints, which show events that leave no other trace. */
#ifndef _UHOOK_WATCH_H
#define _UHOOK_WATCH_H

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The exit status where there are none. */
#define UNSUPPORTED	4

/* A breakpoint at an instruction of the program; the caller adds its action. */
static inline struct perf_event_attr breakpoint_at(unsigned long addr)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_event_attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = addr,
#ifdef __aarch64__
		.bp_len = HW_BREAKPOINT_LEN_4,
#else
		.bp_len = sizeof(long),
#endif
		.exclude_kernel = 1,
	};
}

static inline int open_breakpoint(struct perf_event_attr *attr)
{
	return syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
}

#endif /* _UHOOK_WATCH_H */
