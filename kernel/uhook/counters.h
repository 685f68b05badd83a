/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: what a hook has counted, and what it does in the program.
 */
#ifndef _KERNEL_UHOOK_COUNTERS_H
#define _KERNEL_UHOOK_COUNTERS_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uhook.h>
#include <linux/uhook_code.h>

#include "kinds.h"

/**
 * struct uhook_cpu_hits - the hits of a hook that the kernel has seen
 * @kernel: that ended in the kernel
 * @user: that went on in a body
 */
struct uhook_cpu_hits {
	u64			kernel;
	u64			user;
};

/**
 * struct uhook_counter - what a hook has counted
 * @ref: the hook's, and one of each set that it is in
 * @hits: in the kernel and after an exception, of each CPU
 * @bodies: by bodies, as far as somebody has looked; likewise the next three
 * @lost: records that the kernel has given up, and those for which there was no room
 * @missed: when its handler was not called
 * @words: what its handler has counted
 * @lock: held while @ops is called for a record, and while it goes
 * @ops: the hook, which may be called; NULL when it has gone
 * @kind: what it does in the program
 * @recorder: what it records
 * @code: a copy of its code
 * @code_size: how long that is
 * @function: its function
 * @stubs: where its stubs begin
 * @nr_stubs: how many it has
 * @no_vectors: whether that leaves vector registers alone
 * @breaks: whether it has its breakpoint in the body
 */
struct uhook_counter {
	refcount_t		ref;
	struct uhook_cpu_hits __percpu *hits;
	atomic64_t		bodies;
	atomic64_t		lost;
	atomic64_t		missed;
	atomic64_t		words[UHOOK_DATA_WORDS];
	struct mutex		lock;	/* records are handed over with it */
	struct uhook_ops	*ops;
	const struct uhook_kind	*kind;
	struct uhook_recorder	recorder;
	void			*code;
	size_t			code_size;
	struct uhook_point	function;
	unsigned long		stubs;
	unsigned int		nr_stubs;
	bool			no_vectors;
	bool			breaks;
};

struct uhook_counter *uhook_make_counter(struct uhook_ops *ops, const struct uhook_kind *kind,
					 unsigned int nr);
void uhook_leave_counter(struct uhook_counter *counter);
void uhook_put_counter(struct uhook_counter *counter);
void uhook_count_user(struct uhook_counter *counter, bool body);

#endif /* _KERNEL_UHOOK_COUNTERS_H */
