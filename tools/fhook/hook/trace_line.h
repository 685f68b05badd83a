/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of trace_pipe, as they are printed
 *
 * Values of enum types are replaced by their names, as are addresses in stacks of programs. Texts
 * in a line are not trusted: they may contain ends of lines and what looks like the line of another
 * event. The names of events end in a mark that nobody else can know: a line without it continues
 * the one before.
 */
#ifndef FHOOK_HOOK_TRACE_LINE_H
#define FHOOK_HOOK_TRACE_LINE_H

#include "call_events.h"
#include "tasks.h"

/**
 * struct trace_text - text that grows
 * @text: the text, with a terminating zero; NULL while there was none
 * @length: its length
 * @room: allocated bytes
 */
struct trace_text {
	char *text;
	size_t length, room;
};

/**
 * struct trace_lines - a writer of lines
 * @events: events of the run
 * @out: receives the lines
 * @part: beginning of a line whose end is not read yet
 * @line: line that may go on
 * @rest: lines after it that are not lines of events
 * @held: lines after these that are the kernel's if no other text follows, each with its end
 * @in_stack: whether the last line seems to be part of a stack
 * @has_line: whether there is a @line, which may be empty
 * @has_rest: whether there is a @rest, which may be empty
 * @tasks: code of the programs of which stacks are recorded, or NULL if addresses stay as they are
 * @thread: thread of the last event
 * @caller: address of its caller, which its stack lacks, or 0
 * @depth: number of lines of its stack that were written
 * @in_object: whether the last event is a JSON object that is not closed
 * @frames: number of frames in it
 * @ended: whether the rest of its stack has no code, and is left out
 */
struct trace_lines {
	const struct call_events *events;
	FILE *out;
	struct trace_text part, line, rest, held;
	bool in_stack, has_line, has_rest;
	struct tasks *tasks;
	pid_t thread;
	u64 caller;
	unsigned int depth, frames;
	bool in_object, ended;
};

/*
 * Write text of trace_pipe, which has all of the events that it has parts of. Control characters
 * are replaced. Returns 0, or -1 and errno.
 */
int trace_lines_write(struct trace_lines *lines, const char *text, size_t size);
void trace_lines_free(struct trace_lines *lines);

#endif /* FHOOK_HOOK_TRACE_LINE_H */
