/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: interface for uhook events, in addition to <linux/uhook.h>.
 */
#ifndef _KERNEL_UHOOK_EVENTS_H
#define _KERNEL_UHOOK_EVENTS_H

#include <linux/uhook.h>

#include "life.h"

/**
 * struct uhook_span_key - identity of a call in a process
 * @owner: number chosen by the owner of the hook
 * @sp: stack pointer at the entry and at the exits of the function
 */
struct uhook_span_key {
	u64	owner;
	u64	sp;
};

/**
 * struct uhook_span - a call that has not ended
 * @key: identity of the call
 * @time: time of the entry, in nanoseconds of ktime_get_ns()
 * @func: address of the function
 * @values: values that the owner keeps from the entry, for example registers
 */
struct uhook_span {
	struct uhook_span_key	key;
	u64			time;
	unsigned long		func;
	u64			values[UHOOK_RECORD_ARGS];
};

void uhook_begin_span(struct uhook_mm *um, const struct uhook_span *span);
bool uhook_end_span(struct uhook_mm *um, struct uhook_span *span);
void uhook_forget_calls(struct task_struct *task);

int uhook_register_async(struct uhook_ops *ops, const struct uhook_point *points,
			 unsigned int nr, uhook_gone_t gone);
void uhook_flush(void);
void uhook_hold_hits(void);
void uhook_release_hits(void);
void uhook_held_hits(const struct uhook_ops *ops, struct uhook_hits *hits);
enum uhook_user uhook_user_named(const char *name);
const char *uhook_user_name(enum uhook_user user);

#endif /* _KERNEL_UHOOK_EVENTS_H */
