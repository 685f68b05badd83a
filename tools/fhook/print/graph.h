/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The call graph: which function has called which, how often, and how long that took
 *
 * The self time of a function excludes its callees, and its total time includes them. Of
 * recursive calls only the outermost one counts, as in the profile. Several outputs print it.
 */
#ifndef FHOOK_PRINT_GRAPH_H
#define FHOOK_PRINT_GRAPH_H

#include "decode/sink.h"
#include "pairs.h"

/* The caller of the outermost calls of a stack. */
#define GRAPH_NONE	0xffffffffu

/**
 * struct graph_node - a function
 * @function: index of the function
 * @calls: number of calls
 * @total: time in its calls
 * @self: time in its calls, without that in their callees
 */
struct graph_node {
	u32 function;
	u64 calls, total, self;
};

/**
 * struct graph_edge - calls of one function by another
 * @caller: index of the calling function, or GRAPH_NONE
 * @callee: index of the called function
 * @calls: number of calls
 * @total: time in these calls
 */
struct graph_edge {
	u32 caller, callee;
	u64 calls, total;
};

/**
 * struct graph - a call graph
 * @nodes: a node for each function of the map
 * @nr_nodes: number of elements of @nodes
 * @pairs: the callers and callees of the edges, by the index of the edge
 * @edges: the edges
 * @room_edges: number of elements that @edges has room for
 * @by_callee: after graph_finish(), the edges in the order of their callees
 */
struct graph {
	struct graph_node *nodes;
	size_t nr_nodes;
	struct pairs pairs;
	struct graph_edge *edges;
	size_t room_edges;
	struct graph_edge **by_callee;
};

/* These make a graph, as functions of a sink. */
int graph_begin(struct sink *sink, struct fault *fault);
void graph_enter(struct sink *sink, struct thread *thread, struct frame *frame);
void graph_leave(struct sink *sink, struct thread *thread, struct frame *frame,
		 enum leave_how how);

/*
 * Sort the graph after all calls: the nodes by their total time, the edges by their caller, and
 * those of one function by their time; the longest first. Returns 0, or -1 without memory.
 */
int graph_finish(struct graph *graph);

/* The index of the first edge of a caller, or of a callee in @by_callee, or after it. */
size_t graph_first_callee(const struct graph *graph, u32 caller);
size_t graph_first_caller(const struct graph *graph, u32 callee);

void graph_free(struct graph *graph);

#endif /* FHOOK_PRINT_GRAPH_H */
