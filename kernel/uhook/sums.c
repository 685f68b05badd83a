// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: adding up the counts of bodies.
 *
 * Readers add the counts of bodies to the counters of their hooks: the difference from
 * the last reading, of which the kernel keeps its own copy. The counts are not trusted.
 * They are only added up: if a program overwrites its counters, the results are wrong,
 * but nothing else is affected.
 *
 * Each address space has its own lock for this, uhook_mm::counts, which is held for one
 * area at a time. Readers of sums first let all counts be added, and exclude each other. They
 * wait for tasks of programs for WAIT_TIME at most.
 */
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "rings.h"
#include "sets.h"
#include "sums.h"

/* Maximum time to wait for locks of all processes. */
#define WAIT_TIME	(HZ / 2)

/* Serializes readers while the counts of all processes are added up and read; and wait_end. */
static DEFINE_MUTEX(sums_lock);
static unsigned long wait_end;

/* Number of runs of bodies, as of the last reading. */
static atomic64_t bodies_run;

/* The counter of a body in a lane. */
static u64 *cell_at(const struct uhook_data *data, unsigned int lane, unsigned int nr)
{
	return uhook_data_at(data, lane * UHOOK_LANE_SIZE + nr * sizeof(u64));
}

static u64 sum_of(const struct uhook_data *data, unsigned int nr)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < UHOOK_LANES; i++) {
		const u64 *cell = cell_at(data, i, nr);

		if (cell)
			sum += READ_ONCE(*cell);
	}

	return sum;
}

static struct uhook_cells *cells_at(const struct uhook_data *data, unsigned int nr,
				    unsigned int i)
{
	return uhook_data_at(data, UHOOK_CELLS_AT +
			     (nr * UHOOK_BODY_CELLS + i) * sizeof(struct uhook_cells));
}

/* The counts seen so far of a cells that exists. */
static struct uhook_cells *seen_cells_at(const struct uhook_data *data, unsigned int nr,
					 unsigned int i)
{
	unsigned long at = (nr * UHOOK_BODY_CELLS + i) * sizeof(struct uhook_cells);

	return page_address(READ_ONCE(data->seen[1 + (at >> PAGE_SHIFT)])) + offset_in_page(at);
}

/* Increase since the last reading. A decrease is impossible, and counts as 0. */
static u64 come(u64 now, u64 *seen)
{
	u64 more = now - *seen;

	*seen = now;

	return (s64)more > 0 ? more : 0;
}

static void add_cells(struct uhook_counter *counter, const struct uhook_cells *cells,
		      struct uhook_cells *seen)
{
	unsigned int i;

	atomic64_add(come(READ_ONCE(cells->missed), &seen->missed), &counter->missed);
	atomic64_add(come(READ_ONCE(cells->lost), &seen->lost), &counter->lost);
	for (i = 0; i < UHOOK_DATA_WORDS; i++) {
		u64 word = READ_ONCE(cells->words[i]);

		/* Words are the handler's own, and may decrease. */
		atomic64_add(word - seen->words[i], &counter->words[i]);
		seen->words[i] = word;
	}
}

/* Add the counts of a body since the last reading to the counters of its set. */
static void add_body(struct uhook_mm *um, const struct uhook_data *data,
		     const struct uhook_body *body, unsigned int nr)
{
	/* Exists if a lane exists. Pairs with the cmpxchg() in uhook_make_data_page(). */
	struct page *seen = smp_load_acquire(&data->seen[0]);
	const struct uhook_set *set = uhook_set_of(um, body);
	const struct uhook_cells *cells;
	unsigned int i;
	u64 hits = 0;

	lockdep_assert_held(&um->counts);
	if (!uhook_applies(data, set, nr))
		return;
	if (seen)
		hits = come(sum_of(data, nr), (u64 *)page_address(seen) + nr);
	if (hits)
		atomic64_add(hits, &bodies_run);

	for (i = 0; i < set->nr; i++) {
		if (hits)
			atomic64_add(hits, &set->counters[i]->bodies);
		cells = i < UHOOK_BODY_CELLS && (set->traits & UHOOK_LONG) ?
			cells_at(data, nr, i) : NULL;
		if (cells)
			add_cells(set->counters[i], cells, seen_cells_at(data, nr, i));
	}
}

/**
 * uhook_fold_body - add up the counts of a body that will count for other hooks
 * @um: state of the only address space that has the body
 * @area: the area, with its lock held
 * @nr: number of the body
 *
 * Context: task, with &uhook_mm.counts held; sleeps.
 */
void uhook_fold_body(struct uhook_mm *um, struct uhook_area *area, unsigned int nr)
{
	unsigned int budget = UHOOK_RING_ENTRIES, i = 0;

	lockdep_assert_held(&um->counts);
	lockdep_assert_held(&area->lock);
	while (um->areas[i] != area)
		i++;
	uhook_begin_reading(um);
	uhook_drain_ring(um, area, um->data[i], &budget, false);
	uhook_end_reading(um);
	add_body(um, um->data[i], uhook_body_nr(area, nr), nr);
}

/* Whether the program has ever written a counter in the data of an area. */
static bool has_counted(const struct uhook_data *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(data->seen); i++) {
		if (READ_ONCE(data->seen[i]))
			return true;
	}

	return false;
}

/* Bodies may be added meanwhile, but adopt() needs @counts to change the set of one. */
static void add_area(struct uhook_mm *um, unsigned int i)
{
	struct uhook_area *area = um->areas[i];
	struct uhook_data *data = um->data[i];
	unsigned int nr, used;

	lockdep_assert_held(&um->counts);
	if (um->gone || !uhook_has_bodies(area->kind))
		return;
	/* Children have all areas of their parent, and may have run none of the bodies. */
	if (!has_counted(data))
		return;

	/* Pairs with enter_slot(). */
	used = smp_load_acquire(&area->used);
	for (nr = 0; nr < used; nr++) {
		if (rcu_access_pointer(uhook_body_nr(area, nr)->set))
			add_body(um, data, uhook_body_nr(area, nr), nr);
	}
}

/* By the process itself, which ends. */
static void add_last(struct uhook_mm *um)
{
	unsigned int i;

	for (i = 0; i < um->nr_areas; i++) {
		mutex_lock(&um->counts);
		add_area(um, i);
		mutex_unlock(&um->counts);
	}
}

static void add_visit(struct uhook_mm *um)
{
	/* Pairs with map_area(). */
	unsigned int i, nr = smp_load_acquire(&um->nr_areas);

	lockdep_assert_held(&sums_lock);
	/* An exiting process waits for one area at most, and then adds its own counts. */
	for (i = 0; i < nr && uhook_lock_counts(um, wait_end); i++) {
		add_area(um, i);
		uhook_unlock_counts(um);
	}
}

/**
 * uhook_fold_data - add up the last counts of an address space, and free its data
 * @um: state of the address space, which has no users
 *
 * Context: task; sleeps. To be called before the areas are dropped.
 */
void uhook_fold_data(struct uhook_mm *um)
{
	unsigned int i;

	if (um->counting.born) {
		uhook_drain_last(um);
		add_last(um);
		/* Readers that found it on the list must not access its areas any more. */
		mutex_lock(&um->counts);
		um->gone = true;
		mutex_unlock(&um->counts);
		/* Last, so that a reader finds either the address space, or its counts added. */
		uhook_stop_counting(um);
	}

	for (i = 0; i < ARRAY_SIZE(um->data); i++) {
		if (um->data[i])
			uhook_free_data(um->data[i]);
	}
}

/**
 * uhook_hold_counts - add up the counts of all processes
 *
 * Excludes other readers until uhook_release_counts(), but exiting processes still add
 * their counts.
 *
 * Context: task; sleeps.
 */
void uhook_hold_counts(void)
{
	mutex_lock(&sums_lock);
	wait_end = jiffies + WAIT_TIME;
	uhook_visit_data(add_visit);
}

void uhook_release_counts(void)
{
	mutex_unlock(&sums_lock);
}

/* Number of runs of bodies, as of the last uhook_hold_counts(). */
u64 uhook_bodies_run(void)
{
	return atomic64_read(&bodies_run);
}

static u64 total_of(const struct uhook_counter *counter, size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(u64 *)((void *)per_cpu_ptr(counter->hits, cpu) + offset));

	return sum;
}

/**
 * uhook_read_counter - read the hits of a hook
 * @counter: counter of the hook
 * @hits: receives the hits
 *
 * Context: task, after uhook_hold_counts().
 */
void uhook_read_counter(const struct uhook_counter *counter, struct uhook_hits *hits)
{
	u64 bodies = atomic64_read(&counter->bodies);

	/* A task that the kernel has sent to a body may not have counted yet, so this can lag. */
	hits->kernel = total_of(counter, offsetof(struct uhook_cpu_hits, kernel));
	hits->user = total_of(counter, offsetof(struct uhook_cpu_hits, user));
	hits->jumped = bodies > hits->user ? bodies - hits->user : 0;
	hits->lost = atomic64_read(&counter->lost);
	hits->missed = atomic64_read(&counter->missed);
	/* The kernel cannot call the handler in the program's place. */
	if (counter->kind->traits & UHOOK_CALLS)
		hits->missed += hits->kernel;
}

/**
 * uhook_read_words - read the sums of the words of a hook's handlers
 * @counter: counter of the hook
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
