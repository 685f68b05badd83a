/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stack of calls of each thread
 *
 * A stack contains only calls that the trace shows; nothing is guessed. An exit ends the
 * innermost call of its function. Calls above it have no exit: either a jump or an exception
 * has left them, or they continue later, on a stack of their own. The trace does not show
 * which, so they are reported as calls without an exit. The exit of a function that is not
 * on the stack changes nothing: the function was entered before the trace began, or in a
 * gap, or on another stack, as in coroutines. If such an exit comes after calls without an
 * exit, these may have been on another stack, and all calls of the thread are uncertain. A
 * gap makes open calls uncertain: if such calls turn out to have been left, their exits
 * were lost.
 *
 * If a function is known to change the stack, no call on the new one is within a call on
 * the old one: all open calls leave the stack without an exit.
 *
 * A function that leaves by a tail call stays on the stack until the target has returned.
 * The next entry of the target at this place of the stack belongs to it; other calls in
 * between are those of an interrupt, and are shown inside of the function. If the target
 * is not in the map, its return is not reported, and the tail call is treated as an exit.
 * The same is done if the target is unknown: the next function may be called after the
 * target has returned.
 */
#ifndef FHOOK_STACKS_H
#define FHOOK_STACKS_H

#include "lib/map.h"

enum frame_state {
	FRAME_RUNS,
	FRAME_WAITS,	/* it has left by a tail call, and its target has not been entered yet */
	FRAME_TAIL,	/* it has left by a tail call; it ends with the frame above it */
};

/**
 * struct frame - an open call
 * @entered: time of the entry
 * @below: time spent in its callees
 * @function: index of the function
 * @target: index of the target function of a waiting tail call
 * @state: value of enum frame_state
 * @chain: number of consecutive tail calls that led here
 * @mark: free for the sink
 * @before: depth of the next outer running call of the same function; 0: there is none
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
 * @depth: depth of the innermost running frame; 0: there is none
 * @used: the slot is in use
 */
struct open_calls {
	u32 function;
	u32 count;
	u32 depth;
	bool used;
};

/* Where the process of a thread is unknown: above the number of any process. */
#define THREAD_NO_PROCESS	0x7fffffff

/**
 * struct thread - a thread or task, or events of an unknown one
 * @label: name of the thread
 * @number: unique number, from 1
 * @pid: its process; the idle tasks are those of process 0
 * @tid: its thread; for idle and unknown tasks the number of the CPU
 * @name: its own name, or NULL
 * @process: name of the process, or NULL
 * @frames: stack of calls, the outermost first
 * @nr_frames: depth of the stack
 * @room_frames: allocated size of @frames
 * @open: hash table of the calls on the stack, by function
 * @nr_open: number of functions in @open, including those without calls
 * @room_open: number of slots of @open, a power of two
 * @uncertain: calls below this depth were entered before a gap
 * @now: time of the last event
 * @gap: there was a gap, so functions that are not on the stack may have been entered in it
 * @unseen: a caller continued although its callee had no exit: if the callee returns later,
 *	the thread has several stacks
 * @several: the thread has several stacks, so callers are unknown
 * @switches: the thread has several stacks, and the trace shows when it changes them
 * @sink: data of the sink
 */
struct thread {
	char label[48];
	u32 number, pid, tid;
	const char *name, *process;
	struct frame *frames;
	size_t nr_frames, room_frames;
	struct open_calls *open;
	size_t nr_open, room_open;
	size_t uncertain;
	u64 now;
	bool gap, unseen, several, switches;
	void *sink;
};

struct sink;
struct totals;

/**
 * struct stacks - the stacks of all threads
 * @sink: sink for the calls
 * @totals: counters
 * @multiply: nanoseconds per cycle of the clock, times 2^32; 0 without times
 */
struct stacks {
	struct sink *sink;
	struct totals *totals;
	u64 multiply;
};

struct thread *stacks_new_thread(struct stacks *stacks);
/* A thread executed a stub of a function, at TIME of the clock. */
void stacks_hit(struct stacks *stacks, struct thread *thread, const struct map_stub *stub,
		u64 time);
void stacks_gap(struct stacks *stacks, struct thread *thread, const char *why, u64 lost);
/*
 * Does an exit without an entry prove that the function was entered before the trace? Not
 * if calls are open, or were left without an exit.
 */
static inline bool stacks_entered_before(const struct thread *thread)
{
	return !thread->nr_frames && !thread->unseen && !thread->several;
}

/* Find or make the slot of a function among the calls of a stack; NULL without memory. */
struct open_calls *stacks_open_calls(struct thread *thread, u32 function);
/* Like a gap, but the possible loss has been reported before. */
void stacks_doubt(struct stacks *stacks, struct thread *thread);
/* The following events belong to another task: the open calls get no more events. */
void stacks_forget(struct stacks *stacks, struct thread *thread);
/* The thread or the trace has ended. */
void stacks_end_thread(struct stacks *stacks, struct thread *thread);

#endif /* FHOOK_STACKS_H */
