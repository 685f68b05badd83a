/* SPDX-License-Identifier: GPL-2.0 */
/* Values of arguments in lines of trace_pipe, and such lines as JSON */
#ifndef FHOOK_HOOK_TRACE_VALUE_H
#define FHOOK_HOOK_TRACE_VALUE_H

#include <stdio.h>
#include "call_event.h"

/* Names of tasks fill this many letters, at least, and '-' and the number of the task follow. */
#define NAME_WIDTH	16

/*
 * The value of an argument, after " LABEL=" in the text after the value of the one before it.
 * Where that is text, the label follows its quotation mark. Text may imitate this: then numbers
 * in it are replaced, and the argument's is not.
 */
const char *trace_value_find(const char *text, const char *label);

/* The number at TEXT, and where it ends; false if there is none. */
bool trace_value_number(const char *text, u64 *number, char **end);

/*
 * Print the beginning of an object: the event NAME, and its task, CPU and time, from a line. It
 * has no closing bracket.
 */
void trace_value_head(FILE *out, const char *line, const char *name);

/* Print where the call is, and the arguments, which are at AT, as members of the object. */
void trace_value_arguments(FILE *out, const struct call_event *event, const char *at);

#endif /* FHOOK_HOOK_TRACE_VALUE_H */
