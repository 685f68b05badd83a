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
 * @ops: its ops, which may be freed when there is no exit callback any more
 * @call: its exit callback, as long as that may be called, else NULL; read without the mutex
 * @data: offset of the hook's data in a frame, in bytes; 0 if it has none
 */
struct fhook_exit {
	struct fhook_hook	*hook;
	struct fhook_ops	*ops;
	const fhook_exit_t	*call;
	u32			data;
};

/**
 * struct fhook_exits - exits of a set, to which its frames refer
 * @pending: number of frames that wait for a return; only the sum of all CPUs is meaningful
 * @stub: return address that the functions get
 * @size: size of a frame with all data, in bytes
 * @all: value of &fhook_frame.declined if no hook wants the exit
 * @retired: queue entry after the set has been freed
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
void fhook_exit_kill(struct fhook_exit *exit);
void fhook_exits_put(struct fhook_exits *exits, bool used);

#endif /* _FHOOK_EXITS_H */
