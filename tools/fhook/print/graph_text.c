// SPDX-License-Identifier: GPL-2.0
/*
 * The call graph as a table: each function with its callers before it and its callees after it
 */
#include "graph.h"

static void print_edge(const struct sink *sink, const struct graph_edge *edge, const char *arrow,
		       u32 function)
{
	fprintf(sink->out, "%12llu %16llu %16s   %s %s\n", edge->calls, edge->total, "", arrow,
		function == GRAPH_NONE ? "[outermost]" : sink_name(sink, function));
}

static void print_node(const struct sink *sink, const struct graph *graph,
		       const struct graph_node *node)
{
	const u32 function = node->function;
	const size_t nr = graph->pairs.nr;
	size_t i;

	fputc('\n', sink->out);
	for (i = graph_first_caller(graph, function);
	     i < nr && graph->by_callee[i]->callee == function; i++)
		print_edge(sink, graph->by_callee[i], "<-", graph->by_callee[i]->caller);
	fprintf(sink->out, "%12llu %16llu %16llu %s", node->calls, node->total, node->self,
		sink_name(sink, function));
	sink_print_place(sink, function, " ", "");
	fputc('\n', sink->out);
	for (i = graph_first_callee(graph, function);
	     i < nr && graph->edges[i].caller == function; i++)
		print_edge(sink, &graph->edges[i], "->", graph->edges[i].callee);
}

static void end(struct sink *sink)
{
	struct graph *graph = sink->data;
	size_t i;

	if (graph_finish(graph)) {
		sink->no_memory = true;
	} else if (!sink->failed) {
		fprintf(sink->out, "# %10s %16s %16s function, between its callers and callees\n",
			"calls", sink->timed ? "total ns" : "total events",
			sink->timed ? "self ns" : "self events");
		for (i = 0; i < graph->nr_nodes; i++)
			if (graph->nodes[i].calls)
				print_node(sink, graph, &graph->nodes[i]);
	}
	graph_free(graph);
}

const struct sink_ops sink_graph = {
	.begin = graph_begin,
	.enter = graph_enter,
	.leave = graph_leave,
	.end = end,
};
