/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks of functions with the time spent in them
 *
 * The memory used is one node for each different stack, in a table by caller and function. The
 * inner calls of a stack that is too deep are one node. Several outputs print the stacks.
 */
#ifndef FHOOK_PRINT_FOLDED_H
#define FHOOK_PRINT_FOLDED_H

#include "decode/sink.h"
#include "pairs.h"

/* The caller of threads, and the function of calls that are too deep. */
#define FOLDED_ROOT	PAIRS_NONE
#define FOLDED_DEEPER	0xfffffffeu

/* The maximum number of calls of a stack: lines as long as deep stacks would fill the disk. */
#define FOLDED_DEPTH	256

/**
 * struct folded_node - a stack; its pair has the node of its caller, or FOLDED_ROOT, and the
 *	index of the function, or FOLDED_DEEPER; for a thread, that of its label
 * @self: time spent in it
 * @depth: number of calls on the stack
 * @thread: index of the label of its thread
 */
struct folded_node {
	u64 self;
	u32 depth;
	u32 thread;
};

/**
 * struct folded - all stacks
 * @pairs: the callers and functions of the nodes
 * @nodes: the nodes, callers before their callees
 * @room_nodes: number of elements that @nodes has room for
 * @labels: names of the threads
 * @nr_labels: number of elements of @labels
 * @room_labels: number of elements that @labels has room for
 */
struct folded {
	struct pairs pairs;
	struct folded_node *nodes;
	size_t room_nodes;
	char **labels;
	size_t nr_labels, room_labels;
};

/* These collect stacks, as functions of a sink. */
int folded_begin(struct sink *sink, struct fault *fault);
void folded_enter(struct sink *sink, struct thread *thread, struct frame *frame);
void folded_leave(struct sink *sink, struct thread *thread, struct frame *frame,
		  enum leave_how how);

/*
 * The functions of a stack, the innermost first, in an array with room for FOLDED_DEPTH + 1.
 * Returns their number.
 */
size_t folded_path(const struct folded *folded, u32 node, u32 *functions);

/* Compare two pointers to nodes, for qsort(): by thread, callers before their callees. */
int folded_compare(const void *one, const void *other);

void folded_free(struct folded *folded);

#endif /* FHOOK_PRINT_FOLDED_H */
