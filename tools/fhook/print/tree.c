// SPDX-License-Identifier: GPL-2.0
/*
 * Calls as indented text
 *
 * A call without callees is one line; its line is held back until this is known. When
 * another thread continues, a line names it. The indentation is limited: deeper calls
 * have their depth before them, so that lines do not grow with the stack.
 */
#include <stdlib.h>
#include "decode/sink.h"

/**
 * struct tree - the text so far
 * @thread: thread of the current lines
 * @held: the last event was a call, which has not been printed yet
 * @started: time of that call
 */
struct tree {
	const struct thread *thread;
	bool held;
	u64 started;
};

static const char *const comments[] = {
	[LEFT_RETURN] = "",
	[LEFT_TAIL] = " tail call",
	[LEFT_UNSEEN] = " no exit seen",
	[LEFT_LOST] = " exit lost",
	[LEFT_OPEN] = " not over when its trace ends",
};

/* The maximum depth of the indentation. */
#define MAX_INDENT	64

static void indent(const struct sink *sink, u64 time, size_t depth)
{
	if (depth <= MAX_INDENT)
		fprintf(sink->out, "%12llu | %*s", time, (int)(depth * 2), "");
	else
		fprintf(sink->out, "%12llu | %*s[%zu] ", time, MAX_INDENT * 2, "", depth);
}

/* Print the call that was held back, as a block, because something comes before its end. */
static void let_go(struct sink *sink, const struct thread *thread)
{
	struct tree *tree = sink->data;
	const struct frame *frame;

	if (!tree->held)
		return;
	tree->held = false;
	frame = &thread->frames[thread->nr_frames - 1];
	indent(sink, tree->started, thread->nr_frames - 1);
	fprintf(sink->out, "%s() {\n", map_name(sink->map, frame->function));
}

/* Name the thread of the following lines. */
static void switch_to(struct sink *sink, const struct thread *thread)
{
	struct tree *tree = sink->data;

	if (tree->thread == thread)
		return;
	if (tree->thread)
		let_go(sink, tree->thread);
	tree->thread = thread;
	fprintf(sink->out, "-- %s\n", thread->label);
}

static int begin(struct sink *sink, struct fault *fault)
{
	sink->data = calloc(1, sizeof(struct tree));
	if (!sink->data)
		return fault_say(fault, "there is not enough memory for a tree");
	fprintf(sink->out, "# %s | call\n", sink->timed ? "nanoseconds" : "    event");
	return 0;
}

static void enter(struct sink *sink, struct thread *thread, struct frame *frame)
{
	struct tree *tree = sink->data;

	switch_to(sink, thread);
	if (tree->held) {
		/* The held call is below the new frame. */
		thread->nr_frames--;
		let_go(sink, thread);
		thread->nr_frames++;
	}
	tree->held = true;
	tree->started = frame->entered;
}

static void leave(struct sink *sink, struct thread *thread, struct frame *frame,
		  enum leave_how how)
{
	const char *name = map_name(sink->map, frame->function);
	const char *certain = thread->nr_frames <= thread->uncertain ? " there was a gap," : "";
	struct tree *tree = sink->data;
	const u64 time = thread->now - frame->entered;

	switch_to(sink, thread);
	if (tree->held) {
		tree->held = false;
		indent(sink, tree->started, thread->nr_frames - 1);
		fprintf(sink->out, "%s();", name);
	} else {
		indent(sink, thread->now, thread->nr_frames - 1);
		fprintf(sink->out, "} /* %s", name);
		if (sink->timed)
			fprintf(sink->out, " %llu ns", time);
		fprintf(sink->out, "%s%s */\n", certain, comments[how]);
		return;
	}
	if (sink->timed)
		fprintf(sink->out, " /* %llu ns%s%s */\n", time, certain, comments[how]);
	else if (*certain || *comments[how])
		fprintf(sink->out, " /*%s%s */\n", certain, comments[how]);
	else
		fputc('\n', sink->out);
}

static void unmatched(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	switch_to(sink, thread);
	let_go(sink, thread);
	indent(sink, thread->now, thread->nr_frames);
	fprintf(sink->out, "/* %s %s, %s */\n",
		map_name(sink->map, stub->function),
		stub->kind == STUB_LAND ? "goes on" : "returns",
		!stacks_entered_before(thread) ? "where it was entered is not known" :
		thread->gap ? "entered before the trace or in a gap" : "entered before the trace");
}

static void gap(struct sink *sink, struct thread *thread, const char *why, u64 lost)
{
	switch_to(sink, thread);
	let_go(sink, thread);
	fprintf(sink->out, "-- missing: %s", why);
	if (lost)
		fprintf(sink->out, ", %llu bytes are missing", lost);
	fputc('\n', sink->out);
}

static void ended(struct sink *sink, struct thread *thread)
{
	struct tree *tree = sink->data;

	/* Another thread may get the same address. */
	if (tree->thread == thread)
		tree->thread = NULL;
}

static void end(struct sink *sink)
{
	free(sink->data);
}

const struct sink_ops sink_tree = {
	.begin = begin,
	.enter = enter,
	.leave = leave,
	.unmatched = unmatched,
	.gap = gap,
	.ended = ended,
	.end = end,
};
