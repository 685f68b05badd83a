/* SPDX-License-Identifier: GPL-2.0 */
/* Lines of trace_pipe, in which values of enum types are replaced by their names */
#ifndef FHOOK_HOOK_TRACE_LINE_H
#define FHOOK_HOOK_TRACE_LINE_H

#include "call_events.h"

/**
 * struct trace_lines - a writer of lines
 * @events: events of the run
 * @out: receives the lines
 * @part: beginning of a line whose end is not read yet
 * @length: length of @part
 */
struct trace_lines {
	const struct call_events *events;
	FILE *out;
	char *part;
	size_t length;
};

/*
 * Write text of trace_pipe, which may end in a line, and whose control characters are replaced.
 * Returns 0, or -1 and errno.
 */
int trace_lines_write(struct trace_lines *lines, char *text, size_t size);
void trace_lines_free(struct trace_lines *lines);

#endif /* FHOOK_HOOK_TRACE_LINE_H */
