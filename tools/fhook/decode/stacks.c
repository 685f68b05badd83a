// SPDX-License-Identifier: GPL-2.0
/* The stack of calls of each thread; the header describes the rules. */
#include <stdlib.h>
#include "sink.h"
#include "stacks.h"

/* A loop of tail calls would fill the memory: beyond this number, treat them as exits. */
#define MAX_CHAIN	64

/* Initial size of a thread's arrays. There may be many tasks, most of them with few calls. */
#define FIRST_FRAMES	8
#define FIRST_OPEN	8

/* Find the slot of a function, or the free slot for it. */
static struct open_calls *find_open(struct open_calls *open, size_t room, u32 function)
{
	const u64 hash = function * 0x9e3779b97f4a7c15ULL;
	size_t slot = (hash >> 32) & (room - 1);

	while (open[slot].used && open[slot].function != function)
		slot = (slot + 1) & (room - 1);
	return &open[slot];
}

/* Double the hash table, without the functions that have no calls. */
static int grow_open(struct thread *thread)
{
	const size_t room = thread->room_open ? thread->room_open * 2 : FIRST_OPEN;
	struct open_calls *open = calloc(room, sizeof(*open));
	size_t i;

	if (!open)
		return -1;
	thread->nr_open = 0;
	for (i = 0; i < thread->room_open; i++) {
		if (!thread->open[i].count)
			continue;
		*find_open(open, room, thread->open[i].function) = thread->open[i];
		thread->nr_open++;
	}
	free(thread->open);
	thread->open = open;
	thread->room_open = room;
	return 0;
}

struct open_calls *stacks_open_calls(struct thread *thread, u32 function)
{
	struct open_calls *open;

	if (thread->nr_open * 2 >= thread->room_open && grow_open(thread))
		return NULL;
	open = find_open(thread->open, thread->room_open, function);
	if (!open->used) {
		open->used = true;
		open->function = function;
		thread->nr_open++;
	}
	return open;
}

/* The slot of the function of a frame. */
static struct open_calls *open_of(const struct thread *thread, const struct frame *frame)
{
	return find_open(thread->open, thread->room_open, frame->function);
}

static struct frame *top_of(struct thread *thread)
{
	return thread->nr_frames ? &thread->frames[thread->nr_frames - 1] : NULL;
}

/* Multiply, as far as 96 bits of the product matter. */
static u64 scale(u64 time, u64 multiply)
{
	return (time >> 32) * multiply + ((time & 0xffffffff) * (multiply >> 32)) +
	       ((time & 0xffffffff) * (multiply & 0xffffffff) >> 32);
}

static void advance(const struct stacks *stacks, struct thread *thread, u64 time)
{
	u64 now = thread->now + 1;

	if (stacks->multiply) {
		now = scale(time, stacks->multiply);
		/* An event without a time gets the time of the previous event. */
		if (now < thread->now)
			now = thread->now;
	}
	thread->now = now;
}

/* Remove only the top frame. */
static void pop_one(struct stacks *stacks, struct thread *thread, enum leave_how how)
{
	struct sink *sink = stacks->sink;
	struct frame *frame = top_of(thread);
	struct open_calls *open;

	if (sink->ops->leave)
		sink->ops->leave(sink, thread, frame, how);
	if (how == LEFT_UNSEEN || how == LEFT_LOST || how == LEFT_OPEN)
		stacks->totals->no_exit++;
	open = open_of(thread, frame);
	if (frame->state == FRAME_RUNS)
		open->depth = frame->before;
	open->count--;
	thread->nr_frames--;
	if (thread->uncertain > thread->nr_frames)
		thread->uncertain = thread->nr_frames;
	if (thread->nr_frames)
		top_of(thread)->below += thread->now - frame->entered;
}

/* Remove the top frame, and the frames whose tail calls led to it. */
static void pop(struct stacks *stacks, struct thread *thread, enum leave_how how)
{
	pop_one(stacks, thread, how);
	while (thread->nr_frames && top_of(thread)->state == FRAME_TAIL)
		pop_one(stacks, thread, LEFT_TAIL);
}

/* Remove the frames above a depth. */
static void pop_above(struct stacks *stacks, struct thread *thread, size_t depth)
{
	while (thread->nr_frames > depth) {
		if (top_of(thread)->state != FRAME_RUNS) {
			pop_one(stacks, thread, LEFT_TAIL);
		} else if (thread->nr_frames <= thread->uncertain) {
			pop_one(stacks, thread, LEFT_LOST);
		} else {
			thread->unseen = true;
			pop_one(stacks, thread, LEFT_UNSEEN);
		}
	}
}

/* The depth of the innermost call of a function that has not left; 0: none. */
static size_t find(const struct thread *thread, u32 function)
{
	if (!thread->room_open)
		return 0;
	return find_open(thread->open, thread->room_open, function)->depth;
}

/* Complete a waiting tail call; returns the number of tail calls that led to the callee. */
static u16 follow_tail(struct stacks *stacks, struct thread *thread, u32 function)
{
	struct frame *top = top_of(thread);
	u16 chain;

	if (!top || top->state != FRAME_WAITS || top->target != function)
		return 0;
	chain = top->chain;
	if (chain >= MAX_CHAIN) {
		pop_one(stacks, thread, LEFT_TAIL);
		return chain;
	}
	top->state = FRAME_TAIL;
	return chain + 1;
}

static int grow_frames(struct thread *thread)
{
	if (thread->room_frames)
		return grow(&thread->frames, &thread->room_frames, thread->nr_frames,
			    sizeof(*thread->frames));
	thread->frames = calloc(FIRST_FRAMES, sizeof(*thread->frames));
	thread->room_frames = thread->frames ? FIRST_FRAMES : 0;
	return thread->frames ? 0 : -1;
}

/* Push a frame, and find the slot of its function; NULL if there is no memory. */
static struct frame *push(struct thread *thread, u32 function, struct open_calls **open)
{
	if (thread->nr_frames == 0xffffffff ||
	    (thread->nr_frames == thread->room_frames && grow_frames(thread)))
		return NULL;
	*open = stacks_open_calls(thread, function);
	return *open ? &thread->frames[thread->nr_frames++] : NULL;
}

/* Returns false without memory. */
static bool enter(struct stacks *stacks, struct thread *thread, u32 function)
{
	struct sink *sink = stacks->sink;
	const u16 chain = follow_tail(stacks, thread, function);
	struct open_calls *open;
	struct frame *frame = push(thread, function, &open);

	if (!frame) {
		sink->no_memory = true;
		return false;
	}
	*frame = (struct frame){
		.entered = thread->now, .function = function, .chain = chain,
		.before = open->depth, .nested = open->count,
	};
	open->count++;
	open->depth = thread->nr_frames;
	if (thread->several)
		thread->uncertain = thread->nr_frames;
	if (sink->ops->enter)
		sink->ops->enter(sink, thread, frame);
	return true;
}

static void unmatched(struct stacks *stacks, struct thread *thread, const struct map_stub *stub)
{
	struct sink *sink = stacks->sink;

	/* After a gap, the function may have been entered in the gap. */
	if (thread->unseen && !thread->several && !thread->switches && !thread->gap) {
		thread->several = true;
		stacks->totals->gaps++;
		stacks->totals->several++;
		stacks_gap(stacks, thread,
			   "a call returns that was over: this thread may have several stacks, and who called whom is not known",
			   0);
	}
	stacks->totals->unmatched++;
	if (sink->ops->unmatched)
		sink->ops->unmatched(sink, thread, stub);
}

static void leave(struct stacks *stacks, struct thread *thread, const struct map_stub *stub)
{
	const size_t depth = find(thread, stub->function);
	struct frame *frame;

	if (!depth) {
		unmatched(stacks, thread, stub);
		return;
	}
	pop_above(stacks, thread, depth);
	if (stub->kind == STUB_EXIT) {
		pop(stacks, thread, LEFT_RETURN);
	} else if (stub->kind == STUB_TAIL && stub->target == TARGET_OUTSIDE) {
		pop(stacks, thread, LEFT_TAIL);
	} else if (stub->kind == STUB_TAIL) {
		frame = top_of(thread);
		open_of(thread, frame)->depth = frame->before;
		frame->state = FRAME_WAITS;
		frame->target = stub->target;
	}
	/* A function in which an exception has landed continues. */
}

/* The calls continue later, but the trace does not show which of its stacks the thread takes. */
static void switch_stack(struct stacks *stacks, struct thread *thread)
{
	struct sink *sink = stacks->sink;

	pop_above(stacks, thread, 0);
	thread->unseen = true;
	if (thread->switches)
		return;
	thread->switches = true;
	stacks->totals->several++;
	if (sink->ops->switched)
		sink->ops->switched(sink, thread);
}

void stacks_hit(struct stacks *stacks, struct thread *thread, const struct map_stub *stub,
		u64 time)
{
	struct sink *sink = stacks->sink;

	stacks->totals->events++;
	advance(stacks, thread, time);
	if (sink->ops->hit)
		sink->ops->hit(sink, thread, stub);
	if (stub->kind == STUB_ENTRY)
		enter(stacks, thread, stub->function);
	else if (stub->kind == STUB_LEAF && enter(stacks, thread, stub->function))
		pop(stacks, thread, LEFT_LEAF);
	else if (stub->kind == STUB_SWITCH)
		switch_stack(stacks, thread);
	else if (stub->kind != STUB_LEAF)
		leave(stacks, thread, stub);
}

void stacks_doubt(struct stacks *stacks, struct thread *thread)
{
	/* The targets of the tail calls are unknown, but the functions have been left. */
	while (thread->nr_frames && top_of(thread)->state == FRAME_WAITS)
		pop(stacks, thread, LEFT_TAIL);
	thread->uncertain = thread->nr_frames;
	thread->gap = true;
}

void stacks_gap(struct stacks *stacks, struct thread *thread, const char *why, u64 lost)
{
	struct sink *sink = stacks->sink;

	stacks_doubt(stacks, thread);
	if (sink->ops->gap)
		sink->ops->gap(sink, thread, why, lost);
}

struct thread *stacks_new_thread(struct stacks *stacks)
{
	struct thread *thread = calloc(1, sizeof(*thread));

	if (thread)
		thread->number = ++stacks->totals->threads;
	return thread;
}

void stacks_forget(struct stacks *stacks, struct thread *thread)
{
	while (thread->nr_frames)
		pop_one(stacks, thread,
			top_of(thread)->state == FRAME_RUNS ? LEFT_OPEN : LEFT_TAIL);
}

void stacks_end_thread(struct stacks *stacks, struct thread *thread)
{
	struct sink *sink = stacks->sink;

	stacks_forget(stacks, thread);
	if (sink->ops->ended)
		sink->ops->ended(sink, thread);
	free(thread->frames);
	free(thread->open);
	free(thread);
}
