// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks of names with the time spent in them, for flame graphs
 *
 * One line per stack: "thread;main;f;g TIME". The memory used is one node for each
 * different stack, in a table by caller and function. The inner calls of a stack that is
 * too deep are one node, "[deeper]".
 */
#include <stdlib.h>
#include "decode/sink.h"
#include "pairs.h"

#define ROOT	PAIRS_NONE
#define DEEPER	0xfffffffeu

/* The maximum number of calls in a line: lines as long as deep stacks would fill the disk. */
#define MAX_DEPTH	256

/**
 * struct node - a stack; its pair has the node of its caller, or ROOT, and the index of the
 *	function, or DEEPER; for a thread, that of its label
 * @self: time spent in it
 * @depth: number of calls on the stack
 */
struct node {
	u64 self;
	u32 depth;
};

struct folded {
	struct pairs pairs;
	struct node *nodes;
	size_t room_nodes;
	char **labels;
	size_t nr_labels, room_labels;
};

static u32 caller_of(const struct folded *folded, u32 node)
{
	return folded->pairs.pairs[node].first;
}

static u32 function_of(const struct folded *folded, u32 node)
{
	return folded->pairs.pairs[node].second;
}

/* The node of a function that this node calls; ROOT when there is no memory. */
static u32 get_node(struct folded *folded, u32 caller, u32 function)
{
	const size_t nr = folded->pairs.nr;
	u32 node;

	if (grow(&folded->nodes, &folded->room_nodes, nr, sizeof(*folded->nodes)))
		return ROOT;
	node = pairs_get(&folded->pairs, caller, function);
	if (node == nr)
		folded->nodes[node] = (struct node){
			.depth = caller == ROOT ? 0 : folded->nodes[caller].depth + 1,
		};
	return node;
}

static int begin(struct sink *sink, struct fault *fault)
{
	sink->data = calloc(1, sizeof(struct folded));
	if (!sink->data)
		return fault_say(fault, "there is not enough memory for stacks");
	return 0;
}

/* The node of a thread has the index of its label. */
static u32 get_thread(struct folded *folded, struct thread *thread)
{
	char *label;

	if (thread->sink)
		return (u32)(unsigned long)thread->sink - 1;
	if (grow(&folded->labels, &folded->room_labels, folded->nr_labels,
		 sizeof(*folded->labels)) ||
	    asprintf(&label, "%s", thread->label) < 0)
		return ROOT;
	folded->labels[folded->nr_labels] = label;
	thread->sink = (void *)(get_node(folded, ROOT, folded->nr_labels++) + 1UL);
	return (u32)(unsigned long)thread->sink - 1;
}

/* The node of a call; ROOT when there is no memory. */
static u32 get_call(struct folded *folded, u32 caller, u32 function)
{
	if (caller == ROOT || function_of(folded, caller) == DEEPER)
		return caller;
	if (folded->nodes[caller].depth == MAX_DEPTH)
		function = DEEPER;
	return get_node(folded, caller, function);
}

static void enter(struct sink *sink, struct thread *thread, struct frame *frame)
{
	struct folded *folded = sink->data;
	u32 caller;

	caller = thread->nr_frames > 1 ? frame[-1].mark : get_thread(folded, thread);
	frame->mark = get_call(folded, caller, frame->function);
	sink->no_memory |= frame->mark == ROOT;
}

static void leave(struct sink *sink, struct thread *thread, struct frame *frame,
		  enum leave_how how __unused)
{
	struct folded *folded = sink->data;
	const u64 time = thread->now - frame->entered;

	if (frame->mark != ROOT && time > frame->below)
		folded->nodes[frame->mark].self += time - frame->below;
}

/* The outermost call first. */
static void print_stack(const struct sink *sink, const struct folded *folded, u32 node)
{
	u32 path[MAX_DEPTH + 1], function;
	size_t depth = 0;

	for (; caller_of(folded, node) != ROOT; node = caller_of(folded, node))
		path[depth++] = function_of(folded, node);
	fputs(folded->labels[function_of(folded, node)], sink->out);
	while (depth--) {
		function = path[depth];
		fprintf(sink->out, ";%s",
			function == DEEPER ? "[deeper]" : sink_name(sink, function));
	}
}

static void end(struct sink *sink)
{
	struct folded *folded = sink->data;
	size_t i;

	for (i = 0; i < folded->pairs.nr; i++)
		if (folded->nodes[i].self && caller_of(folded, i) != ROOT) {
			print_stack(sink, folded, i);
			fprintf(sink->out, " %llu\n", folded->nodes[i].self);
		}
	for (i = 0; i < folded->nr_labels; i++)
		free(folded->labels[i]);
	free(folded->labels);
	free(folded->nodes);
	pairs_free(&folded->pairs);
	free(folded);
}

const struct sink_ops sink_folded = {
	.begin = begin,
	.enter = enter,
	.leave = leave,
	.end = end,
};
