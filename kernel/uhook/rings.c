// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: reading the records of programs.
 *
 * A body that records writes to the ring of its area, as uhook_ring.h describes. While
 * hooks record, a worker reads all rings every 10 ms and hands the records to the hooks.
 * The rest is read when a process ends, and before a hook is unregistered.
 *
 * A record identifies its thread by the register for thread-local storage (who.c), and
 * its time by the processor's time stamp counter. The program can forge these and all
 * other values: the kernel checks indices and addresses derived from them, but cannot
 * check the values.
 *
 * A program cannot choose how much is read: a visit reads up to READ_IN_VISIT entries of
 * a process, and the worker visits all processes in turn and uses up to a quarter of one
 * CPU. The rest waits for the next visit, and while the ring is full, the program counts
 * the lost records.
 *
 * Nor does it choose how long others wait: its tasks may hold a lock and hardly ever run. So
 * visitors skip a process whose lock they do not get (uhook_lock_counts()), and the lock of a
 * hook, which has records of many processes, is a spinlock.
 *
 * Rings are read under uhook_mm::counts of the process, READ_AT_ONCE entries at a time;
 * records made in the kernel do not need this lock. The hook is called under
 * uhook_counter::lock.
 */
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/nospec.h>
#include <linux/ptrace.h>
#include <linux/sched/clock.h>
#include <linux/sched/cputime.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uhook.h>
#include <linux/workqueue.h>

#include "events.h"
#include "rings.h"
#include "sets.h"

#define DRAIN_INTERVAL	msecs_to_jiffies(10)

/* Maximum number of entries of a process to read in one visit, and with its lock held. */
#define READ_IN_VISIT	4096U
#define READ_AT_ONCE	256U

/* Maximum number of entries to read when a process or a hook ends. */
#define READ_AT_END	16384U

/*
 * Maximum time for all processes when hooks end: users wait, also for locks of tracefs. All
 * flushes within FLUSH_PERIOD share it, as hundreds of hooks may end at once.
 */
#define FLUSH_TIME	(HZ / 2)
#define FLUSH_PERIOD	(5 * HZ)

/* How many times the ring is filled before an entry that was given up is used again. */
#define LATE_TURNS	16

static_assert(sizeof(struct uhook_ring_entry) == 128);
static_assert(PAGE_SIZE % sizeof(struct uhook_ring_entry) == 0);

static struct uhook_ring_entry *entry_of(const struct uhook_data *data, u64 number)
{
	unsigned long i = number % UHOOK_RING_ENTRIES;

	/* The header has a page of its own. */
	return uhook_data_at(data, UHOOK_RING_AT + PAGE_SIZE +
			     i * sizeof(struct uhook_ring_entry));
}

static struct uhook_counter *counter_of(const struct uhook_mm *um, struct uhook_area *area,
					const struct uhook_data *data, u32 id, unsigned long *site)
{
	unsigned int nr = UHOOK_RECORDER_BODY(id), i = UHOOK_RECORDER_INDEX(id);
	const struct uhook_set *set;

	/* Pairs with enter_slot(): a body does not change. */
	if (nr >= smp_load_acquire(&area->used))
		return NULL;
	/* The program wrote the number. */
	nr = array_index_nospec(nr, area->used);

	*site = uhook_slot_nr(area, nr)->site;
	set = uhook_set_of(um, uhook_body_nr(area, nr));

	if (!set || i >= set->nr || !uhook_applies(data, set, nr))
		return NULL;

	return set->counters[array_index_nospec(i, set->nr)];
}

/* Stop retrying when both clocks were read within this time, in nanoseconds. */
#define CLOCKS_NEAR	2000
#define CLOCKS_TRIES	8

/*
 * An interruption between the two readings (an NMI, or a hypervisor) would be taken for
 * age of the record. So use the shortest of several tries.
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
 * Keep records of one thread in the ring in order. A signal handler that runs after a
 * thread took its entry, and before it took its stamp, has the next entry and an earlier
 * stamp: it gets the time of the thread's entry.
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

	counter = counter_of(um, area, data, entry->id, &record.site);
	if (!counter || !(counter->kind->traits & UHOOK_RECORDS))
		return;

	record.time = time_in_order(data, entry);
	record.sp = entry->sp;
	memcpy(record.args, entry->args, sizeof(record.args));
	memcpy(record.stack, entry->stack, sizeof(record.stack));
	uhook_say_who(um, entry->thread, &record);

	spin_lock(&counter->lock);
	if (counter->ops)
		counter->ops->record(counter->ops, &record);
	spin_unlock(&counter->lock);
}

static bool is_turn(const struct uhook_ring_entry *entry, u64 number)
{
	return !entry || READ_ONCE(entry->turn) == number / UHOOK_RING_ENTRIES;
}

/*
 * Let recorders have an entry that was given up, if it has been completed meanwhile, or if its
 * recorder was probably killed, or left by a signal handler. The program may have written any
 * turn, also a later one.
 */
static void take_back(struct uhook_ring_entry *entry, u64 number)
{
	u64 turn = READ_ONCE(entry->turn), now = number / UHOOK_RING_ENTRIES;
	u64 late = turn * UHOOK_RING_ENTRIES + number % UHOOK_RING_ENTRIES;

	/* The program writes seq last. */
	if (now - turn >= LATE_TURNS || smp_load_acquire(&entry->seq) == late + 1)
		WRITE_ONCE(entry->turn, now + 1);
}

/*
 * Read one entry and hand it over, if it is complete. If it is not its turn, its recorder has
 * counted a lost record.
 */
static bool read_entry(struct uhook_mm *um, struct uhook_area *area, struct uhook_data *data)
{
	struct uhook_ring_entry *entry = entry_of(data, data->tail), copy;

	if (!is_turn(entry, data->tail)) {
		take_back(entry, data->tail);
		return true;
	}
	/* The program writes seq last. */
	if (!entry || smp_load_acquire(&entry->seq) != data->tail + 1)
		return false;

	memcpy(&copy, entry, sizeof(copy));
	WRITE_ONCE(entry->turn, data->tail / UHOOK_RING_ENTRIES + 1);
	hand_over(um, area, data, &copy);

	return true;
}

/* Whether to skip an incomplete entry, instead of waiting for it until the next reading. */
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

/* Count entries as lost, once for each hook that records. */
static void add_lost(const struct uhook_set *set, u64 nr_entries, u64 reading)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++) {
		struct uhook_counter *counter = set->counters[i];

		if (!(counter->kind->traits & UHOOK_RECORDS) || counter->given_up == reading)
			continue;
		counter->given_up = reading;
		atomic64_add(nr_entries, &counter->lost);
	}
}

/* The hook of a skipped entry is unknown: count it as lost for all hooks of the area. */
static void add_given_up(const struct uhook_mm *um, struct uhook_area *area,
			 const struct uhook_data *data, u64 nr_entries)
{
	/* Protects the number, and uhook_counter::given_up. */
	static DEFINE_SPINLOCK(lock);
	static u64 reading;
	/* Pairs with enter_slot(). */
	unsigned int nr, used = smp_load_acquire(&area->used);

	spin_lock(&lock);
	reading++;
	for (nr = 0; nr < used; nr++) {
		const struct uhook_set *set = uhook_set_of(um, uhook_body_nr(area, nr));

		if (set && uhook_applies(data, set, nr))
			add_lost(set, nr_entries, reading);
	}
	spin_unlock(&lock);
}

/*
 * Number of entries in a ring according to the program, but no more than fit. Entries
 * that the program claims to have overwritten are ignored: a recorder never overwrites an
 * unread entry.
 */
static u64 ready_of(const struct uhook_data *data, const struct uhook_ring *ring)
{
	return min_t(u64, READ_ONCE(ring->head) - data->tail, UHOOK_RING_ENTRIES);
}

/**
 * uhook_drain_ring - read the records of an area of a process
 * @um: state of the address space
 * @area: the area
 * @data: data of the area in the address space
 * @budget: maximum number of entries to examine; reduced by the number examined
 * @last: true if no task writes to the ring any more
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

	for (ready = ready_of(data, ring); ready && *budget; ready--, data->tail++) {
		cond_resched();
		if (!read_entry(um, area, data)) {
			if (!is_given_up(um, data, ready, last))
				break;
			given_up++;
		}
		--*budget;
	}
	/* Let the program reuse the entries. */
	smp_store_release(&ring->tail, data->tail);

	if (given_up)
		add_given_up(um, area, data, given_up);
}

/* A reading of the rings of a process. */
struct drain {
	unsigned int budget;
	unsigned long until;	/* in jiffies: when to stop waiting for the process's lock */
	bool last;		/* no task writes to the rings any more, and current reads them */
};

static bool lock_rings(struct uhook_mm *um, const struct drain *drain)
{
	if (!drain->last)
		return uhook_lock_counts(um, drain->until);

	mutex_lock(&um->counts);

	return true;
}

static void unlock_rings(struct uhook_mm *um, const struct drain *drain)
{
	if (drain->last)
		mutex_unlock(&um->counts);
	else
		uhook_unlock_counts(um);
}

/* Read some entries of a ring; this bounds the time for which the lock is held. */
static bool drain_some(struct uhook_mm *um, unsigned int i, struct drain *drain)
{
	unsigned int some = min(drain->budget, READ_AT_ONCE), rest = some;

	if (!lock_rings(um, drain))
		return false;

	if (!um->gone && uhook_has_bodies(um->areas[i]->kind)) {
		uhook_drain_ring(um, um->areas[i], um->data[i], &rest, drain->last);
		drain->budget -= some - rest;
	}
	unlock_rings(um, drain);

	return true;
}

/*
 * Read all rings, some entries of each at a time, until the budget is used up or all are
 * empty. Others may read them meanwhile: each visits all rings by itself. A reading that does
 * not get the lock again leaves its list of threads to the next one, or to uhook_put_mm().
 */
static void drain_rings(struct uhook_mm *um, struct drain *drain)
{
	/* Pairs with map_area(). */
	unsigned int i, nr = smp_load_acquire(&um->nr_areas), before, first;

	if (!lock_rings(um, drain))
		return;
	/* The next reading begins with another ring, as this budget may not suffice for all. */
	uhook_begin_reading(um);
	first = um->next_ring++;
	unlock_rings(um, drain);

	do {
		before = drain->budget;
		for (i = 0; i < nr && drain->budget; i++) {
			if (!drain_some(um, (first + i) % nr, drain))
				return;
		}
	} while (drain->budget && drain->budget != before);

	if (!lock_rings(um, drain))
		return;
	uhook_end_reading(um);
	unlock_rings(um, drain);
}

static void drain_visit(struct uhook_mm *um)
{
	struct drain drain = { .budget = READ_IN_VISIT, .until = jiffies };

	drain_rings(um, &drain);
}

/* Serializes flushes, and protects flush_end. */
static DEFINE_MUTEX(flush_lock);
static unsigned long flush_end;

static void drain_all(struct uhook_mm *um)
{
	struct drain drain = { .budget = READ_AT_END, .until = flush_end };

	lockdep_assert_held(&flush_lock);

	if (time_before(jiffies, flush_end))
		drain_rings(um, &drain);
}

/* Count the entries that are left as lost, as far as their recorders have not done so. */
static void give_up_rest(const struct uhook_mm *um, struct uhook_area *area,
			 struct uhook_data *data)
{
	struct uhook_ring *ring;
	u64 ready, lost = 0;

	if (area->kind != UHOOK_LONG_BODIES)
		return;
	ring = uhook_data_at(data, UHOOK_RING_AT);
	for (ready = ring ? ready_of(data, ring) : 0; ready; ready--, data->tail++)
		lost += is_turn(entry_of(data, data->tail), data->tail);
	if (lost)
		add_given_up(um, area, data, lost);
}

/**
 * uhook_drain_last - read the last records of an exiting process
 * @um: state of its address space, which has no users
 *
 * Context: task; sleeps.
 */
void uhook_drain_last(struct uhook_mm *um)
{
	struct drain drain = { .budget = READ_AT_END, .last = true };
	unsigned int i;

	drain_rings(um, &drain);
	guard(mutex)(&um->counts);
	for (i = 0; i < um->nr_areas; i++)
		give_up_rest(um, um->areas[i], um->data[i]);
}

/**
 * uhook_flush - hand over all records written so far
 *
 * Programs decide how many these are: after FLUSH_TIME in a FLUSH_PERIOD the rest stays in the
 * rings, and is lost if its hook is unregistered.
 *
 * Context: task; sleeps.
 */
void uhook_flush(void)
{
	static unsigned long period_began, left = FLUSH_TIME;
	unsigned long began;

	guard(mutex)(&flush_lock);
	began = jiffies;
	if (began - period_began >= FLUSH_PERIOD) {
		period_began = began;
		left = FLUSH_TIME;
	}
	flush_end = began + left;
	uhook_visit_data(drain_all);
	left -= min(left, jiffies - began);
}

static void drain_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(drainer, drain_work);

/* Number of hooks that record. */
static unsigned int recording;
static DEFINE_MUTEX(recording_lock);

/*
 * The recording programs do not pay for the reading: limit it to a quarter of one CPU. Time in
 * which others run instead does not count, or records would be late where a machine is busy.
 */
static void drain_work(struct work_struct *work)
{
	u64 began = task_sched_runtime(current), used;

	uhook_visit_data(drain_visit);
	used = task_sched_runtime(current) - began;

	mutex_lock(&recording_lock);
	if (recording)
		queue_delayed_work(system_dfl_wq, &drainer,
				   max(DRAIN_INTERVAL, nsecs_to_jiffies(3 * used)));
	mutex_unlock(&recording_lock);
}

/* Start reading for another hook that records. */
void uhook_start_draining(void)
{
	guard(mutex)(&recording_lock);
	if (!recording++)
		queue_delayed_work(system_dfl_wq, &drainer, DRAIN_INTERVAL);
}

/* Stop reading for a hook. uhook_flush() has handed over its records. */
void uhook_stop_draining(void)
{
	guard(mutex)(&recording_lock);
	recording--;
}
