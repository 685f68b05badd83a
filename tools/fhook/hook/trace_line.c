// SPDX-License-Identifier: GPL-2.0
/* Lines of trace_pipe; the header describes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/json.h"
#include "trace_line.h"
#include "trace_value.h"

/* The end of the line before the stack of an event of the kernel */
#define STACK_HEAD	": <stack trace>"

static bool ends_in(const char *line, const char *tail)
{
	const size_t length = strlen(line);

	return length > strlen(tail) && !strcmp(line + length - strlen(tail), tail);
}

/* The text after "TASK-PID [CPU] FLAGS TIME: EVENT: " and its event, or NULL. */
static const char *find_event(const struct trace_lines *lines, const char *line,
			      const struct call_event **event)
{
	const char *at = line, *end;
	size_t i;

	/* Names of tasks may have colons and blanks, but no event's name follows these. */
	while ((at = strstr(at, ": "))) {
		at += 2;
		end = strstr(at, ": (");
		for (i = 0; end && i < lines->events->nr; i++) {
			*event = lines->events->all + i;
			if (strlen((*event)->name) == (size_t)(end - at) &&
			    !strncmp((*event)->name, at, end - at))
				return end + 2;
		}
	}
	return NULL;
}

/* Print the beginning of a line, without the mark. Returns the text after it. */
static const char *write_name(const struct trace_lines *lines, const char *line, const char *at)
{
	fwrite(line, 1, at - strlen(": ") - strlen(lines->events->mark) - line, lines->out);
	fputs(": ", lines->out);
	return at;
}

/* The thread of an event, from its line; 0 if that is not known. */
static pid_t thread_of(const char *line)
{
	return strlen(line) > NAME_WIDTH && line[NAME_WIDTH] == '-' ?
	       atoi(line + NAME_WIDTH + 1) : 0;
}

/* The stack of an event comes after its line. */
static void begin_stack(struct trace_lines *lines, const char *line)
{
	lines->thread = thread_of(line);
	lines->caller = 0;
	lines->depth = 0;
	lines->ended = false;
}

/* A frame belongs to the event that was written last, the object of which is open in JSON. */
static void put_frame(struct trace_lines *lines, const char *name)
{
	if (!lines->events->options->json) {
		fprintf(lines->out, " => %s\n", name);
		return;
	}
	fputs(lines->frames++ ? "," : ",\"stack\":[", lines->out);
	json_string(lines->out, name);
}

static int write_frame(struct trace_lines *lines, u64 address)
{
	char *name = tasks_symbol(lines->tasks, lines->thread, address, lines->depth++);

	if (!name)
		return -1;
	put_frame(lines, name);
	free(name);
	return 0;
}

/*
 * Write a line of the stack of a program by name. Returns false if it is none, or has no name.
 * The frame pointer of a function that was compiled without one is any value.
 */
static bool write_user_frame(struct trace_lines *lines, const char *line)
{
	unsigned long long address;
	int end = 0;

	if (!lines->tasks || !lines->thread ||
	    sscanf(line, " => <%16llx>%n", &address, &end) != 1 || !end || line[end])
		return false;
	if (lines->depth && !tasks_has_code(lines->tasks, lines->thread, address))
		lines->ended = true;
	if (lines->ended)
		return true;
	if (write_frame(lines, address))
		return false;
	if (lines->depth == 1 && lines->caller)
		write_frame(lines, lines->caller);
	return true;
}

/* Remember the caller, which is written in the stack, in the place of the argument. */
static const char *take_caller(struct trace_lines *lines, const char *from, const char *at)
{
	char *end;

	lines->caller = strtoull(at, &end, 16);
	fwrite(from, 1, at - strlen(" " CALL_EVENT_CALLER "=") - from, lines->out);
	return end;
}

static bool is_caller(const struct trace_lines *lines, const struct call_event *event,
		      unsigned int argument)
{
	return lines->tasks && event->has_caller &&
	       !strcmp(event->spec.labels[argument], CALL_EVENT_CALLER);
}

/* Write the end of an event, after its stack. */
static void end_object(struct trace_lines *lines)
{
	if (lines->in_object)
		fputs(lines->frames ? "]}\n" : "}\n", lines->out);
	lines->in_object = false;
	lines->frames = 0;
}

static void begin_object(struct trace_lines *lines, const char *line,
			 const struct call_event *event, const char *at)
{
	const size_t length = strlen(event->name) - strlen(lines->events->mark);
	const char *caller = lines->tasks && event->has_caller ?
			     trace_value_find(at, CALL_EVENT_CALLER) : NULL;
	char name[CALL_EVENT_NAME];

	end_object(lines);
	begin_stack(lines, line);
	snprintf(name, sizeof(name), "%.*s", (int)length, event->name);
	trace_value_head(lines->out, line, name);
	trace_value_arguments(lines->out, event, at);
	lines->caller = caller ? strtoull(caller, NULL, 16) : 0;
	lines->in_object = true;
}

/*
 * The kernel's stack of a call comes apart from it: calls of other CPUs, and the end of what was
 * read, may be in between. Then it has an object of its own.
 */
static void begin_kernel_stack(struct trace_lines *lines, const char *line)
{
	if (lines->in_object && !lines->frames && thread_of(line) == lines->thread)
		return;
	end_object(lines);
	begin_stack(lines, line);
	trace_value_head(lines->out, line, "kernel_stack");
	lines->in_object = true;
}

/* Write a line that begins no event: a frame, the head of a stack, or a note. */
static void write_other(struct trace_lines *lines, const char *line)
{
	static const char arrow[] = " => ";

	if (ends_in(line, STACK_HEAD)) {
		begin_kernel_stack(lines, line);
		return;
	}
	if (lines->in_object && !strncmp(line, arrow, strlen(arrow))) {
		put_frame(lines, line + strlen(arrow));
		return;
	}
	end_object(lines);
	fputs("{\"note\":", lines->out);
	json_string(lines->out, line);
	fputs("}\n", lines->out);
}

static void write_line(struct trace_lines *lines, const char *line)
{
	const struct call_event *event = NULL;
	const char *at = find_event(lines, line, &event), *from = line;
	unsigned int i;
	char *end;
	u64 value;

	if (!at && write_user_frame(lines, line))
		return;
	if (lines->events->options->json) {
		if (at)
			begin_object(lines, line, event, at);
		else
			write_other(lines, line);
		return;
	}
	if (at) {
		begin_stack(lines, line);
		from = write_name(lines, line, at);
	}

	for (i = 0; at && i < event->spec.nr; i++) {
		at = trace_value_find(at, event->spec.labels[i]);
		if (at && is_caller(lines, event, i)) {
			from = take_caller(lines, from, at);
			at = from;
			continue;
		}
		if (!at || !event->enumerations[i].nr)
			continue;
		/* "(fault)" is no number. */
		if (!trace_value_number(at, &value, &end))
			continue;
		fwrite(from, 1, at - from, lines->out);
		enumeration_print(event->enumerations + i, value, lines->out);
		from = end;
		at = end;
	}
	fputs(from, lines->out);
	fputc('\n', lines->out);
}

static int add_text(struct trace_text *to, const char *text, size_t size)
{
	const size_t wanted = to->length + size + 1;
	char *grown = to->room < wanted ? realloc(to->text, 2 * wanted) : to->text;

	if (!grown)
		return -1;
	if (to->room < wanted)
		to->room = 2 * wanted;
	to->text = grown;
	memcpy(to->text + to->length, text, size);
	to->length += size;
	to->text[to->length] = '\0';
	return 0;
}

/* Is a line the kernel's note that events are missing? Names of tasks are shorter. */
static bool is_note(const char *line)
{
	static const char tail[] = " EVENTS]";
	const size_t length = strlen(line);
	int head = 0;

	return sscanf(line, "CPU:%*u [LOST%n", &head) >= 0 && head &&
	       length >= head + strlen(tail) && !strcmp(line + length - strlen(tail), tail);
}

/*
 * A call of a stack: in the kernel after the head of the stack, in a program after the event. A
 * text ends with a quotation mark, and a line in the name of a task is short.
 */
static bool is_call(const struct trace_lines *lines, const char *line)
{
	const size_t longest_name = 15;

	return !strncmp(line, " => ", strlen(" => ")) && !strchr(line, '"') &&
	       (lines->in_stack || strlen(line) > longest_name);
}

/* A line without a mark that seems to be the kernel's: a note, or part of a stack. */
static bool is_other(struct trace_lines *lines, const char *line)
{
	const bool is_stack = lines->events->options->stack &&
			      (is_call(lines, line) || ends_in(line, STACK_HEAD));

	lines->in_stack = is_stack;
	return is_stack || is_note(line);
}

/*
 * The name of a task fills as many letters as here, at least, and a '-' follows. If an end of a
 * line is in it, the line of the event lacks the beginning of the name.
 */
static bool lacks(const char *line, size_t length)
{
	return length < NAME_WIDTH && strlen(line) > NAME_WIDTH && line[NAME_WIDTH] != '-' &&
	       line[NAME_WIDTH - length - 1] == '-';
}

/* Write the line that may have gone on. */
static int finish(struct trace_lines *lines)
{
	if (lines->has_rest && ((lines->has_line && add_text(&lines->line, "?", 1)) ||
				add_text(&lines->line, lines->rest.text, lines->rest.length)))
		return -1;
	if (lines->has_line || lines->has_rest) {
		text_clean(lines->line.text);
		write_line(lines, lines->line.text);
	}
	lines->has_line = false;
	lines->has_rest = false;
	lines->line.length = 0;
	lines->rest.length = 0;
	return 0;
}

static int begin(struct trace_lines *lines, const char *line, size_t length)
{
	const bool is_named = lines->has_rest && lacks(line, lines->rest.length);
	struct trace_text name = { };
	int result = 0;

	if (is_named) {
		name = lines->rest;
		lines->rest = (struct trace_text) { };
		lines->has_rest = false;
		result = add_text(&name, "?", 1);
	}
	if (!result)
		result = finish(lines);
	if (!result)
		result = add_text(&lines->line, name.length ? name.text : "", name.length) ||
			 add_text(&lines->line, line, length);
	lines->has_line = true;
	free(name.text);
	return result ? -1 : 0;
}

/* Begin the held lines, which are the kernel's. */
static int release(struct trace_lines *lines)
{
	struct trace_text held = lines->held;
	char *line = held.text, *end;
	int result = 0;

	lines->held = (struct trace_text) { };
	for (; held.length && !result && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		result = begin(lines, line, end - line);
	}
	free(held.text);
	return result;
}

/*
 * A text that imitates a note or a stack goes on after it, at least with its quotation mark: hold
 * such lines back until the next event, or until all that was read has been written.
 */
static int take_line(struct trace_lines *lines, const char *line, size_t length)
{
	const struct call_event *event;

	if (find_event(lines, line, &event)) {
		lines->in_stack = false;
		return release(lines) || begin(lines, line, length) ? -1 : 0;
	}
	if (is_other(lines, line))
		return add_text(&lines->held, line, length) || add_text(&lines->held, "\n", 1) ?
		       -1 : 0;
	if ((lines->has_rest && add_text(&lines->rest, "?", 1)) ||
	    (lines->held.length &&
	     add_text(&lines->rest, lines->held.text, lines->held.length)))
		return -1;
	lines->held.length = 0;
	lines->has_rest = true;
	return add_text(&lines->rest, line, length);
}

int trace_lines_write(struct trace_lines *lines, const char *text, size_t size)
{
	const char *end;

	while (size && (end = memchr(text, '\n', size))) {
		if (add_text(&lines->part, text, end - text) ||
		    take_line(lines, lines->part.text, lines->part.length))
			return -1;
		lines->part.length = 0;
		size -= end + 1 - text;
		text = end + 1;
	}
	if (size)
		return add_text(&lines->part, text, size);
	if (release(lines) || finish(lines))
		return -1;
	end_object(lines);
	return ferror(lines->out) ? -1 : 0;
}

void trace_lines_free(struct trace_lines *lines)
{
	free(lines->part.text);
	free(lines->line.text);
	free(lines->rest.text);
	free(lines->held.text);
}
