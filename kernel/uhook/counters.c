// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: counters of hooks.
 *
 * A hook has one counter for all its sites. Hits seen in the kernel are counted for each
 * CPU. Hits counted by bodies are added on demand (sums.c): a body counts for all hooks
 * of its set. Sets hold references to their counters, so a counter may outlive its hook.
 */
#include <linux/err.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/uhook.h>

#include "counters.h"
#include "report.h"

static void free_counter(struct uhook_counter *counter)
{
	free_percpu(counter->hits);
	kfree(counter->code);
	kfree(counter);
}

/**
 * uhook_make_counter - make the counter of a hook
 * @ops: the hook
 * @kind: kind of the hook
 * @nr: number of points of the hook
 *
 * Context: task; sleeps.
 * Return: the counter, with one reference; or an error, already reported by uhook_fail():
 * the hook's request is invalid, or there is no memory.
 */
struct uhook_counter *uhook_make_counter(struct uhook_ops *ops, const struct uhook_kind *kind,
					 unsigned int nr)
{
	struct uhook_counter *counter = kzalloc(sizeof(*counter), GFP_KERNEL);
	int err;

	if (!counter)
		goto no_memory;

	counter->kind = kind;
	counter->no_vectors = ops->flags & UHOOK_FL_NO_VECTORS;
	counter->breaks = ops->flags & UHOOK_FL_IN_BODY;
	err = kind->check ? kind->check(counter, ops, nr) : 0;
	if (err) {
		free_counter(counter);
		return ERR_PTR(err);
	}
	counter->hits = alloc_percpu(struct uhook_cpu_hits);
	if (!counter->hits) {
		free_counter(counter);
		goto no_memory;
	}
	refcount_set(&counter->ref, 1);
	spin_lock_init(&counter->lock);
	counter->ops = ops;

	return counter;

no_memory:
	uhook_fail(ops, UHOOK_ERR_NO_MEMORY, "there is no memory");
	return ERR_PTR(-ENOMEM);
}

/* Context: task; sleeps. */
void uhook_put_counter(struct uhook_counter *counter)
{
	if (!refcount_dec_and_test(&counter->ref))
		return;

	free_counter(counter);
}

/**
 * uhook_leave_counter - detach a counter from its unregistered hook
 * @counter: the counter, which receives no more records
 *
 * Context: task; sleeps.
 */
void uhook_leave_counter(struct uhook_counter *counter)
{
	spin_lock(&counter->lock);
	counter->ops = NULL;
	spin_unlock(&counter->lock);

	uhook_put_counter(counter);
}

/**
 * uhook_count_user - count a hit that the kernel has seen
 * @counter: counter of the hook
 * @body: true if the task continues in a body, which counts the hit, too
 */
void uhook_count_user(struct uhook_counter *counter, bool body)
{
	if (body)
		this_cpu_inc(counter->hits->user);
	else
		this_cpu_inc(counter->hits->kernel);
}
