// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the exits of a set, which describe calls until their functions return.
 *
 * Frames refer to the exits of their set, and through them to its hooks. A frame
 * stays until its function returns, which may be never, and nothing may wait for
 * that. So the exits of a set outlive it: they count their frames, on the CPU that
 * pushes or pops a frame. When the set is freed, the exits are retired, and are
 * busy until the sum is zero. Hooks stay as long as exits refer to them. Only the
 * ops may be freed earlier: unregistering removes its exit callback from the hook,
 * and after a grace period no CPU is in the callback.
 *
 * After the grace period that a set waits for, its trampoline pushes no more
 * frames. From then on the sum only falls: a sum of zero is final, in whichever
 * order the CPUs' counts are read. The CPU that made it zero may still read the
 * exits, for another grace period.
 *
 * All under fhook_mutex, except the accesses by frame.c.
 */
#include <linux/percpu.h>
#include <linux/slab.h>
#include <asm/fhook_pieces.h>

#include "core.h"
#include "exits.h"
#include "frame.h"
#include "report.h"
#include "retire.h"
#include "set.h"

/* A limit per call, so that one call does not take all room on a task's stack. */
#define MAX_FRAME	(FHOOK_STACK_SIZE / 4)

/* Bits in &fhook_frame.declined. */
#define MAX_EXITS	32

static unsigned int count_exits(const struct fhook_set *set)
{
	unsigned int i, num = 0;

	for (i = 0; i < set->num; i++)
		num += !!set->members[i].hook->ops->exit;

	return num;
}

/* Lay out the frame: the data of each hook, aligned to 8 bytes. */
static void fill(struct fhook_exits *exits, struct fhook_set *set)
{
	unsigned int i, size = sizeof(struct fhook_frame);
	struct fhook_exit *exit = exits->exits;

	for (i = 0; i < set->num; i++) {
		struct fhook_hook *hook = set->members[i].hook;

		if (!hook->ops->exit)
			continue;

		set->members[i].exit = exit;
		exit->hook = hook;
		exit->ops = hook->ops;
		exit->call = &hook->exit;
		hook->sets++;
		if (hook->ops->data_size) {
			exit->data = size;
			size += ALIGN(hook->ops->data_size, sizeof(u64));
		}
		exit++;
	}
	exits->size = size;
	exits->all = GENMASK(exits->num - 1, 0);
	exits->stub = set->flags & FHOOK_FL_REGS ? fhook_regs_return :
						   fhook_return;
}

static void exits_free(struct fhook_exits *exits)
{
	unsigned int i;

	for (i = 0; i < exits->num; i++)
		fhook_hook_put(exits->exits[i].hook);
	free_percpu(exits->pending);
	kfree(exits);
}

/**
 * fhook_exits_make() - prepare the data that frames of a new set need
 * @set: the set, with its hooks
 * @report: report of the error
 *
 * Return: 0 or an error; &fhook_set.exits stays NULL if no hook wants exits.
 */
int fhook_exits_make(struct fhook_set *set, struct fhook_report *report)
{
	unsigned int num = count_exits(set);
	struct fhook_exits *exits;
	int err;

	lockdep_assert_held(&fhook_mutex);
	if (!num)
		return 0;
	if (num > MAX_EXITS)
		return fhook_fail(report, FHOOK_ERR_TOO_MANY, -ENOSPC, 0,
				  "%u are too many exits for one function",
				  num);

	exits = kzalloc(struct_size(exits, exits, num), GFP_KERNEL);
	if (exits)
		exits->pending = alloc_percpu(long);
	if (!exits || !exits->pending) {
		kfree(exits);
		return fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
				  "no memory for %u exits", num);
	}

	exits->num = num;
	fill(exits, set);
	if (exits->size > MAX_FRAME) {
		err = fhook_fail(report, FHOOK_ERR_TOO_MANY, -ENOSPC, 0,
				 "the hooks of one function want %u bytes for each call, more than %u",
				 exits->size, MAX_FRAME);
		exits_free(exits);
		return err;
	}
	set->exits = exits;

	return 0;
}

/**
 * fhook_exit_kill() - let calls of a hook skip its exit callback
 * @exit: the hook, whose trampoline skips the entry callback from now on
 */
void fhook_exit_kill(struct fhook_exit *exit)
{
	static const fhook_exit_t none;

	lockdep_assert_held(&fhook_mutex);
	WRITE_ONCE(exit->call, &none);
}

/* A frame may be popped on another CPU than pushed, so only the sum is meaningful. */
static bool has_frames(struct fhook_retired *retired)
{
	const struct fhook_exits *exits = container_of(retired, struct fhook_exits,
						       retired);
	long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(exits->pending, cpu));

	return sum;
}

static void free_retired(struct fhook_retired *retired)
{
	mutex_lock(&fhook_mutex);
	exits_free(container_of(retired, struct fhook_exits, retired));
	mutex_unlock(&fhook_mutex);
}

/**
 * fhook_exits_put() - release the exits of a set that is being freed
 * @exits: exits of the set, or NULL
 * @used: whether any site ever had the set
 */
void fhook_exits_put(struct fhook_exits *exits, bool used)
{
	lockdep_assert_held(&fhook_mutex);
	if (!exits)
		return;

	if (used)
		fhook_retire(&exits->retired, has_frames, free_retired);
	else
		exits_free(exits);
}
