// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: counters of hooks, and sets of hooks.
 *
 * A hook has one counter for all its sites. What the kernel sees it counts on
 * each CPU; what bodies have counted is added up when somebody asks: a body
 * counts for all hooks of its set. Bodies keep their sets, and sets their
 * counters, longer than the hook is there, since a task may be in a body for as
 * long as it likes.
 *
 * Only what is added up is written here, at any time and by many: so it is atomic.
 * Whoever wants sums has what bodies have counted added first, and is alone with that.
 */
#include <linux/err.h>
#include <linux/mm_types.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

/* Held while the counts of all processes are added up and read. */
static DEFINE_MUTEX(sums_lock);

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
	if (counter->user == UHOOK_USER_RECORD)
		uhook_start_draining();

	return counter;
}

static u64 total_of(const struct uhook_counter *counter, size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(u64 *)((void *)per_cpu_ptr(counter->hits, cpu) + offset));

	return sum;
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
	if (counter->user == UHOOK_USER_RECORD)
		uhook_stop_draining();
	mutex_lock(&counter->lock);
	counter->ops = NULL;
	mutex_unlock(&counter->lock);

	uhook_put_counter(counter);
}

/**
 * uhook_hold_counts - add up what all have counted
 *
 * Up to uhook_release_counts() nobody else does, but processes that end add what they had.
 *
 * Context: task; sleeps.
 */
void uhook_hold_counts(void)
{
	mutex_lock(&sums_lock);
	uhook_sum_data();
}

void uhook_release_counts(void)
{
	mutex_unlock(&sums_lock);
}

/**
 * uhook_read_counter - what a hook has counted
 * @counter: the hook's
 * @hits: receives it
 *
 * Context: task, behind uhook_hold_counts().
 */
void uhook_read_counter(const struct uhook_counter *counter, struct uhook_hits *hits)
{
	u64 bodies = atomic64_read(&counter->bodies);

	/* A task that the kernel has sent to a body may not have counted yet. */
	hits->kernel = total_of(counter, offsetof(struct uhook_cpu_hits, kernel));
	hits->user = total_of(counter, offsetof(struct uhook_cpu_hits, user));
	hits->jumped = bodies > hits->user ? bodies - hits->user : 0;
	hits->lost = atomic64_read(&counter->lost);
	hits->missed = atomic64_read(&counter->missed);
	/* Nor does the kernel call what is the program's. */
	if (uhook_calls(counter->user))
		hits->missed += hits->kernel;
}

struct collected {
	struct mm_struct	*mm;
	struct uhook_set	*set;
	bool			filtered;
	unsigned int		nr;
};

/* The counters of the hooks that do something in the program there. */
static bool collect(struct uprobe_consumer *uc, void *data)
{
	struct uhook_ops *ops = uhook_consumer_ops(uc);
	struct collected *c = data;

	if (!ops || !uhook_needs_body(ops))
		return false;
	if (ops->filter) {
		c->filtered = true;
		if (!ops->filter(ops, c->mm))
			return false;
	}

	if (c->set && c->nr < c->set->nr)
		c->set->counters[c->nr] = uhook_consumer_counter(uc);
	c->nr++;

	return false;
}

static void enter_counter(struct uhook_set *set, struct uhook_counter *counter)
{
	refcount_inc(&counter->ref);
	set->records |= counter->user == UHOOK_USER_RECORD;
	set->calls |= uhook_calls(counter->user);
	set->breaks |= counter->breaks;
	set->functions |= counter->user == UHOOK_USER_FUNCTION;
	set->stubs |= counter->user == UHOOK_USER_STUB;
	set->counts |= counter->user != UHOOK_USER_STUB;
}

/* Of so many hooks as there are just now; NULL if there are none. */
static struct uhook_set *collect_set(struct uprobe *uprobe, struct mm_struct *mm)
{
	struct collected c = { .mm = mm };

	uprobe_find_consumer(uprobe, collect, &c);
	if (!c.nr)
		return NULL;

	c.set = kzalloc(struct_size(c.set, counters, c.nr), GFP_UHOOK);
	if (!c.set)
		return ERR_PTR(-ENOMEM);

	c.set->nr = c.nr;
	c.nr = 0;
	uprobe_find_consumer(uprobe, collect, &c);
	c.set->filtered = c.filtered;
	if (c.nr == c.set->nr)
		return c.set;

	kfree(c.set);

	return ERR_PTR(-EAGAIN);
}

/**
 * uhook_make_set - the hooks of a place that do something in a program
 * @uprobe: the place
 * @mm: the program's address space; its mmap lock is held
 *
 * Context: task, between rcu_read_lock_trace() and rcu_read_unlock_trace().
 * Return: a set with one reference; NULL if there are none, or -ENOMEM.
 */
struct uhook_set *uhook_make_set(struct uprobe *uprobe, struct mm_struct *mm)
{
	struct uhook_set *set;
	unsigned int i;

	/*
	 * Hooks come and go meanwhile, and tell the body of it later; but a body of
	 * none would have no code by which its jump is known.
	 */
	do {
		set = collect_set(uprobe, mm);
	} while (set == ERR_PTR(-EAGAIN));
	if (IS_ERR_OR_NULL(set))
		return set;

	refcount_set(&set->ref, 1);
	for (i = 0; i < set->nr; i++)
		enter_counter(set, set->counters[i]);

	return set;
}

static void free_set(struct work_struct *work)
{
	struct uhook_set *set = container_of(to_rcu_work(work), struct uhook_set, free);
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		uhook_put_counter(set->counters[i]);
	kfree(set);
}

/**
 * uhook_put_set - a body, or whoever made it, does not need a set any more
 * @set: it
 *
 * Those who came to the body may still look at it, under RCU.
 *
 * Context: any.
 */
void uhook_put_set(struct uhook_set *set)
{
	if (!refcount_dec_and_test(&set->ref))
		return;

	INIT_RCU_WORK(&set->free, free_set);
	queue_rcu_work(system_unbound_wq, &set->free);
}

/* Do they stand for the same hooks? */
bool uhook_same_set(const struct uhook_set *a, const struct uhook_set *b)
{
	return a->nr == b->nr &&
	       !memcmp(a->counters, b->counters, a->nr * sizeof(a->counters[0]));
}

/**
 * uhook_read_words - what the handlers of a hook have counted
 * @counter: the hook's
 * @words: receives the sums
 *
 * Context: task; sleeps.
 */
void uhook_read_words(const struct uhook_counter *counter, u64 words[UHOOK_DATA_WORDS])
{
	unsigned int i;

	uhook_hold_counts();
	for (i = 0; i < UHOOK_DATA_WORDS; i++)
		words[i] = atomic64_read(&counter->words[i]);
	uhook_release_counts();
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

/* Exceptions that went on in bodies which do not count. */
static DEFINE_PER_CPU(unsigned long, uncounted);

/**
 * uhook_count_uncounted - an exception goes on in a body that does not count it
 */
void uhook_count_uncounted(void)
{
	this_cpu_inc(uncounted);
}

/**
 * uhook_hits_jumped - how many hits there were that no exception told of
 *
 * A task that the kernel has sent to a body may not have counted yet. Those that only
 * go by way of a stub are not known.
 *
 * Context: task; sleeps.
 * Return: the number, of all processes.
 */
u64 uhook_hits_jumped(void)
{
	s64 jumped;
	int cpu;

	uhook_hold_counts();
	jumped = uhook_bodies_run();
	uhook_release_counts();
	jumped -= uhook_hits(UHOOK_USER);
	for_each_possible_cpu(cpu)
		jumped += READ_ONCE(per_cpu(uncounted, cpu));

	return max(jumped, 0);
}
