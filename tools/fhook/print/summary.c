// SPDX-License-Identifier: GPL-2.0
/* The counters, one per line. */
#include <stdlib.h>
#include "decode/sink.h"

static int begin(struct sink *sink, struct fault *fault)
{
	/* Whether each function was seen. */
	sink->data = calloc(sink->map->nr_functions + 1, 1);
	if (!sink->data)
		return fault_say(fault, "there is not enough memory for a summary");
	return 0;
}

static void hit(struct sink *sink, struct thread *thread __unused, const struct map_stub *stub)
{
	((u8 *)sink->data)[stub->function] = 1;
}

static void print_counters(const struct sink *sink)
{
	const struct totals *totals = sink->totals;
	const u64 stubs = totals->events + totals->contexts;
	u64 functions = 0;
	size_t i;

	for (i = 0; i < sink->map->nr_functions; i++)
		functions += ((u8 *)sink->data)[i];
	fprintf(sink->out, "events %llu\n", totals->events);
	fprintf(sink->out, "context events %llu\n", totals->contexts);
	fprintf(sink->out, "bytes %llu\n", totals->bytes);
	fprintf(sink->out, "bytes per event %.2f\n", stubs ? (double)totals->bytes / stubs : 0);
	fprintf(sink->out, "gaps %llu\n", totals->gaps);
	fprintf(sink->out, "bytes lost %llu\n", totals->lost);
	fprintf(sink->out, "dropped by interrupts %llu\n", totals->dropped);
	fprintf(sink->out, "addresses of no stub %llu\n", totals->strange);
	fprintf(sink->out, "exits without entry %llu\n", totals->unmatched);
	fprintf(sink->out, "calls without exit %llu\n", totals->no_exit);
	fprintf(sink->out, "threads %llu\n", totals->threads);
	fprintf(sink->out, "threads with several stacks %llu\n", totals->several);
	fprintf(sink->out, "functions %llu\n", functions);
}

static void end(struct sink *sink)
{
	if (!sink->failed)
		print_counters(sink);
	free(sink->data);
}

const struct sink_ops sink_summary = {
	.begin = begin,
	.hit = hit,
	.end = end,
};
