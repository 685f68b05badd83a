/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: exit callbacks of the hooks of a set.
 */
#ifndef _FHOOK_EXITS_H
#define _FHOOK_EXITS_H

#include <linux/fhook.h>
#include <linux/percpu-defs.h>
#include <linux/types.h>

#include "core.h"
#include "retire.h"

struct fhook_set;

/**
 * struct fhook_exit - a hook of a set that has an exit callback
 * @hook: the hook
 * @data: where its data are in a frame, in bytes; 0 if it wants none
 * @dead: as in &struct fhook_member; read without the mutex
 */
struct fhook_exit {
	struct fhook_hook	*hook;
	u32			data;
	bool			dead;
};

/**
 * struct fhook_exits - what a set does when its functions return
 * @pending: how many frames wait for that; only the sum means something
 * @stub: what functions return to instead
 * @size: of a frame with all data, in bytes
 * @all: &fhook_frame.declined if nobody wants the exit
 * @retired: once the set is gone
 * @num: number of hooks
 * @exits: the hooks with exit callbacks, in the order of the set
 */
struct fhook_exits {
	long __percpu		*pending;
	void			(*stub)(void);
	u32			size;
	u32			all;
	struct fhook_retired	retired;
	unsigned int		num;
	struct fhook_exit	exits[] __counted_by(num);
};

int fhook_exits_make(struct fhook_set *set, struct fhook_report *report);
void fhook_exits_put(struct fhook_exits *exits, bool used);

#endif /* _FHOOK_EXITS_H */
