// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: counters of hooks.
 *
 * A hook has one counter for all its sites. What the kernel sees it counts on
 * each CPU; what bodies have counted is added up when somebody asks (sums.c): a body
 * counts for all hooks of its set. Sets keep their counters longer than the hook is
 * there.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uhook.h>

#include "counters.h"

static int set_recorder(struct uhook_counter *counter, const struct uhook_ops *ops)
{
	unsigned int i;

	if (ops->nr_regs > UHOOK_RECORD_ARGS)
		return -EINVAL;

	for (i = 0; i < ops->nr_regs; i++) {
		int number = uhook_register_number(ops->regs[i]);

		if (number < 0)
			return number;
		counter->recorder.regs[i] = number;
	}
	counter->recorder.nr_regs = ops->nr_regs;
	counter->recorder.stack = ops->stack;

	return 0;
}

static int set_code(struct uhook_counter *counter, const struct uhook_ops *ops)
{
	int err;

	if (ops->code_size > UHOOK_CODE_MAX)
		return -EINVAL;
	err = uhook_check_code(ops->code, ops->code_size);
	if (err)
		return err;

	counter->code = kmemdup(ops->code, ops->code_size, GFP_KERNEL);
	counter->code_size = ops->code_size;

	return counter->code ? 0 : -ENOMEM;
}

static int set_stubs(struct uhook_counter *counter, const struct uhook_ops *ops, unsigned int nr)
{
	if (nr > UHOOK_STUBS_MAX || !ops->stubs || offset_in_page(ops->stubs) ||
	    ops->stubs >= TASK_SIZE_MAX - UHOOK_STUBS_MAX * UHOOK_STUB_SIZE)
		return -EINVAL;

	counter->stubs = ops->stubs;
	counter->nr_stubs = nr;

	return 0;
}

/* What is to happen in the program, if it can. */
static int set_user(struct uhook_counter *counter, const struct uhook_ops *ops, unsigned int nr)
{
	counter->user = ops->user;
	counter->no_vectors = ops->no_vectors;
	counter->breaks = ops->in_body;

	switch (ops->user) {
	case UHOOK_USER_RECORD:
		return ops->record ? set_recorder(counter, ops) : -EINVAL;
	case UHOOK_USER_CODE:
		return set_code(counter, ops);
	case UHOOK_USER_FUNCTION:
		counter->function = ops->function;
		return ops->function.inode ? 0 : -EINVAL;
	case UHOOK_USER_STUB:
		return set_stubs(counter, ops, nr);
	default:
		return 0;
	}
}

static void free_counter(struct uhook_counter *counter)
{
	free_percpu(counter->hits);
	kfree(counter->code);
	kfree(counter);
}

/*
 * A counter for a hook with @nr points, with one reference; or an error: what @ops
 * wants to record is wrong.
 */
struct uhook_counter *uhook_make_counter(struct uhook_ops *ops, unsigned int nr)
{
	struct uhook_counter *counter = kzalloc(sizeof(*counter), GFP_KERNEL);
	int err;

	if (!counter)
		return ERR_PTR(-ENOMEM);

	err = set_user(counter, ops, nr);
	if (!err) {
		counter->hits = alloc_percpu(struct uhook_cpu_hits);
		err = counter->hits ? 0 : -ENOMEM;
	}
	if (err) {
		free_counter(counter);
		return ERR_PTR(err);
	}
	refcount_set(&counter->ref, 1);
	mutex_init(&counter->lock);
	counter->ops = ops;

	return counter;
}

/* Context: task; sleeps. */
void uhook_put_counter(struct uhook_counter *counter)
{
	if (!refcount_dec_and_test(&counter->ref))
		return;

	mutex_destroy(&counter->lock);
	free_counter(counter);
}

/**
 * uhook_leave_counter - a hook has gone
 * @counter: the counter of the hook, which receives no more records
 *
 * Context: task; sleeps.
 */
void uhook_leave_counter(struct uhook_counter *counter)
{
	mutex_lock(&counter->lock);
	counter->ops = NULL;
	mutex_unlock(&counter->lock);

	uhook_put_counter(counter);
}

/**
 * uhook_count_user - a hit of a hook, seen in the kernel
 * @counter: the hook's
 * @body: whether it goes on in a body, which counts it too
 */
void uhook_count_user(struct uhook_counter *counter, bool body)
{
	if (body)
		this_cpu_inc(counter->hits->user);
	else
		this_cpu_inc(counter->hits->kernel);
}
