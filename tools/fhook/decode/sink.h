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
	LEFT_LEAF,	/* as a leaf, after an unknown time and before the next event */
	LEFT_TAIL,	/* by going to another function, which has returned */
	LEFT_UNSEEN,	/* its caller continued without an exit: whether it ended is unknown */
	LEFT_LOST,	/* the same, but events have been lost since it was entered */
	LEFT_OPEN,	/* the events of its thread, or of an unknown task, have ended */
};

/**
 * struct totals - counters of a decoding
 * @events: number of executed stubs of functions
 * @contexts: number of executed context stubs
 * @bytes: total size of the streams
 * @dropped: number of stubs that were not executed because of an interrupt
 * @gaps: number of gaps
 * @lost: number of bytes that could not be read or were not written
 * @strange: number of addresses outside of stubs
 * @unmatched: number of exits of functions that were entered before
 * @no_exit: number of calls without an exit, including those still open at the end
 * @threads: number of threads
 * @several: number of threads that seem to have several stacks
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
 * @unmatched: called for an exit or landing of a function that is not on the stack: it
 *	was entered before the trace or in a gap
 * @gap: called when something is missing in a thread; WHY is a sentence without a
 *	full stop
 * @switched: called when the thread changes its stack for the first time
 * @ended: called when the thread has no more events
 * @end: called after all threads have ended, or after a failure, when it prints nothing
 * @escapes: control characters in names are escaped
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
	void (*switched)(struct sink *sink, struct thread *thread);
	void (*ended)(struct sink *sink, struct thread *thread);
	void (*end)(struct sink *sink);
	bool escapes;
};

/**
 * struct place - a place in a source
 * @file: path of the source file; NULL if it is not known
 * @line: number of the line
 */
struct place {
	char *file;
	int line;
};

/**
 * struct sink - an output in progress
 * @ops: kind of output
 * @out: file for the output
 * @map: map with the functions
 * @names: names to print for the functions of the map, by index; NULL: those of the map
 * @places: places in the source of the functions of the map, by index; NULL: they are not printed
 * @totals: counters of the decoding so far
 * @depth: the tree has calls up to this depth; 0: all
 * @timed: times are in nanoseconds; otherwise they are numbers of events
 * @failed: the recordings could not be decoded
 * @no_memory: the sink ran out of memory; the output is incomplete
 * @data: data of the kind
 */
struct sink {
	const struct sink_ops *ops;
	FILE *out;
	const struct map *map;
	const char *const *names;
	const struct place *places;
	const struct totals *totals;
	size_t depth;
	bool timed, failed, no_memory;
	void *data;
};

/* The place of a function, or NULL. */
static inline const struct place *sink_place(const struct sink *sink, u32 function)
{
	return sink->places && sink->places[function].file ? &sink->places[function] : NULL;
}

/* Print the name of the source file and the line of a function, if they are known. */
void sink_print_place(const struct sink *sink, u32 function, const char *before,
		      const char *after);

/* The depth of the tree unless another is given, and the greatest depth of its indentation. */
#define TREE_DEPTH	64

static inline const char *sink_name(const struct sink *sink, u32 function)
{
	return sink->names ? sink->names[function] : map_name(sink->map, function);
}

extern const struct sink_ops sink_tree, sink_flat, sink_folded, sink_json, sink_summary,
			     sink_events, sink_graph, sink_dot, sink_callgrind,
			     sink_speedscope, sink_firefox;

#endif /* FHOOK_SINK_H */
