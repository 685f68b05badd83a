/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the counter of a hook, with its kind and parameters.
 */
#ifndef _KERNEL_UHOOK_COUNTERS_H
#define _KERNEL_UHOOK_COUNTERS_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uhook.h>
#include <linux/uhook_code.h>

#include "kinds.h"

/**
 * struct uhook_cpu_hits - the hits of a hook that the kernel has seen
 * @kernel: hits that ended in the kernel
 * @user: hits that continued in a body
 */
struct uhook_cpu_hits {
	u64			kernel;
	u64			user;
};

/**
 * struct uhook_counter - counter and parameters of a hook
 * @ref: one reference for the hook, and one for each set that contains the counter
 * @hits: hits in the kernel and after an exception, for each CPU
 * @bodies: hits counted by bodies; like @lost, @missed and @words, as of the last time
 *	that counts were added up
 * @lost: records that were lost for lack of room, or that the kernel discarded
 * @missed: hits at which the handler was not called
 * @words: sums of the words of the handler
 * @given_up: number of the last reading at which entries were given up, see rings.c
 * @lock: held while @ops is called for a record or cleared
 * @ops: the hook, for its callbacks; NULL once it has been unregistered
 * @kind: kind of the hook
 * @recorder: parameters of a recorder
 * @code: copy of the hook's code
 * @code_size: length of @code, in bytes
 * @function: function of a hook that calls one
 * @stubs: address of the first stub
 * @nr_stubs: number of stubs
 * @no_vectors: true if the code or function leaves vector registers alone
 * @breaks: true if the hook has its breakpoint in the body
 */
struct uhook_counter {
	refcount_t		ref;
	struct uhook_cpu_hits __percpu *hits;
	atomic64_t		bodies;
	atomic64_t		lost;
	atomic64_t		missed;
	atomic64_t		words[UHOOK_DATA_WORDS];
	u64			given_up;
	spinlock_t		lock;	/* held while records are handed over */
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
