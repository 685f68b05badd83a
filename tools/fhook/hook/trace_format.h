/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descriptions of events, and names of tasks, for recordings
 *
 * Readers of a trace.dat print an event as its description says. The kernel prints some values
 * in another way than it describes, and knows no names of values of enum types.
 */
#ifndef FHOOK_HOOK_TRACE_FORMAT_H
#define FHOOK_HOOK_TRACE_FORMAT_H

#include "call_event.h"

/* Element N of an array of strings is the field of its label, this, and N. */
#define TRACE_FORMAT_ELEMENT	"__"

/*
 * The description of an event, from that of the kernel; to be freed, or NULL without memory.
 * USER: the event is on functions of programs. EVENT has the names of values, and may be NULL.
 */
char *trace_format(const char *text, bool user, const struct call_event *event);

/*
 * The names of tasks, from the kernel's lines of a number and a name; to be freed, or NULL without
 * memory. libtraceevent reads no more names after an empty one, or one with an end of a line: '?'
 * replaces both.
 */
char *trace_format_tasks(const char *text);

#endif /* FHOOK_HOOK_TRACE_FORMAT_H */
