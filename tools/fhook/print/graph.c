// SPDX-License-Identifier: GPL-2.0
/* The call graph; the header describes it. */
#include <stdlib.h>
#include "graph.h"

int graph_begin(struct sink *sink, struct fault *fault)
{
	struct graph *graph = calloc(1, sizeof(*graph));
	size_t i;

	if (graph)
		graph->nodes = calloc(sink->map->nr_functions + 1, sizeof(*graph->nodes));
	if (!graph || !graph->nodes) {
		free(graph);
		return fault_say(fault, "there is not enough memory for a call graph");
	}
	graph->nr_nodes = sink->map->nr_functions;
	for (i = 0; i < graph->nr_nodes; i++)
		graph->nodes[i].function = i;
	sink->data = graph;
	return 0;
}

void graph_enter(struct sink *sink, struct thread *thread, struct frame *frame)
{
	const u32 caller = thread->nr_frames > 1 ? frame[-1].function : GRAPH_NONE;
	struct graph *graph = sink->data;
	const size_t nr = graph->pairs.nr;

	frame->mark = PAIRS_NONE;
	if (!grow(&graph->edges, &graph->room_edges, nr, sizeof(*graph->edges)))
		frame->mark = pairs_get(&graph->pairs, caller, frame->function);
	if (frame->mark == PAIRS_NONE)
		sink->no_memory = true;
	else if (frame->mark == nr)
		graph->edges[nr] = (struct graph_edge){
			.caller = caller, .callee = frame->function,
		};
}

void graph_leave(struct sink *sink, struct thread *thread, struct frame *frame,
		 enum leave_how how __unused)
{
	struct graph *graph = sink->data;
	struct graph_node *node = &graph->nodes[frame->function];
	const u64 time = thread->now - frame->entered;

	node->calls++;
	if (time > frame->below)
		node->self += time - frame->below;
	if (!frame->nested)
		node->total += time;
	if (frame->mark == PAIRS_NONE)
		return;
	graph->edges[frame->mark].calls++;
	if (!frame->nested)
		graph->edges[frame->mark].total += time;
}

static int compare_nodes(const void *one, const void *other)
{
	const struct graph_node *a = one, *b = other;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return a->function < b->function ? -1 : a->function > b->function;
}

/* Of one function, the longest first; then those with most calls. */
static int compare_cost(const struct graph_edge *a, const struct graph_edge *b)
{
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	return a->callee < b->callee ? -1 : a->callee > b->callee;
}

static int compare_callers(const void *one, const void *other)
{
	const struct graph_edge *a = one, *b = other;

	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	return compare_cost(a, b);
}

static int compare_callees(const void *one, const void *other)
{
	const struct graph_edge *a = *(struct graph_edge *const *)one;
	const struct graph_edge *b = *(struct graph_edge *const *)other;

	if (a->callee != b->callee)
		return a->callee < b->callee ? -1 : 1;
	return compare_cost(a, b);
}

int graph_finish(struct graph *graph)
{
	const size_t nr = graph->pairs.nr;
	size_t i;

	graph->by_callee = calloc(nr + 1, sizeof(*graph->by_callee));
	if (!graph->by_callee)
		return -1;
	for (i = 0; i < nr; i++)
		graph->by_callee[i] = &graph->edges[i];
	qsort(graph->nodes, graph->nr_nodes, sizeof(*graph->nodes), compare_nodes);
	/* Before the first call, there is no array. */
	if (!nr)
		return 0;
	qsort(graph->edges, nr, sizeof(*graph->edges), compare_callers);
	qsort(graph->by_callee, nr, sizeof(*graph->by_callee), compare_callees);
	return 0;
}

size_t graph_first_callee(const struct graph *graph, u32 caller)
{
	return first_index(graph->pairs.nr, i, graph->edges[i].caller < caller);
}

size_t graph_first_caller(const struct graph *graph, u32 callee)
{
	return first_index(graph->pairs.nr, i, graph->by_callee[i]->callee < callee);
}

void graph_free(struct graph *graph)
{
	free(graph->nodes);
	free(graph->edges);
	free(graph->by_callee);
	pairs_free(&graph->pairs);
	free(graph);
}
