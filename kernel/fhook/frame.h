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
 * @ret: original return address
 * @key: value by which unwinders find the frame, 0 until the return is hooked
 * @func: address of the hooked function
 * @exits: exits of the set of the call
 * @size: size of the frame with its data, in bytes: the next older frame follows
 * @declined: bit mask of those in @exits that declined the exit of this call
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
 * struct fhook_stack - shadow stack of a task
 * @top: youngest frame; the stack grows downwards
 */
struct fhook_stack {
	void			*top;
};

#define FHOOK_STACK_SIZE	SZ_4K

/* The key of the frame at the bottom, which belongs to no call. */
#define FHOOK_NO_KEY		ULONG_MAX

static inline void *fhook_stack_end(struct fhook_stack *stack)
{
	return (void *)stack + FHOOK_STACK_SIZE - sizeof(struct fhook_frame);
}

void fhook_frame_pop(struct fhook_frame *frame);
void fhook_frames_drop(struct fhook_stack *stack);

int fhook_stacks_want(struct fhook_report *report);
void fhook_stacks_put(void);

#endif /* _FHOOK_FRAME_H */
