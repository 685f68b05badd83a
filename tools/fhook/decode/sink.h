/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sinks: outputs for the calls that the stacks report
 *
 * A sink is notified of each call and each return of each thread, in the order
 * within that thread; threads may be interleaved. It keeps no data whose size grows
 * with the trace.
 */
#ifndef FHOOK_SINK_H
#define FHOOK_SINK_H

#include <stdio.h>
#include "lib/map.h"
#include "stacks.h"

/* How a call ended. */
enum leave_how {
	LEFT_RETURN,	/* by one of its exits */
	LEFT_TAIL,	/* by going to another function, which has returned */
	LEFT_UNSEEN,	/* its caller went on, and no exit came: whether it is over is not known */
	LEFT_LOST,	/* the same, but something is missing since it was entered */
	LEFT_OPEN,	/* nothing more was heard of its thread, or of whom nobody knows */
};

/**
 * struct totals - what a decoding has counted
 * @events: stubs of functions that were executed
 * @contexts: stubs that said which task it is
 * @bytes: of all streams
 * @dropped: stubs that an interrupt kept from being executed
 * @gaps: places where something is missing
 * @lost: bytes that could not be read or were not written
 * @strange: addresses that are no stub's
 * @unmatched: exits of functions that were entered before
 * @no_exit: calls that have no exit, with those that are still open at the end
 * @threads: how many there are
 * @several: threads that have several stacks, as it seems
 */
struct totals {
	u64 events, contexts, bytes, dropped, gaps, lost, strange, unmatched, no_exit;
	u64 threads, several;
};

struct sink;

/**
 * struct sink_ops - a kind of output; each member may be NULL
 * @begin: returns 0, or -1 and a sentence
 * @hit: called for each executed stub of a function, before the others
 * @enter: called for each call; the frame is on the thread's stack
 * @leave: called for each ended call; the frame is still on top of the stack
 * @unmatched: called for a stub of a function that is left, or landed in, and is
 *	not on the stack: it was entered before the trace or in a gap
 * @gap: called when something is missing in a thread; WHY is a sentence without a
 *	full stop
 * @ended: called when the thread has no more events
 * @end: called after all threads have ended
 */
struct sink_ops {
	int (*begin)(struct sink *sink, struct fault *fault);
	void (*hit)(struct sink *sink, struct thread *thread, const struct map_stub *stub);
	void (*enter)(struct sink *sink, struct thread *thread, struct frame *frame);
	void (*leave)(struct sink *sink, struct thread *thread, struct frame *frame,
		      enum leave_how how);
	void (*unmatched)(struct sink *sink, struct thread *thread,
			  const struct map_stub *stub);
	void (*gap)(struct sink *sink, struct thread *thread, const char *why, u64 lost);
	void (*ended)(struct sink *sink, struct thread *thread);
	void (*end)(struct sink *sink);
};

/**
 * struct sink - an output in progress
 * @ops: kind of output
 * @out: file for the output
 * @map: map with the functions
 * @totals: counters of the decoding so far
 * @timed: times are in nanoseconds; otherwise they are numbers of events
 * @no_memory: the sink ran out of memory; the output is incomplete
 * @data: data of the kind
 */
struct sink {
	const struct sink_ops *ops;
	FILE *out;
	const struct map *map;
	const struct totals *totals;
	bool timed, no_memory;
	void *data;
};

extern const struct sink_ops sink_tree, sink_flat, sink_folded, sink_json, sink_summary,
			     sink_events;

#endif /* FHOOK_SINK_H */
