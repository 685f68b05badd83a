// SPDX-License-Identifier: GPL-2.0
/*
 * The number of calls of each function, and their duration
 *
 * Self time excludes the functions that a call has called; total time includes
 * them. Of recursive calls only the outermost one counts, so that no time counts
 * twice.
 */
#include <stdlib.h>
#include "decode/sink.h"

struct row {
	u64 calls, total, self, no_exit;
	u32 function;
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

static void leave(struct sink *sink, struct thread *thread, struct frame *frame,
		  enum leave_how how)
{
	struct row *row = &((struct row *)sink->data)[frame->function];
	const u64 time = thread->now - frame->entered;

	row->calls++;
	row->no_exit += how == LEFT_UNSEEN || how == LEFT_LOST || how == LEFT_OPEN;
	if (time > frame->below)
		row->self += time - frame->below;
	if (!frame->nested)
		row->total += time;
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

static void print_rows(const struct sink *sink, const struct row *rows)
{
	const char *unit = sink->timed ? "ns" : "events";
	char total[32], self[32];
	size_t i;

	snprintf(total, sizeof(total), "total %s", unit);
	snprintf(self, sizeof(self), "self %s", unit);
	fprintf(sink->out, "# %10s %16s %16s %10s function\n", "calls", total, self, "no exit");
	for (i = 0; i < sink->map->nr_functions && rows[i].calls; i++) {
		fprintf(sink->out, "%12llu %16llu %16llu %10llu %s", rows[i].calls, rows[i].total,
			rows[i].self, rows[i].no_exit, sink_name(sink, rows[i].function));
		sink_print_place(sink, rows[i].function, " ", "");
		fputc('\n', sink->out);
	}
}

static void end(struct sink *sink)
{
	struct row *rows = sink->data;

	qsort(rows, sink->map->nr_functions, sizeof(*rows), compare);
	if (!sink->failed)
		print_rows(sink, rows);
	free(rows);
}

const struct sink_ops sink_flat = {
	.begin = begin,
	.leave = leave,
	.end = end,
};
