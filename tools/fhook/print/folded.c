// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks of functions with the time spent in them; the header describes them. They are printed
 * for flame graphs, one line per stack: "thread;main;f;g TIME".
 */
#include <stdlib.h>
#include "folded.h"

static u32 caller_of(const struct folded *folded, u32 node)
{
	return folded->pairs.pairs[node].first;
}

static u32 function_of(const struct folded *folded, u32 node)
{
	return folded->pairs.pairs[node].second;
}

/* The node of a function that this node calls; FOLDED_ROOT when there is no memory. */
static u32 get_node(struct folded *folded, u32 caller, u32 function)
{
	const size_t nr = folded->pairs.nr;
	u32 node;

	if (grow(&folded->nodes, &folded->room_nodes, nr, sizeof(*folded->nodes)))
		return FOLDED_ROOT;
	node = pairs_get(&folded->pairs, caller, function);
	if (node == nr)
		folded->nodes[node] = (struct folded_node){
			.depth = caller == FOLDED_ROOT ? 0 : folded->nodes[caller].depth + 1,
			.thread = caller == FOLDED_ROOT ? function : folded->nodes[caller].thread,
		};
	return node;
}

int folded_begin(struct sink *sink, struct fault *fault)
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
		return FOLDED_ROOT;
	folded->labels[folded->nr_labels] = label;
	thread->sink = (void *)(get_node(folded, FOLDED_ROOT, folded->nr_labels++) + 1UL);
	return (u32)(unsigned long)thread->sink - 1;
}

/* The node of a call; FOLDED_ROOT when there is no memory. */
static u32 get_call(struct folded *folded, u32 caller, u32 function)
{
	if (caller == FOLDED_ROOT || function_of(folded, caller) == FOLDED_DEEPER)
		return caller;
	if (folded->nodes[caller].depth == FOLDED_DEPTH)
		function = FOLDED_DEEPER;
	return get_node(folded, caller, function);
}

void folded_enter(struct sink *sink, struct thread *thread, struct frame *frame)
{
	struct folded *folded = sink->data;
	u32 caller;

	caller = thread->nr_frames > 1 ? frame[-1].mark : get_thread(folded, thread);
	frame->mark = get_call(folded, caller, frame->function);
	sink->no_memory |= frame->mark == FOLDED_ROOT;
}

void folded_leave(struct sink *sink, struct thread *thread, struct frame *frame,
		  enum leave_how how __unused)
{
	struct folded *folded = sink->data;
	const u64 time = thread->now - frame->entered;

	if (frame->mark != FOLDED_ROOT && time > frame->below)
		folded->nodes[frame->mark].self += time - frame->below;
}

size_t folded_path(const struct folded *folded, u32 node, u32 *functions)
{
	size_t depth = 0;

	for (; caller_of(folded, node) != FOLDED_ROOT; node = caller_of(folded, node))
		functions[depth++] = function_of(folded, node);
	return depth;
}

int folded_compare(const void *one, const void *other)
{
	const struct folded_node *a = *(const struct folded_node *const *)one;
	const struct folded_node *b = *(const struct folded_node *const *)other;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a < b ? -1 : a > b;
}

void folded_free(struct folded *folded)
{
	size_t i;

	for (i = 0; i < folded->nr_labels; i++)
		free(folded->labels[i]);
	free(folded->labels);
	free(folded->nodes);
	pairs_free(&folded->pairs);
	free(folded);
}

static void print_stack(const struct sink *sink, const struct folded *folded, u32 node)
{
	u32 path[FOLDED_DEPTH + 1];
	size_t depth = folded_path(folded, node, path);

	text_print_frame(folded->labels[folded->nodes[node].thread], sink->out);
	while (depth--) {
		putc(';', sink->out);
		text_print_frame(path[depth] == FOLDED_DEEPER ? "[deeper]" :
				 sink_name(sink, path[depth]), sink->out);
	}
	fprintf(sink->out, " %llu\n", folded->nodes[node].self);
}

static void end(struct sink *sink)
{
	struct folded *folded = sink->data;
	size_t i;

	/* The nodes of threads have no time. */
	for (i = 0; i < folded->pairs.nr && !sink->failed; i++)
		if (folded->nodes[i].self)
			print_stack(sink, folded, i);
	folded_free(folded);
}

const struct sink_ops sink_folded = {
	.begin = folded_begin,
	.enter = folded_enter,
	.leave = folded_leave,
	.end = end,
};
