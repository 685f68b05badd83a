/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stack of calls of each thread
 *
 * What is on a stack is what the trace has said, and it is never guessed. An exit
 * ends the innermost call of its function; calls above it have no exit: a jump or an
 * exception has left them, or they go on on a stack of their own. Nobody knows which,
 * and so it is said. The exit of a function that is not on the stack changes nothing: it
 * was entered before the trace began, or in a gap, or on another stack: coroutines have
 * their own. When such an exit comes after calls without an exit, these may have been on
 * another stack, and all calls of the thread are uncertain. A gap makes the calls that
 * are open uncertain: if they turn out to be left, their exits were lost.
 *
 * A function that leaves by a tail stays on the stack until what it went to has
 * returned. The next entry of its target, at this place of the stack, is that: others
 * in between are an interrupt's, and are shown inside of it. If the target is not in
 * the map, nothing will be heard of it, and the tail is an exit. So it is if nobody
 * knows the target: what is entered next may be called when that has returned.
 */
#ifndef FHOOK_STACKS_H
#define FHOOK_STACKS_H

#include "lib/map.h"

enum frame_state {
	FRAME_RUNS,
	FRAME_WAITS,	/* it has left by a tail, and its target is yet to come */
	FRAME_TAIL,	/* it has left by a tail; it goes with what is above it */
};

/**
 * struct frame - a call that is not over
 * @entered: when
 * @below: how much of its time is that of its callees
 * @function: index of the function
 * @target: of a tail that waits: index of a function
 * @state: enum frame_state
 * @chain: how many tails led here one after the other
 * @mark: the sink's
 * @before: depth of the next outer call of the same function that runs; 0: there is none
 * @nested: the stack has another call of the same function below this one
 */
struct frame {
	u64 entered;
	u64 below;
	u32 function;
	u32 target;
	u16 state;
	u16 chain;
	u32 mark;
	u32 before;
	bool nested;
};

/**
 * struct open_calls - the calls of one function that are on a stack
 * @function: index of the function
 * @count: number of frames, in any state
 * @depth: depth of the innermost frame that runs; 0: there is none
 * @used: the slot is not free
 */
struct open_calls {
	u32 function;
	u32 count;
	u32 depth;
	bool used;
};

/**
 * struct thread - a thread or task, or what was executed by nobody knows whom
 * @label: what it is called
 * @number: unique; from 1 on
 * @frames: its stack, the outermost call first
 * @nr_frames: how deep it is
 * @room_frames: for how many there is room
 * @open: calls on the stack by function: a hash table
 * @nr_open: how many functions it has, with those that have no calls any more
 * @room_open: number of slots, a power of two
 * @uncertain: calls below this depth were entered before a gap
 * @now: the time of the last event
 * @gap: there was one: what is not on the stack may have been entered in it
 * @unseen: a call had no exit when its caller went on: if it returns, the thread has several
 *	stacks
 * @several: it has, by that: who called whom is not known any more
 * @sink: the sink's
 */
struct thread {
	char label[48];
	u32 number;
	struct frame *frames;
	size_t nr_frames, room_frames;
	struct open_calls *open;
	size_t nr_open, room_open;
	size_t uncertain;
	u64 now;
	bool gap, unseen, several;
	void *sink;
};

struct sink;
struct totals;

/**
 * struct stacks - all of them
 * @sink: where the calls go
 * @totals: what is counted
 * @multiply: nanoseconds of a cycle of the clock, times 2^32; 0 without times
 */
struct stacks {
	struct sink *sink;
	struct totals *totals;
	u64 multiply;
};

struct thread *stacks_new_thread(struct stacks *stacks);
/* A stub of a function was executed by a thread, at TIME of the clock. */
void stacks_hit(struct stacks *stacks, struct thread *thread, const struct map_stub *stub,
		u64 time);
void stacks_gap(struct stacks *stacks, struct thread *thread, const char *why, u64 lost);
/*
 * What an exit without entry proves: where calls are open, or were left, the function need
 * not have been entered before the trace.
 */
static inline bool stacks_entered_before(const struct thread *thread)
{
	return !thread->nr_frames && !thread->unseen && !thread->several;
}

/* As in a gap, but it was said before that something may be missing here. */
void stacks_doubt(struct stacks *stacks, struct thread *thread);
/* What comes is not of whom these calls are: none of them is heard of again. */
void stacks_forget(struct stacks *stacks, struct thread *thread);
/* The thread has ended, or the trace. */
void stacks_end_thread(struct stacks *stacks, struct thread *thread);

#endif /* FHOOK_STACKS_H */
