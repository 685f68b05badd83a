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

#define ROOT	0xffffffffu
#define DEEPER	0xfffffffeu

/* The maximum number of calls in a line: lines as long as deep stacks would fill the disk. */
#define MAX_DEPTH	256

/**
 * struct node - a stack
 * @self: time spent in it
 * @caller: node of its caller, or ROOT
 * @function: index of the function, or DEEPER; for a thread, its label
 * @depth: number of calls on the stack
 */
struct node {
	u64 self;
	u32 caller;
	u32 function;
	u32 depth;
};

struct folded {
	struct node *nodes;
	size_t nr_nodes, room_nodes;
	char **labels;
	size_t nr_labels, room_labels;
	u32 *table;
	size_t slots;
};

static size_t hash(const struct folded *folded, u32 caller, u32 function)
{
	u64 number = ((u64)caller << 32 | function) * 0x9e3779b97f4a7c15ULL;

	return (number ^ number >> 29) & (folded->slots - 1);
}

static int bigger_table(struct folded *folded)
{
	const size_t slots = folded->slots ? folded->slots * 2 : 1024;
	u32 *table = calloc(slots, sizeof(*table));
	size_t i, slot;

	if (!table)
		return -1;
	free(folded->table);
	folded->table = table;
	folded->slots = slots;
	for (i = 0; i < folded->nr_nodes; i++) {
		slot = hash(folded, folded->nodes[i].caller, folded->nodes[i].function);
		while (table[slot])
			slot = (slot + 1) & (slots - 1);
		table[slot] = i + 1;
	}
	return 0;
}

/* The node of a function that this node calls; ROOT when there is no memory. */
static u32 get_node(struct folded *folded, u32 caller, u32 function)
{
	size_t slot;

	if (folded->nr_nodes * 2 >= folded->slots && bigger_table(folded))
		return ROOT;
	for (slot = hash(folded, caller, function); folded->table[slot];
	     slot = (slot + 1) & (folded->slots - 1)) {
		const struct node *node = &folded->nodes[folded->table[slot] - 1];

		if (node->caller == caller && node->function == function)
			return folded->table[slot] - 1;
	}
	if (folded->nr_nodes >= ROOT - 1 ||
	    grow(&folded->nodes, &folded->room_nodes, folded->nr_nodes, sizeof(*folded->nodes)))
		return ROOT;
	folded->nodes[folded->nr_nodes] = (struct node){
		.caller = caller, .function = function,
		.depth = caller == ROOT ? 0 : folded->nodes[caller].depth + 1,
	};
	folded->table[slot] = ++folded->nr_nodes;
	return folded->nr_nodes - 1;
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
	if (caller == ROOT || folded->nodes[caller].function == DEEPER)
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
static void print_stack(const struct sink *sink, const struct folded *folded, u32 index)
{
	const struct node *nodes = folded->nodes;
	u32 path[MAX_DEPTH + 1], function;
	size_t depth = 0;

	for (; nodes[index].caller != ROOT; index = nodes[index].caller)
		path[depth++] = index;
	fputs(folded->labels[nodes[index].function], sink->out);
	while (depth--) {
		function = nodes[path[depth]].function;
		fprintf(sink->out, ";%s",
			function == DEEPER ? "[deeper]" : sink_name(sink, function));
	}
}

static void end(struct sink *sink)
{
	struct folded *folded = sink->data;
	size_t i;

	for (i = 0; i < folded->nr_nodes; i++)
		if (folded->nodes[i].self && folded->nodes[i].caller != ROOT) {
			print_stack(sink, folded, i);
			fprintf(sink->out, " %llu\n", folded->nodes[i].self);
		}
	for (i = 0; i < folded->nr_labels; i++)
		free(folded->labels[i]);
	free(folded->labels);
	free(folded->nodes);
	free(folded->table);
	free(folded);
}

const struct sink_ops sink_folded = {
	.begin = begin,
	.enter = enter,
	.leave = leave,
	.end = end,
};
