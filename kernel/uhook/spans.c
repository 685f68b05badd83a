// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: calls of functions that have not ended yet.
 *
 * A hook that is hit at the entry and at the exits of a function can measure calls. Entry
 * and exit of a call have the same stack pointer, and no two running calls of a process
 * have the same one, unless the program copies stacks. This also holds if another thread
 * continues the call on the same stack, and nothing on the stack is changed.
 *
 * A call that is left by an exception or by longjmp() never ends here. It is forgotten
 * when the next call has its stack pointer, or when the process has MAX_CALLS newer ones.
 * The same happens to calls whose hook was removed, and to those of uhook_mm::forgotten. A
 * child does not inherit calls.
 *
 * The memory group of the process pays for the table and the calls. uhook_spans::lock is
 * held to add or remove a single call. It is a mutex because the program chooses the stack
 * pointers, and with them the length of a chain: its tasks wait, and can be preempted.
 *
 * Mainline's counterpart is struct return_instance, of uretprobes, which replace return
 * addresses and keep the calls of each thread.
 */
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "events.h"
#include "handlers.h"

#define MAX_CALLS	32768
#define TABLE_BITS	11

/**
 * struct uhook_spans - calls of a process
 * @lock: protects the other members
 * @order: the calls, in the order in which they began
 * @nr: their number
 * @table: &struct open_call, by stack pointer
 */
struct uhook_spans {
	struct mutex		lock;	/* protects the other members */
	struct list_head	order;
	unsigned int		nr;
	struct hlist_head	table[1 << TABLE_BITS];
};

/* A call in the table. */
struct open_call {
	struct hlist_node	node;
	struct list_head	order;
	struct uhook_span	span;
};

/* The calls of a process, created if needed; NULL if there is no memory. */
static struct uhook_spans *get_spans(struct uhook_mm *um)
{
	/* Pairs with the cmpxchg() below. */
	struct uhook_spans *spans = smp_load_acquire(&um->spans), *other;

	if (spans)
		return spans;

	spans = kvzalloc(sizeof(*spans), GFP_UHOOK);
	if (!spans)
		return NULL;
	mutex_init(&spans->lock);
	INIT_LIST_HEAD(&spans->order);

	other = cmpxchg(&um->spans, NULL, spans);
	if (other) {
		kvfree(spans);
		return other;
	}

	return spans;
}

static struct hlist_head *chain_of(struct uhook_spans *spans, const struct uhook_span_key *key)
{
	return &spans->table[hash_64(key->sp, TABLE_BITS)];
}

static struct open_call *find_call(struct uhook_spans *spans, const struct uhook_span_key *key)
{
	struct open_call *open;

	lockdep_assert_held(&spans->lock);

	hlist_for_each_entry(open, chain_of(spans, key), node)
		if (open->span.key.sp == key->sp && open->span.key.owner == key->owner)
			return open;

	return NULL;
}

static void remove_call(struct uhook_spans *spans, struct open_call *open)
{
	lockdep_assert_held(&spans->lock);

	hlist_del(&open->node);
	list_del(&open->order);
	spans->nr--;
	kfree(open);
}

static void insert_call(struct uhook_spans *spans, struct open_call *open)
{
	lockdep_assert_held(&spans->lock);

	hlist_add_head(&open->node, chain_of(spans, &open->span.key));
	list_add_tail(&open->order, &spans->order);
	spans->nr++;
	open->span.time = ktime_get_ns();
}

/**
 * uhook_begin_span - remember a call until it ends
 * @um: state of current's address space
 * @span: the call; is copied, except for the time, which is that of this function's end
 *
 * Replaces an older call with the same key. Without memory the call is not remembered.
 *
 * Context: task; sleeps.
 */
void uhook_begin_span(struct uhook_mm *um, const struct uhook_span *span)
{
	struct uhook_spans *spans = get_spans(um);
	struct open_call *open, *old;

	if (!spans)
		return;
	open = kmalloc(sizeof(*open), GFP_UHOOK);
	if (open)
		open->span = *span;

	mutex_lock(&spans->lock);
	old = find_call(spans, &span->key);
	if (!old && spans->nr == MAX_CALLS)
		old = list_first_entry(&spans->order, struct open_call, order);
	if (old)
		remove_call(spans, old);
	if (open)
		insert_call(spans, open);
	mutex_unlock(&spans->lock);
}

/**
 * uhook_end_span - find a call that ends, and forget it
 * @um: state of current's address space
 * @span: its key is set; the rest is filled in
 *
 * Context: task; sleeps.
 * Return: whether the call is known.
 */
bool uhook_end_span(struct uhook_mm *um, struct uhook_span *span)
{
	/* Pairs with get_spans(). */
	struct uhook_spans *spans = smp_load_acquire(&um->spans);
	struct open_call *open;
	bool found;

	if (!spans)
		return false;

	mutex_lock(&spans->lock);
	open = find_call(spans, &span->key);
	found = open && open->span.time > READ_ONCE(um->forgotten);
	if (open) {
		*span = open->span;
		remove_call(spans, open);
	}
	mutex_unlock(&spans->lock);

	return found;
}

/**
 * uhook_forget_calls - make all running calls of a process unknown at their end
 * @task: task of the process
 *
 * The calls stay in the table: a task of the process may hold its lock for any time.
 *
 * Context: task; does not sleep.
 */
void uhook_forget_calls(struct task_struct *task)
{
	struct uhook_mm *um = NULL;

	/* A task that has an address space under this lock is one of its users. */
	task_lock(task);
	if (task->mm && !(task->flags & PF_KTHREAD))
		um = uhook_mm_of(task->mm);
	if (um)
		WRITE_ONCE(um->forgotten, ktime_get_ns());
	task_unlock(task);
}

/**
 * uhook_free_spans - free the calls of an address space without users
 * @um: state of the address space
 */
void uhook_free_spans(struct uhook_mm *um)
{
	struct open_call *open, *next;

	if (!um->spans)
		return;
	list_for_each_entry_safe(open, next, &um->spans->order, order)
		kfree(open);
	kvfree(um->spans);
}
