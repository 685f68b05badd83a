// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: reading what programs have recorded.
 *
 * A body that records writes to the ring of its area, uhook_ring.h says how. As
 * long as there are hooks that record, a worker reads all rings every 10 ms and
 * hands the records to the hooks; what is left when a process ends is read then,
 * and what is left when a hook is unregistered before that.
 *
 * A record tells its thread by what the processor has for thread-local storage (who.c),
 * and its time by the processor's counter. Both, and all else, are the program's
 * word: what they lead to is checked, and not what they say.
 *
 * How much is read is not the program's choice: a visit reads READ_IN_VISIT entries of a
 * process, the worker visits all in turn and takes a quarter of one CPU. The rest waits for
 * the next visit, and when the ring is full the program counts what it loses.
 *
 * Rings are read under uhook_mm::counts, which is a process's own, READ_AT_ONCE entries at
 * a time; records that are made in the kernel need none. A hook is called under
 * uhook_counter::lock.
 */
#include <linux/irqflags.h>
#include <linux/nospec.h>
#include <linux/ptrace.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uhook.h>
#include <linux/workqueue.h>

#include "events.h"
#include "rings.h"

#define DRAIN_INTERVAL	msecs_to_jiffies(10)

/* How many entries of a process are read in one visit, and with its lock held. */
#define READ_IN_VISIT	4096U
#define READ_AT_ONCE	256U

/* How many when it ends, or when a hook does. */
#define READ_AT_END	16384U

static_assert(sizeof(struct uhook_ring_entry) == 128);
static_assert(PAGE_SIZE % sizeof(struct uhook_ring_entry) == 0);

static struct uhook_ring_entry *entry_of(const struct uhook_data *data, u64 number)
{
	unsigned long i = number % UHOOK_RING_ENTRIES;

	/* The header has a page of its own. */
	return uhook_data_at(data, UHOOK_RING_AT + PAGE_SIZE +
			     i * sizeof(struct uhook_ring_entry));
}

static struct uhook_counter *counter_of(const struct uhook_mm *um, struct uhook_area *area, u32 id,
					unsigned long *site)
{
	unsigned int nr = UHOOK_RECORDER_BODY(id), i = UHOOK_RECORDER_INDEX(id);
	const struct uhook_set *set;

	/* Pairs with enter_slot(): a body stays as it is. */
	if (nr >= smp_load_acquire(&area->used))
		return NULL;
	/* It is what the program has written. */
	nr = array_index_nospec(nr, area->used);

	*site = uhook_slot_nr(area, nr)->site;
	set = uhook_set_of(um, uhook_body_nr(area, nr));

	return set && i < set->nr ? set->counters[array_index_nospec(i, set->nr)] : NULL;
}

/* In nanoseconds: two clocks that were read so near to each other need no other try. */
#define CLOCKS_NEAR	2000
#define CLOCKS_TRIES	8

/*
 * What comes between the two clocks would be taken for age: an interrupt, an NMI, or
 * whatever else a hypervisor lets run there. So of some tries the shortest one counts.
 */
static u64 time_of(u64 stamp)
{
	u64 before, after, age, time = 0, best = U64_MAX;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < CLOCKS_TRIES && best > CLOCKS_NEAR; i++) {
		local_irq_save(flags);
		before = sched_clock();
		age = uhook_stamp_age(stamp, before);
		after = sched_clock();
		local_irq_restore(flags);

		if (after - before < best) {
			best = after - before;
			time = before - min(age, before);
		}
	}

	return time;
}

/*
 * Still, a record is not earlier than the one before it in the ring, if one thread made
 * both. A handler of a signal that comes after a thread took its entry, and before it took
 * its stamp, has the next entry and an earlier stamp: it gets the time of that thread's.
 */
static u64 time_in_order(struct uhook_data *data, const struct uhook_ring_entry *entry)
{
	u64 time = time_of(entry->time);

	if (data->thread == entry->thread && time < data->time)
		time = data->time;
	data->thread = entry->thread;
	data->time = time;

	return time;
}

static void hand_over(struct uhook_mm *um, struct uhook_area *area, struct uhook_data *data,
		      const struct uhook_ring_entry *entry)
{
	struct uhook_counter *counter;
	struct uhook_record record;

	counter = counter_of(um, area, entry->id, &record.site);
	if (!counter || !(counter->kind->traits & UHOOK_RECORDS))
		return;

	record.time = time_in_order(data, entry);
	record.sp = entry->sp;
	memcpy(record.args, entry->args, sizeof(record.args));
	memcpy(record.stack, entry->stack, sizeof(record.stack));
	uhook_say_who(um, entry->thread, &record);

	guard(mutex)(&counter->lock);
	if (counter->ops)
		counter->ops->record(counter->ops, &record);
}

/* Hand over one entry, if it is complete. */
static bool read_entry(struct uhook_mm *um, struct uhook_area *area, struct uhook_data *data)
{
	struct uhook_ring_entry *entry = entry_of(data, data->tail), copy;

	/* The program writes it last. */
	if (!entry || smp_load_acquire(&entry->seq) != data->tail + 1)
		return false;

	memcpy(&copy, entry, sizeof(copy));
	hand_over(um, area, data, &copy);

	return true;
}

/* An entry is not complete: is it worth waiting for, until another reading? */
static bool is_given_up(const struct uhook_mm *um, struct uhook_data *data, u64 ready, bool last)
{
	if (last)
		return true;
	if (ready < UHOOK_RING_ENTRIES)
		return false;
	if (data->stuck == data->tail)
		return data->stuck_in != um->reading;

	data->stuck = data->tail;
	data->stuck_in = um->reading;

	return false;
}

/* Who it was is not known: it counts for all who record in the area. */
static void add_given_up(const struct uhook_mm *um, struct uhook_area *area, u64 nr_entries)
{
	/* Pairs with enter_slot(). */
	unsigned int nr, i, used = smp_load_acquire(&area->used);

	for (nr = 0; nr < used; nr++) {
		const struct uhook_set *set = uhook_set_of(um, uhook_body_nr(area, nr));

		for (i = 0; set && i < set->nr; i++) {
			if (set->counters[i]->kind->traits & UHOOK_RECORDS)
				atomic64_add(nr_entries, &set->counters[i]->lost);
		}
	}
}

/*
 * What there is in a ring, as the program says, but no more than fits. What it says to
 * have overwritten was not lost for want of room, and is nothing that it has recorded.
 */
static u64 ready_of(const struct uhook_data *data, const struct uhook_ring *ring)
{
	return min_t(u64, READ_ONCE(ring->head) - data->tail, UHOOK_RING_ENTRIES);
}

/**
 * uhook_drain_ring - read what an area of a process has recorded
 * @um: the process's
 * @area: the area
 * @data: its data there
 * @budget: how many entries are looked at, at most; less those that were
 * @last: whether nobody writes there any more
 *
 * Context: task, with &uhook_mm.counts held; sleeps.
 */
void uhook_drain_ring(struct uhook_mm *um, struct uhook_area *area, struct uhook_data *data,
		      unsigned int *budget, bool last)
{
	u64 ready, given_up = 0;
	struct uhook_ring *ring;

	lockdep_assert_held(&um->counts);
	if (area->kind != UHOOK_LONG_BODIES)
		return;
	ring = uhook_data_at(data, UHOOK_RING_AT);
	if (!ring)
		return;
	/* A process that ends reads for itself: it knows who it is. */
	if (!last && !atomic_read(&um->mm->mm_users))
		return;

	for (ready = ready_of(data, ring); ready && *budget; ready--, data->tail++) {
		cond_resched();
		if (!read_entry(um, area, data)) {
			if (!is_given_up(um, data, ready, last))
				break;
			given_up++;
		}
		--*budget;
	}
	/* What was read is not needed any more. */
	smp_store_release(&ring->tail, data->tail);

	if (given_up)
		add_given_up(um, area, given_up);
}

/* Some entries of the next ring: whoever waits for the lock does not wait for more. */
static void drain_some(struct uhook_mm *um, unsigned int nr_areas, unsigned int *budget, bool last)
{
	unsigned int some = min(*budget, READ_AT_ONCE), rest = some, i;

	guard(mutex)(&um->counts);
	i = um->next_ring++ % nr_areas;
	if (um->gone || !uhook_has_bodies(um->areas[i]->kind))
		return;
	uhook_drain_ring(um, um->areas[i], um->data[i], &rest, last);
	*budget -= some - rest;
}

/* All rings, each for some entries at a time, until the budget is used up or all is read. */
static void drain_rings(struct uhook_mm *um, unsigned int budget, bool last)
{
	/* Pairs with map_area(). */
	unsigned int i, nr = smp_load_acquire(&um->nr_areas), before;

	scoped_guard(mutex, &um->counts)
		uhook_begin_reading(um);
	do {
		before = budget;
		for (i = 0; i < nr && budget; i++)
			drain_some(um, nr, &budget, last);
	} while (budget && budget != before);
}

static void drain_visit(struct uhook_mm *um)
{
	drain_rings(um, READ_IN_VISIT, false);
}

static void drain_all(struct uhook_mm *um)
{
	drain_rings(um, READ_AT_END, false);
}

/* What nobody has read in time. */
static void give_up_rest(const struct uhook_mm *um, struct uhook_area *area,
			 struct uhook_data *data)
{
	struct uhook_ring *ring;
	u64 ready;

	if (area->kind != UHOOK_LONG_BODIES)
		return;
	ring = uhook_data_at(data, UHOOK_RING_AT);
	ready = ring ? ready_of(data, ring) : 0;
	data->tail += ready;
	if (ready)
		add_given_up(um, area, ready);
}

/**
 * uhook_drain_last - read what a process has recorded that is ending
 * @um: its; nobody uses its address space any more
 *
 * Context: task; sleeps.
 */
void uhook_drain_last(struct uhook_mm *um)
{
	unsigned int i;

	drain_rings(um, READ_AT_END, true);
	guard(mutex)(&um->counts);
	for (i = 0; i < um->nr_areas; i++)
		give_up_rest(um, um->areas[i], um->data[i]);
}

/**
 * uhook_flush - hand over what has been recorded by now
 *
 * Context: task; sleeps.
 */
void uhook_flush(void)
{
	uhook_visit_data(drain_all);
}

static void drain_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(drainer, drain_work);

/* How many hooks record. */
static unsigned int recording;
static DEFINE_MUTEX(recording_lock);

/* Reading is not paid for by those who record: it takes a quarter of one CPU at most. */
static void drain_work(struct work_struct *work)
{
	unsigned long began = jiffies;

	uhook_visit_data(drain_visit);

	mutex_lock(&recording_lock);
	if (recording)
		queue_delayed_work(system_unbound_wq, &drainer,
				   max(DRAIN_INTERVAL, 3 * (jiffies - began)));
	mutex_unlock(&recording_lock);
}

/* One more hook records. */
void uhook_start_draining(void)
{
	guard(mutex)(&recording_lock);
	if (!recording++)
		queue_delayed_work(system_unbound_wq, &drainer, DRAIN_INTERVAL);
}

/* One less; what it has recorded was handed over with uhook_flush(). */
void uhook_stop_draining(void)
{
	guard(mutex)(&recording_lock);
	recording--;
}
