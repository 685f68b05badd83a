// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: adding up what bodies have counted.
 *
 * What a body has counted is added to the counters of its hooks by whoever looks: as much
 * as has come since the last look, of which the kernel keeps its own copy. Nothing that is
 * read is trusted: it is added up, and a program that writes nonsense to its counters has
 * nonsense counted.
 *
 * Each address space has a lock of its own for this, uhook_mm::counts, which is held for one
 * area at a time. Whoever wants sums has what bodies have counted added first, and is alone
 * with that.
 */
#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "rings.h"
#include "sums.h"

/* Held while the counts of all processes are added up and read. */
static DEFINE_MUTEX(sums_lock);

/* How often bodies have run, as far as somebody has looked. */
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

static struct uhook_block *block_at(const struct uhook_data *data, unsigned int nr,
				    unsigned int i)
{
	return uhook_data_at(data, UHOOK_BLOCKS_AT +
			     (nr * UHOOK_BODY_BLOCKS + i) * sizeof(struct uhook_block));
}

/* What was seen of a block that is there. */
static struct uhook_block *seen_block_at(const struct uhook_data *data, unsigned int nr,
					 unsigned int i)
{
	unsigned long at = (nr * UHOOK_BODY_BLOCKS + i) * sizeof(struct uhook_block);

	return page_address(data->seen[1 + (at >> PAGE_SHIFT)]) + offset_in_page(at);
}

/* What has come since the last look; what cannot have come has not. */
static u64 come(u64 now, u64 *seen)
{
	u64 more = now - *seen;

	*seen = now;

	return (s64)more > 0 ? more : 0;
}

static void add_block(struct uhook_counter *counter, const struct uhook_block *block,
		      struct uhook_block *seen)
{
	unsigned int i;

	atomic64_add(come(READ_ONCE(block->missed), &seen->missed), &counter->missed);
	atomic64_add(come(READ_ONCE(block->lost), &seen->lost), &counter->lost);
	for (i = 0; i < UHOOK_DATA_WORDS; i++) {
		u64 word = READ_ONCE(block->words[i]);

		/* A handler may count as it likes, and down as well. */
		atomic64_add(word - seen->words[i], &counter->words[i]);
		seen->words[i] = word;
	}
}

/* What one body of one process has counted since the last look, for whom it counts. */
static void add_body(struct uhook_mm *um, const struct uhook_data *data,
		     const struct uhook_body *body, unsigned int nr)
{
	const struct uhook_set *set = uhook_set_of(um, body);
	const struct uhook_block *block;
	unsigned int i;
	u64 hits = 0;

	lockdep_assert_held(&um->counts);
	/* It is there if a lane is. */
	if (data->seen[0])
		hits = come(sum_of(data, nr), (u64 *)page_address(data->seen[0]) + nr);
	atomic64_add(hits, &bodies_run);

	for (i = 0; i < set->nr; i++) {
		if (hits)
			atomic64_add(hits, &set->counters[i]->bodies);
		block = i < UHOOK_BODY_BLOCKS && (set->traits & UHOOK_LONG) ?
			block_at(data, nr, i) : NULL;
		if (block)
			add_block(set->counters[i], block, seen_block_at(data, nr, i));
	}
}

/**
 * uhook_fold_body - keep what a body has counted, which is going to count for others
 * @um: of the one process that has it
 * @area: the area, with its lock held
 * @nr: the number of the body
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
	add_body(um, um->data[i], uhook_body_nr(area, nr), nr);
}

/* Bodies may come meanwhile, but none changes whom it counts for: adopt(). */
static void add_area(struct uhook_mm *um, struct uhook_area *area, struct uhook_data *data)
{
	/* Pairs with enter_slot(). */
	unsigned int nr, used = smp_load_acquire(&area->used);

	for (nr = 0; nr < used; nr++) {
		if (rcu_access_pointer(uhook_body_nr(area, nr)->set))
			add_body(um, data, uhook_body_nr(area, nr), nr);
	}
}

static void add_areas(struct uhook_mm *um)
{
	/* Pairs with map_area(). */
	unsigned int i, nr = smp_load_acquire(&um->nr_areas);

	for (i = 0; i < nr; i++) {
		/* Whoever ends waits for one area, and has then counted itself. */
		guard(mutex)(&um->counts);
		if (um->gone)
			break;
		if (uhook_has_bodies(um->areas[i]->kind))
			add_area(um, um->areas[i], um->data[i]);
	}
}

/**
 * uhook_fold_data - keep what an address space has counted, which is going
 * @um: its; nobody uses it any more
 *
 * Context: task; sleeps. Before its areas are let go.
 */
void uhook_fold_data(struct uhook_mm *um)
{
	unsigned int i;

	if (um->counting.born) {
		uhook_drain_last(um);
		add_areas(um);
		/* Whoever has found it on the list does not look at its areas any more. */
		mutex_lock(&um->counts);
		um->gone = true;
		mutex_unlock(&um->counts);
		/* Last, so that whoever adds up finds it there, or its counts added. */
		uhook_stop_counting(um);
	}

	for (i = 0; i < ARRAY_SIZE(um->data); i++) {
		if (um->data[i])
			uhook_free_data(um->data[i]);
	}
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
	uhook_visit_data(add_areas);
}

void uhook_release_counts(void)
{
	mutex_unlock(&sums_lock);
}

/* How often bodies have run, as far as uhook_hold_counts() has seen. */
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
	if (counter->kind->traits & UHOOK_CALLS)
		hits->missed += hits->kernel;
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
