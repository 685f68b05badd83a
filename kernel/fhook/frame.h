/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: calls whose return is hooked, and the shadow stacks that they are on.
 */
#ifndef _FHOOK_FRAME_H
#define _FHOOK_FRAME_H

#include <linux/fhook.h>
#include <linux/limits.h>
#include <linux/sizes.h>
#include <linux/types.h>

struct fhook_exits;

/**
 * struct fhook_frame - a call whose return is, or may be, hooked
 * @ret: where the function was to return to
 * @key: what unwinders find it by, 0 until the return is hooked
 * @func: the function
 * @exits: of its set
 * @size: with the data that follow, in bytes: there the next older one begins
 * @declined: a bit for each of @exits that does not want this call
 */
struct fhook_frame {
	unsigned long		ret;
	unsigned long		key;
	unsigned long		func;
	const struct fhook_exits *exits;
	u32			size;
	u32			declined;
};

/**
 * struct fhook_stack - the calls of a task whose returns are hooked
 * @top: the youngest; it grows downwards
 */
struct fhook_stack {
	void			*top;
};

#define FHOOK_STACK_SIZE	SZ_4K

/* There is a frame that belongs to no call, so that there is always one. */
#define FHOOK_NO_KEY		ULONG_MAX

static inline void *fhook_stack_end(struct fhook_stack *stack)
{
	return (void *)stack + FHOOK_STACK_SIZE - sizeof(struct fhook_frame);
}

void fhook_frame_pop(struct fhook_frame *frame);
void fhook_frames_drop(struct fhook_stack *stack);

int fhook_stacks_want(struct fhook_report *report);

#endif /* _FHOOK_FRAME_H */
