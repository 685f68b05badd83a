// SPDX-License-Identifier: GPL-2.0
/*
 * Calls as indented text
 *
 * A call without callees is one line; its line is held back until this is known. When
 * another thread continues, a line names it. Calls beyond the greatest depth are only counted,
 * for the end of the call that they are in. The indentation is limited in any case: deeper calls
 * have their depth before them, so that lines do not grow with the stack.
 */
#include <stdlib.h>
#include <string.h>
#include "decode/sink.h"

/**
 * struct tree - the text so far
 * @thread: thread of the current lines
 * @held: depth of a call that has not been printed yet; 0: there is none
 * @started: time of that call
 */
struct tree {
	const struct thread *thread;
	size_t held;
	u64 started;
};

static const char *const comments[] = {
	[LEFT_RETURN] = "",
	[LEFT_LEAF] = "",
	[LEFT_TAIL] = " tail call",
	[LEFT_UNSEEN] = " no exit seen",
	[LEFT_LOST] = " exit lost",
	[LEFT_OPEN] = " not over when its trace ends",
};

/* Most lines have no other text than this, so printf() would take most of the time. */
static void print(const struct sink *sink, const char *text)
{
	fputs_unlocked(text, sink->out);
}

/* The most digits of a time, and the least width of a line's time. */
#define TIME_DIGITS	20
#define TIME_WIDTH	12

/* Write the digits of a time before END; returns their start. */
static char *put_digits(char *end, u64 time)
{
	do {
		*--end = '0' + time % 10;
		time /= 10;
	} while (time);
	return end;
}

/* The same as "%12llu | " with the indentation after it. */
static void indent(const struct sink *sink, u64 time, size_t depth)
{
	const size_t spaces = 2 * (depth <= TREE_DEPTH ? depth : TREE_DEPTH);
	char line[TIME_DIGITS + sizeof(" | ") + 2 * TREE_DEPTH];
	char *end = line + TIME_DIGITS, *start = put_digits(end, time);

	while (start > end - TIME_WIDTH)
		*--start = ' ';
	memcpy(end, " | ", 3);
	memset(end + 3, ' ', spaces);
	fwrite_unlocked(start, 1, end + 3 + spaces - start, sink->out);
	if (depth > TREE_DEPTH)
		fprintf(sink->out, "[%zu] ", depth);
}

static void print_duration(const struct sink *sink, u64 duration)
{
	char text[1 + TIME_DIGITS + sizeof(" ns")];
	char *end = text + 1 + TIME_DIGITS, *start = put_digits(end, duration);

	*--start = ' ';
	memcpy(end, " ns", sizeof(" ns"));
	print(sink, start);
}

/* Demangled names of C++ have their parameters. */
static void print_call(const struct sink *sink, const struct frame *frame, const char *end)
{
	const char *name = sink_name(sink, frame->function);

	print(sink, name);
	if (!strchr(name, '('))
		print(sink, "()");
	print(sink, end);
	sink_print_place(sink, frame->function, " /* ", " */");
}

/* Print the call that was held back, as a block, because something comes before its end. */
static void let_go(struct sink *sink, const struct thread *thread)
{
	struct tree *tree = sink->data;
	const size_t depth = tree->held;

	if (!depth)
		return;
	tree->held = 0;
	indent(sink, tree->started, depth - 1);
	print_call(sink, &thread->frames[depth - 1], " {");
	putc_unlocked('\n', sink->out);
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
	fprintf(sink->out, "-- %s%s%s\n", thread->label, thread->name ? ", " : "",
		thread->name ?: "");
}

static int begin(struct sink *sink, struct fault *fault)
{
	sink->data = calloc(1, sizeof(struct tree));
	if (!sink->data)
		return fault_say(fault, "there is not enough memory for a tree");
	fprintf(sink->out, "# %s | call\n", sink->timed ? "nanoseconds" : "    event");
	return 0;
}

/* Is the innermost call beyond the greatest depth? */
static bool is_deeper(const struct sink *sink, const struct thread *thread)
{
	return sink->depth && thread->nr_frames > sink->depth;
}

/* The number of calls that were beyond it, in the call of the stack that is at this depth. */
static unsigned long get_deeper(const struct thread *thread)
{
	return (unsigned long)thread->sink;
}

static void set_deeper(struct thread *thread, unsigned long deeper)
{
	thread->sink = (void *)deeper;
}

static void enter(struct sink *sink, struct thread *thread, struct frame *frame)
{
	struct tree *tree = sink->data;

	if (is_deeper(sink, thread)) {
		set_deeper(thread, get_deeper(thread) + 1);
		return;
	}
	switch_to(sink, thread);
	let_go(sink, thread);
	tree->held = thread->nr_frames;
	tree->started = frame->entered;
}

/* Print a comment after a call, about its end; none if there is nothing to say. */
static void print_end(struct sink *sink, struct thread *thread, const struct frame *frame,
		      enum leave_how how, const char *name)
{
	const char *certain = thread->nr_frames <= thread->uncertain ? " there was a gap," : "";
	unsigned long deeper = 0;

	if (thread->nr_frames == sink->depth) {
		deeper = get_deeper(thread);
		set_deeper(thread, 0);
	}
	if (*name || sink->timed || *certain || *comments[how] || deeper) {
		print(sink, *name ? " /* " : " /*");
		print(sink, name);
		if (how == LEFT_LEAF && sink->timed)
			print(sink, " leaf, time not known");
		else if (sink->timed)
			print_duration(sink, thread->now - frame->entered);
		print(sink, certain);
		print(sink, comments[how]);
		if (deeper)
			fprintf(sink->out, "%s %lu deeper call%s",
				sink->timed || *comments[how] ? "," : "", deeper,
				deeper > 1 ? "s" : "");
		print(sink, " */");
	}
	putc_unlocked('\n', sink->out);
}

static void leave(struct sink *sink, struct thread *thread, struct frame *frame,
		  enum leave_how how)
{
	struct tree *tree = sink->data;

	if (is_deeper(sink, thread))
		return;
	switch_to(sink, thread);
	if (tree->held) {
		tree->held = 0;
		indent(sink, tree->started, thread->nr_frames - 1);
		print_call(sink, frame, ";");
		print_end(sink, thread, frame, how, "");
	} else {
		indent(sink, thread->now, thread->nr_frames - 1);
		putc_unlocked('}', sink->out);
		print_end(sink, thread, frame, how, sink_name(sink, frame->function));
	}
}

static void unmatched(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	switch_to(sink, thread);
	let_go(sink, thread);
	indent(sink, thread->now, thread->nr_frames);
	fprintf(sink->out, "/* %s %s, %s */\n",
		sink_name(sink, stub->function),
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
	putc_unlocked('\n', sink->out);
}

static void switched(struct sink *sink, struct thread *thread)
{
	switch_to(sink, thread);
	let_go(sink, thread);
	fputs("-- this thread changes its stack: from here on, calls are shown on their own\n",
	      sink->out);
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
	.switched = switched,
	.ended = ended,
	.end = end,
};
