// SPDX-License-Identifier: GPL-2.0
/*
 * A model of the ring of uhook's recorders, and threads that use it
 *
 * The whole ring is compared after a hit, so that writes to wrong places are
 * detected. With threads only agreed properties can be checked: each record names
 * the thread that made it, and the number of the call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "record.h"

#define THREADS		4
/* So many calls of a thread without a pause. */
#define BURST		20000
/* Where a counter is in the page of a ring's header. */
#define LOST		2048

/* Hits that were checked: lost, and recorded. */
static unsigned long hits[2];
/* Records with fewer words of the stack, and simulated concurrent changes. */
static unsigned long partial, meddled;

typedef void recorder_call(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f);

static struct uhook_ring_entry *entry_of(void *ring, u64 number)
{
	struct uhook_ring_entry *entries = ring + UHOOK_LANE_SIZE;

	return entries + number % UHOOK_RING_ENTRIES;
}

void record_fill(struct record_model *model)
{
	u64 *word = (void *)model->ring;
	size_t i;

	for (i = 0; i < RING_SIZE / sizeof(*word); i++)
		word[i] = random_next();
	memcpy(model->expected, model->ring, RING_SIZE);
	for (i = 0; i < COUNTERS_SIZE / sizeof(u64); i++)
		model->counters[i] = random_next();
	memcpy(model->expected_counters, model->counters, COUNTERS_SIZE);
}

unsigned long record_counter(struct record_model *model)
{
	return (unsigned long)(model->counters + random_next() % (COUNTERS_SIZE / sizeof(u64)));
}

/* The expected value of a recorder's counter. */
static u64 *lost_of(struct record_model *model, const struct uhook_recorder *recorder)
{
	return model->expected_counters + ((u64 *)recorder->lost - model->counters);
}

/* The kernel has not taken an entry back that it has given up. */
static bool is_turn(struct record_model *model, u64 number)
{
	return entry_of(model->expected, number)->turn == number / UHOOK_RING_ENTRIES;
}

/* Set whether it is the turn of the next number, unless a recorder uses the same entry. */
static void set_turn(struct record_model *model)
{
	const u64 number = ((struct uhook_ring *)model->expected)->head;
	const u64 turn = number / UHOOK_RING_ENTRIES - !(random_next() % 16);

	if (model->decided && !((number - model->number) % UHOOK_RING_ENTRIES))
		return;
	entry_of(model->expected, number)->turn = turn;
	entry_of(model->ring, number)->turn = turn;
}

bool record_prepare(struct record_model *model, const struct uhook_recorder *recorder)
{
	static const u64 heads[] = { 0, 1, UHOOK_RING_ENTRIES - 1, 0xffffffff, 3UL << 61 };
	struct uhook_ring *expected = (void *)model->expected;
	const u64 random = random_next();
	s64 ahead = random % UHOOK_RING_ENTRIES;
	bool recorded;

	expected->head = random_next() >> 2;
	if (random >> 32 & 1)
		expected->head = heads[(random >> 33) % 5];
	switch (random >> 40 & 15) {
	case 0 ... 2:
		ahead = UHOOK_RING_ENTRIES;
		break;
	case 3:
		ahead = random >> 16 & 1 ? UHOOK_RING_ENTRIES + 1 + random % 5000 : LONG_MAX;
		break;
	case 4:
		ahead = UHOOK_RING_ENTRIES - 1;
		break;
	case 5:
		/* As a head looks that has been read too long ago. */
		ahead = -(random % 10000);
		break;
	}
	if (ahead > (s64)expected->head)
		ahead = expected->head;
	expected->tail = expected->head - ahead;
	*lost_of(model, recorder) = random >> 48 & 3 ? random_next() : -1;
	memcpy(model->counters, model->expected_counters, COUNTERS_SIZE);
	memcpy(model->ring, expected, sizeof(*expected));
	set_turn(model);
	recorded = ahead < UHOOK_RING_ENTRIES && is_turn(model, expected->head);
	hits[recorded]++;
	return recorded;
}

bool record_has_word(u64 sp, unsigned int word)
{
	return (sp - 1) / 4096 == (sp + (word + 1) * sizeof(u64) - 1) / 4096;
}

void record_expect(const struct uhook_recorder *recorder, const u64 *regs, u64 sp,
		   const u8 *stack, struct record_hit *hit)
{
	unsigned int i, words = 0;

	hit->sp = sp;
	for (i = 0; i < UHOOK_RECORD_ARGS; i++)
		hit->args[i] = regs[recorder->regs[i]];
	for (i = 0; i < UHOOK_RECORD_STACK; i++) {
		if (!record_has_word(sp, i))
			continue;
		memcpy(&hit->stack[i], stack + i * sizeof(u64), sizeof(u64));
		words++;
	}
	partial += recorder->stack && words < UHOOK_RECORD_STACK;
}

void record_report(unsigned long share)
{
	const unsigned long runs = hits[0] + hits[1];

	printf("%lu runs: %lu recorded, %lu lost, %lu at the end of a page, %lu interrupted\n",
	       runs, hits[1], hits[0], partial, meddled);
	if (hits[0] < runs / 8 || hits[1] < runs / 2 || partial < runs / 16 ||
	    meddled < runs / share)
		complain("too few of a kind");
}

/* The expected entry; the time is taken from the actual entry, and checked. */
static void expect_entry(struct record_model *model, u64 number,
			 const struct uhook_recorder *recorder, const struct record_hit *hit)
{
	const struct uhook_ring_entry *is = entry_of(model->ring, number);
	struct uhook_ring_entry *should = entry_of(model->expected, number);
	unsigned int i;

	should->seq = number + 1;
	should->time = is->time;
	if (is->time < hit->before || is->time > hit->after)
		complain("time %lx is not between %lx and %lx", (long)is->time,
			 (long)hit->before, (long)hit->after);
	should->thread = record_thread();
	should->id = recorder->id;
	should->unused = 0;
	should->sp = hit->sp;
	for (i = 0; i < recorder->nr_regs; i++)
		should->args[i] = hit->args[i];
	for (i = 0; recorder->stack && i < UHOOK_RECORD_STACK; i++)
		should->stack[i] = record_has_word(hit->sp, i) ? hit->stack[i] : 0;
}

static void say_difference(const u8 *is, const u8 *should)
{
	size_t i;

	for (i = 0; i < RING_SIZE; i += sizeof(u64)) {
		if (memcmp(is + i, should + i, sizeof(u64)))
			complain("at %lx of the ring is %lx and not %lx", (long)i,
				 *(long *)(is + i), *(long *)(should + i));
	}
}

/* A hit gets its number, or is lost. */
static void decide(struct record_model *model, const struct uhook_recorder *recorder)
{
	struct uhook_ring *expected = (void *)model->expected;

	model->decided = true;
	model->recorded = (s64)(expected->head - expected->tail) < UHOOK_RING_ENTRIES;
	if (model->recorded) {
		model->number = expected->head++;
		model->recorded = is_turn(model, model->number);
	}
	if (!model->recorded)
		++*lost_of(model, recorder);
}

void record_meddle(struct record_model *model, const struct uhook_recorder *recorder)
{
	struct uhook_ring *expected = (void *)model->expected;

	meddled++;
	if ((s64)(expected->head - expected->tail) >= UHOOK_RING_ENTRIES) {
		++*lost_of(model, recorder);
		++*(u64 *)recorder->lost;
		return;
	}
	if (model->ring->head != expected->head)
		decide(model, recorder);
	switch (random_next() % 3) {
	case 0:
		expected->head++;
		break;
	case 1:
		expected->head = expected->tail + UHOOK_RING_ENTRIES;
		break;
	case 2:
		expected->tail = expected->head + 1 + random_next() % 10000;
		expected->head = expected->tail + random_next() % 100;
		break;
	}
	memcpy(model->ring, expected, sizeof(*expected));
	set_turn(model);
}

void record_check(struct record_model *model, const struct uhook_recorder *recorder,
		  const struct record_hit *hit)
{
	if (!model->decided)
		decide(model, recorder);
	model->decided = false;
	if (model->recorded)
		expect_entry(model, model->number, recorder, hit);

	if (memcmp(model->counters, model->expected_counters, COUNTERS_SIZE))
		complain("other counters, and not one more of %lx lost",
			 (long)*lost_of(model, recorder) - 1);
	if (memcmp(model->ring, model->expected, RING_SIZE)) {
		say_difference((u8 *)model->ring, model->expected);
		memcpy(model->expected, model->ring, RING_SIZE);
	}
}

/**
 * struct hammer - threads that record, and the records read so far
 * @call: a function that records its arguments
 * @ring: the ring
 * @lost: counter of hits without a record
 * @calls: number of calls of each thread
 * @stack: whether words of the stack are recorded
 * @id: identifier of the recorder
 * @running: number of threads that have not ended
 * @next: minimum number of a thread's next record
 * @time: time of a thread's last record
 * @thread: thread-local storage register of a thread
 * @bounds: stack of a thread
 * @recorded: number of records
 */
struct hammer {
	recorder_call *call;
	struct uhook_ring *ring;
	u64 *lost;
	unsigned long calls;
	bool stack;
	u32 id;
	unsigned int running;
	u64 next[THREADS];
	u64 time[THREADS];
	u64 thread[THREADS];
	u64 bounds[THREADS][2];
	unsigned long recorded;
};

static struct hammer hammer;

static bool is_empty(void)
{
	return __atomic_load_n(&hammer.ring->tail, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&hammer.ring->head, __ATOMIC_RELAXED);
}

static void *record_often(void *data)
{
	const u64 who = (unsigned long)data;
	unsigned int patience = 20000;
	pthread_attr_t attributes;
	void *stack;
	size_t size;
	u64 i;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &stack, &size);
	pthread_attr_destroy(&attributes);
	hammer.bounds[who][0] = (unsigned long)stack;
	hammer.bounds[who][1] = (unsigned long)stack + size;
	hammer.thread[who] = record_thread();

	for (i = 0; i < hammer.calls; i++) {
		/* All of them fill the ring, and then it is emptied. */
		while (!(i % BURST) && !is_empty() && patience) {
			usleep(100);
			patience--;
		}
		hammer.call(who, i, ~i, who ^ i, i * 3, -who);
	}
	__atomic_fetch_sub(&hammer.running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void check_stack_words(const struct uhook_ring_entry *entry)
{
	static u64 return_address;
	unsigned int i;

	for (i = 0; i < UHOOK_RECORD_STACK; i++) {
		if (!record_has_word(entry->sp, i) && entry->stack[i])
			complain("a word of another page: %lx", (long)entry->stack[i]);
	}
	/* All threads call from the same place. */
	if (!record_arch.stack_first || !record_has_word(entry->sp, 0))
		return;
	if (!return_address)
		return_address = entry->stack[0];
	if (!entry->stack[0] || entry->stack[0] != return_address)
		complain("returns to %lx", (long)entry->stack[0]);
}

static void check_entry(const struct uhook_ring_entry *entry)
{
	const u64 *args = entry->args, who = args[0], i = args[1];

	if (who >= THREADS || i >= hammer.calls || args[2] != ~i || args[3] != (who ^ i) ||
	    args[4] != i * 3 || args[5] != -who || entry->id != hammer.id || entry->unused) {
		complain("a record of %lu: %lu %lx %lx %lx %lx id %x %x", (long)who, (long)i,
			 (long)args[2], (long)args[3], (long)args[4], (long)args[5],
			 entry->id, entry->unused);
		return;
	}
	if (i < hammer.next[who])
		complain("call %lu of %lu again, or late", (long)i, (long)who);
	if (entry->time < hammer.time[who])
		complain("time goes back from %lx to %lx", (long)hammer.time[who],
			 (long)entry->time);
	if (entry->thread != hammer.thread[who])
		complain("thread %lx and not %lx", (long)entry->thread,
			 (long)hammer.thread[who]);
	if (entry->sp < hammer.bounds[who][0] || entry->sp >= hammer.bounds[who][1])
		complain("stack pointer %lx", (long)entry->sp);
	if (hammer.stack)
		check_stack_words(entry);
	hammer.next[who] = i + 1;
	hammer.time[who] = entry->time;
	hammer.recorded++;
}

/* As the kernel does it; how many there were. */
static unsigned long drain(struct uhook_ring *ring, u64 *tail)
{
	const u64 from = *tail;
	struct uhook_ring_entry *entry;

	for (;; ++*tail) {
		entry = entry_of(ring, *tail);
		if (__atomic_load_n(&entry->seq, __ATOMIC_ACQUIRE) != *tail + 1)
			break;
		check_entry(entry);
		/* Otherwise reading an incomplete entry would go unnoticed. */
		memset(&entry->time, 0xa5, sizeof(*entry) - sizeof(entry->seq));
		entry->turn = *tail / UHOOK_RING_ENTRIES + 1;
	}
	__atomic_store_n(&ring->tail, *tail, __ATOMIC_RELEASE);
	return *tail - from;
}

int record_put(unsigned long at, const struct uhook_recorder *recorder, int form)
{
	const int len = record_make((u8 *)at, RECORD_MAX, at, recorder, form);

	if (len < 0) {
		complain("no recorder: %d", len);
		exit(1);
	}
	__builtin___clear_cache((void *)at, (void *)at + RECORD_MAX);
	return len;
}

static void make_function(unsigned long code, const struct uhook_recorder *recorder, int form)
{
	const int len = record_put(code, recorder, form);

	memcpy((void *)code + len, record_arch.ret, record_arch.ret_len);
	__builtin___clear_cache((void *)code, (void *)code + RECORD_MAX);
}

static void check_sums(const struct uhook_ring *ring, u64 first, u64 tail)
{
	const unsigned long all = THREADS * hammer.calls;

	printf("%lu hits of %d threads: %lu recorded, %lu lost\n", all, THREADS,
	       hammer.recorded, (long)*hammer.lost);
	if (hammer.recorded + *hammer.lost != all)
		complain("%ld hits are missing", (long)(all - hammer.recorded - *hammer.lost));
	if (ring->head != tail || tail - first != hammer.recorded)
		complain("head %lu, tail %lu", (long)ring->head, (long)tail);
	/* Whether some are lost is for the scheduler to say. */
	if (hammer.recorded < UHOOK_RING_ENTRIES)
		complain("too few are recorded");
}

void record_threads(unsigned long code, unsigned long ring, unsigned long calls, bool stack,
		    int form)
{
	const u64 first = random_next() >> 8;
	struct uhook_recorder recorder = {
		.ring = ring, .lost = ring + LOST, .id = 0x87654321,
		.nr_regs = UHOOK_RECORD_ARGS, .stack = stack,
	};
	pthread_t threads[THREADS];
	u64 tail = first;
	unsigned long i;

	memcpy(recorder.regs, record_arch.regs, sizeof(recorder.regs));
	make_function(code, &recorder, form);
	memset((void *)ring, 0, RING_SIZE);
	memset(&hammer, 0, sizeof(hammer));
	hammer.call = (recorder_call *)code;
	hammer.ring = (void *)ring;
	hammer.lost = (void *)ring + LOST;
	hammer.calls = calls;
	hammer.stack = stack;
	hammer.id = recorder.id;
	hammer.running = THREADS;
	hammer.ring->head = first;
	hammer.ring->tail = first;
	for (i = 0; i < UHOOK_RING_ENTRIES; i++)
		entry_of(hammer.ring, first + i)->turn = (first + i) / UHOOK_RING_ENTRIES;

	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, record_often, (void *)i);
	/* Long enough for the ring to get full. */
	usleep(20000);
	while (__atomic_load_n(&hammer.running, __ATOMIC_ACQUIRE)) {
		/* Now and then it is late. */
		if (!drain(hammer.ring, &tail))
			sched_yield();
		if (!(random_next() % 512))
			usleep(random_next() % 1000);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	drain(hammer.ring, &tail);
	check_sums(hammer.ring, first, tail);
}

static void expect_error(const char *what, int is, int should)
{
	if (is != should)
		complain("%s: %d and not %d", what, is, should);
}

/* With each size that is too small, and with one that is enough. */
static void check_sizes(const struct uhook_recorder *recorder, unsigned long at, int form)
{
	static u8 code[RECORD_MAX], whole[RECORD_MAX];
	int len = record_make(whole, RECORD_MAX, at, recorder, form);
	size_t size, i;

	for (size = 0; size <= len; size++) {
		memset(code, 0xa5, sizeof(code));
		expect_error("a size", record_make(code, size, at, recorder, form),
			     size < len ? -ENOSPC : len);
		for (i = size; i < sizeof(code); i++) {
			if (code[i] != 0xa5)
				complain("byte %lu of %lu is written", i, size);
		}
	}
	if (memcmp(code, whole, len))
		complain("not the same code");
}

/* Find the maximum distance of a recorder, in one direction, by bisection. */
static void check_reach(struct uhook_recorder *recorder, unsigned long *what, unsigned long at,
			int sign, int form)
{
	const unsigned long was = *what;
	unsigned long near = 0, far = 2 * record_arch.reach;
	u8 code[RECORD_MAX];

	while (far - near > 4096) {
		const unsigned long middle = (near + far) / 2 & -4096UL;
		int ret;

		*what = was + sign * middle;
		ret = record_make(code, sizeof(code), at, recorder, form);
		if (ret > 0)
			near = middle;
		else
			far = middle;
		if (ret < 0)
			expect_error("far away", ret, -ERANGE);
	}
	if (near < record_arch.reach - 8192 || near > record_arch.reach + 4096)
		complain("%lx away may be %lx", was, near);
	*what = was;
}

void record_errors(int form)
{
	const unsigned long at = 0x123456789000 + (random_next() % 4096 & ~3UL);
	const unsigned long near = at & -4096UL;
	struct uhook_recorder recorder = { .ring = near, .lost = near, .id = random_next() };
	u8 code[RECORD_MAX];
	unsigned int i, reg;

	for (i = 0; i <= UHOOK_RECORD_ARGS; i++) {
		recorder.nr_regs = i;
		recorder.stack = i % 2;
		check_sizes(&recorder, at, form);
	}
	recorder.nr_regs++;
	expect_error("many registers", record_make(code, sizeof(code), at, &recorder, form),
		     -EINVAL);
	for (i = 0; i < UHOOK_RECORD_ARGS; i++) {
		recorder.nr_regs = i + 1;
		for (reg = 0; reg < 256; reg++) {
			int ret;

			recorder.regs[i] = reg;
			ret = record_make(code, sizeof(code), at, &recorder, form);
			expect_error("a register", ret < 0 ? ret : 0,
				     reg < record_arch.nr_registers ? 0 : -EINVAL);
		}
		recorder.regs[i] = 0;
	}
	check_reach(&recorder, &recorder.ring, at, 1, form);
	check_reach(&recorder, &recorder.ring, at, -1, form);
	check_reach(&recorder, &recorder.lost, at, 1, form);
	check_reach(&recorder, &recorder.lost, at, -1, form);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static double time_calls(recorder_call *call, struct uhook_ring *ring, unsigned long calls)
{
	const double begin = seconds();
	unsigned long i;

	for (i = 0; i < calls; i++) {
		if (!(i % 1024))
			ring->tail = ring->head;
		call(i, 1, 2, 3, 4, 5);
	}
	return (seconds() - begin) / calls * 1e9;
}

double record_cost(unsigned long code, unsigned long ring, unsigned long calls,
		   const struct uhook_recorder *recorder, int form)
{
	double with, without;

	memcpy((void *)code, record_arch.ret, record_arch.ret_len);
	__builtin___clear_cache((void *)code, (void *)code + RECORD_MAX);
	without = time_calls((recorder_call *)code, (void *)ring, calls);
	make_function(code, recorder, form);
	with = time_calls((recorder_call *)code, (void *)ring, calls);
	return with - without;
}
