// SPDX-License-Identifier: GPL-2.0
/*
 * A line for each executed stub: thread, kind, function, address of its entry
 *
 * Nothing is matched or omitted, for comparison with another record of the same
 * run.
 */
#include "decode/sink.h"

static void hit(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	fprintf(sink->out, "%s\t%s\t%s\t0x%llx\n", thread->label, map_kinds[stub->kind],
		sink_name(sink, stub->function), sink->map->functions[stub->function].entry);
}

static void gap(struct sink *sink, struct thread *thread, const char *why, u64 lost)
{
	fprintf(sink->out, "%s\tgap\t%s\t%llu\n", thread->label, why, lost);
}

const struct sink_ops sink_events = {
	.hit = hit,
	.gap = gap,
};
