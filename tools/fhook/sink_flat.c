// SPDX-License-Identifier: GPL-2.0
/*
 * How often each function was called, and how long that took
 *
 * Self is what a call took without what it called. Total has that, too; of calls of
 * a function within itself only the outermost counts, so that nothing counts twice.
 * So each thread counts how many calls of a function it has open; a function takes
 * part in that from its first call on.
 */
#include <stdlib.h>
#include "sink.h"

struct row {
	u64 calls, total, self, otherwise;
	u32 function;
};

/* Of a thread: open calls of each function, in pieces that are made when needed. */
#define PIECE	1024

struct open_calls {
	size_t nr_pieces;
	u32 *pieces[];
};

static int begin(struct sink *sink, struct fault *fault)
{
	struct row *rows = calloc(sink->map->nr_functions + 1, sizeof(*rows));
	size_t i;

	if (!rows)
		return fault_say(fault, "there is not enough memory for a profile");
	for (i = 0; i < sink->map->nr_functions; i++)
		rows[i].function = i;
	sink->data = rows;
	return 0;
}

/* Where a thread counts open calls of a function, or NULL without memory. */
static u32 *open_calls(struct sink *sink, struct thread *thread, u32 function)
{
	const size_t nr = sink->map->nr_functions / PIECE + 1;
	struct open_calls *calls = thread->sink;
	u32 **piece;

	if (!calls) {
		calls = calloc(1, sizeof(*calls) + nr * sizeof(*calls->pieces));
		if (!calls)
			return NULL;
		calls->nr_pieces = nr;
		thread->sink = calls;
	}
	piece = &calls->pieces[function / PIECE];
	if (!*piece)
		*piece = calloc(PIECE, sizeof(**piece));
	return *piece ? *piece + function % PIECE : NULL;
}

static void enter(struct sink *sink, struct thread *thread, struct frame *frame)
{
	u32 *open = open_calls(sink, thread, frame->function);

	if (open)
		++*open;
	else
		sink->no_memory = true;
}

static void leave(struct sink *sink, struct thread *thread, struct frame *frame,
		  enum leave_how how)
{
	struct row *row = &((struct row *)sink->data)[frame->function];
	const u64 time = thread->now - frame->entered;
	u32 *open = open_calls(sink, thread, frame->function);

	row->calls++;
	row->otherwise += how == LEFT_OTHERWISE || how == LEFT_LOST;
	if (time > frame->below)
		row->self += time - frame->below;
	if (open && *open && !--*open)
		row->total += time;
}

static void ended(struct sink *sink __unused, struct thread *thread)
{
	struct open_calls *calls = thread->sink;
	size_t i;

	if (!calls)
		return;
	for (i = 0; i < calls->nr_pieces; i++)
		free(calls->pieces[i]);
	free(calls);
	thread->sink = NULL;
}

static int compare(const void *one, const void *other)
{
	const struct row *a = one, *b = other;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return a->function < b->function ? -1 : 1;
}

static void end(struct sink *sink)
{
	const char *unit = sink->timed ? "ns" : "events";
	struct row *rows = sink->data;
	char total[32], self[32];
	size_t i;

	snprintf(total, sizeof(total), "total %s", unit);
	snprintf(self, sizeof(self), "self %s", unit);
	qsort(rows, sink->map->nr_functions, sizeof(*rows), compare);
	fprintf(sink->out, "# %10s %16s %16s %10s function\n", "calls", total, self, "no exit");
	for (i = 0; i < sink->map->nr_functions; i++)
		if (rows[i].calls)
			fprintf(sink->out, "%12llu %16llu %16llu %10llu %s\n", rows[i].calls,
				rows[i].total, rows[i].self, rows[i].otherwise,
				map_name(sink->map, rows[i].function));
	free(rows);
}

const struct sink_ops sink_flat = {
	.begin = begin,
	.enter = enter,
	.leave = leave,
	.ended = ended,
	.end = end,
};
