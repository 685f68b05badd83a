// SPDX-License-Identifier: GPL-2.0
/* The call graph in the language DOT, which graphviz draws */
#include "graph.h"

/* A string in quotation marks may have anything but these. */
static void print_name(const struct sink *sink, const char *name)
{
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			fputc('\\', sink->out);
		fputc(*name, sink->out);
	}
}

static void print_cost(const struct sink *sink, u64 calls, u64 total)
{
	fprintf(sink->out, "%llu calls", calls);
	if (sink->timed)
		fprintf(sink->out, ", %llu ns", total);
}

static void print_nodes(const struct sink *sink, const struct graph *graph)
{
	size_t i;

	for (i = 0; i < graph->nr_nodes; i++) {
		const struct graph_node *node = &graph->nodes[i];

		if (!node->calls)
			continue;
		fprintf(sink->out, "\tf%u [label=\"", node->function);
		print_name(sink, sink_name(sink, node->function));
		fputs("\\n", sink->out);
		print_cost(sink, node->calls, node->total);
		fputs("\"];\n", sink->out);
	}
}

static void print_edges(const struct sink *sink, const struct graph *graph)
{
	size_t i;

	for (i = 0; i < graph->pairs.nr; i++) {
		const struct graph_edge *edge = &graph->edges[i];

		if (edge->caller == GRAPH_NONE)
			continue;
		fprintf(sink->out, "\tf%u -> f%u [label=\"", edge->caller, edge->callee);
		print_cost(sink, edge->calls, edge->total);
		fputs("\"];\n", sink->out);
	}
}

static void end(struct sink *sink)
{
	struct graph *graph = sink->data;

	if (graph_finish(graph)) {
		sink->no_memory = true;
	} else if (!sink->failed) {
		fputs("digraph calls {\n\tnode [shape=box];\n", sink->out);
		print_nodes(sink, graph);
		print_edges(sink, graph);
		fputs("}\n", sink->out);
	}
	graph_free(graph);
}

const struct sink_ops sink_dot = {
	.begin = graph_begin,
	.enter = graph_enter,
	.leave = graph_leave,
	.end = end,
};
