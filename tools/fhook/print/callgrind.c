// SPDX-License-Identifier: GPL-2.0
/*
 * The call graph in the format of callgrind's profiles, which KCachegrind and
 * callgrind_annotate read
 *
 * A name of a function is written once, with a number that stands for it afterwards. The costs
 * of a function are at the line where it begins; where that is not known, at line 0 of a file
 * "???".
 *
 * Readers take the calls of a function for the whole of its inclusive time. The outermost calls
 * are therefore calls by a function "[outermost]", which has no time of its own.
 */
#include <stdlib.h>
#include "graph.h"

/* The names that have been written, of objects and of functions. */
struct written {
	bool *objects, *functions;
};

static void print_name(const struct sink *sink, const char *key, u32 index, const char *name,
		       bool *written)
{
	fprintf(sink->out, "%s=(%u)", key, index + 1);
	if (!*written)
		fprintf(sink->out, " %s", name);
	*written = true;
	fputc('\n', sink->out);
}

static void print_function(const struct sink *sink, bool is_callee, u32 function,
			   const struct written *written)
{
	const u32 object = sink->map->functions[function].object;
	const struct place *place = sink_place(sink, function);

	print_name(sink, is_callee ? "cob" : "ob", object, sink->map->objects[object].name,
		   &written->objects[object]);
	fprintf(sink->out, "%s=%s\n", is_callee ? "cfi" : "fl", place ? place->file : "???");
	print_name(sink, is_callee ? "cfn" : "fn", function, sink_name(sink, function),
		   &written->functions[function]);
}

static int line_of(const struct sink *sink, u32 function)
{
	const struct place *place = sink_place(sink, function);

	return place ? place->line : 0;
}

/* Print the calls of a function, or of GRAPH_NONE; LINE is that of the function. */
static void print_callees(const struct sink *sink, const struct graph *graph, u32 caller,
			  int line, const struct written *written)
{
	size_t at;

	for (at = graph_first_callee(graph, caller);
	     at < graph->pairs.nr && graph->edges[at].caller == caller; at++) {
		print_function(sink, true, graph->edges[at].callee, written);
		fprintf(sink->out, "calls=%llu %d\n%d %llu\n", graph->edges[at].calls,
			line_of(sink, graph->edges[at].callee), line, graph->edges[at].total);
	}
}

static void print_graph(const struct sink *sink, const struct graph *graph,
			const struct written *written)
{
	u64 total = 0;
	size_t i;
	int line;

	fprintf(sink->out, "# callgrind format\nversion: 1\ncreator: fhook\npositions: line\n"
		"events: %s\n\n", sink->timed ? "Nanoseconds" : "Events");
	fprintf(sink->out, "ob=(%zu) ???\nfl=???\nfn=(%zu) [outermost]\n0 0\n",
		sink->map->nr_objects + 1, sink->map->nr_functions + 1);
	print_callees(sink, graph, GRAPH_NONE, 0, written);
	for (i = 0; i < graph->nr_nodes; i++) {
		const struct graph_node *node = &graph->nodes[i];

		if (!node->calls)
			continue;
		total += node->self;
		print_function(sink, false, node->function, written);
		line = line_of(sink, node->function);
		fprintf(sink->out, "%d %llu\n", line, node->self);
		print_callees(sink, graph, node->function, line, written);
	}
	fprintf(sink->out, "\ntotals: %llu\n", total);
}

static void end(struct sink *sink)
{
	struct graph *graph = sink->data;
	struct written written = {
		.objects = calloc(sink->map->nr_objects + 1, sizeof(bool)),
		.functions = calloc(sink->map->nr_functions + 1, sizeof(bool)),
	};

	if (!written.objects || !written.functions || graph_finish(graph))
		sink->no_memory = true;
	else if (!sink->failed)
		print_graph(sink, graph, &written);
	free(written.objects);
	free(written.functions);
	graph_free(graph);
}

const struct sink_ops sink_callgrind = {
	.begin = graph_begin,
	.enter = graph_enter,
	.leave = graph_leave,
	.end = end,
};
