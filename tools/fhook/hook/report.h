/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Printing recorded events, in the form of fhook trace or in JSON
 */
#ifndef FHOOK_HOOK_REPORT_H
#define FHOOK_HOOK_REPORT_H

#include <event-parse.h>
#include "enumeration.h"

struct tracecmd_input;

/**
 * struct field_names - names of the values of a field
 * @field: the field
 * @names: names; none if the description of the event has none
 */
struct field_names {
	const struct tep_format_field *field;
	struct enumeration names;
};

/**
 * struct report - a recording that is being printed
 * @tep: descriptions of events, symbols, and names of tasks
 * @seq: buffer for text of libtraceevent
 * @json: whether to print JSON
 * @raw: whether times are not in nanoseconds, and printed as they are
 * @inputs: buffers of the recording: the first one, and those with a name
 * @nr_inputs: number of buffers
 * @buffer: name of the buffer of the event that is printed, or ""
 * @tasks: numbers of the tasks that were printed, sorted
 * @nr_tasks: number of tasks
 * @room_tasks: number of tasks that @tasks has room for
 * @names: names of values, of the fields that were printed
 * @nr_names: number of these fields
 * @room_names: number of fields that @names has room for
 * @nr: number of printed events
 * @missed: number of missing events, as far as known
 * @gaps: number of places where events are missing whose number is unknown
 * @unknown: number of events whose descriptions are missing
 */
struct report {
	struct tep_handle *tep;
	struct trace_seq seq;
	bool json, raw;
	struct tracecmd_input **inputs;
	int nr_inputs;
	const char *buffer;
	int *tasks;
	size_t nr_tasks, room_tasks;
	struct field_names *names;
	size_t nr_names, room_names;
	u64 nr, missed, gaps, unknown;
};

/**
 * struct frames - a stack
 * @data: addresses, the innermost first, not aligned
 * @nr: number of addresses
 */
struct frames {
	const void *data;
	size_t nr;
};

/* The flags of an event, in five letters as the kernel prints them. */
void report_flags(struct report *report, struct tep_record *record, char text[6]);

/* An address of a stack. */
u64 report_frame(struct frames frames, size_t number);

#define SYMBOL_ROOM	600

/**
 * struct where - the place of a call
 * @function: the function, with an offset at its entry only
 * @caller: the caller, with an offset, or empty at an entry
 */
struct where {
	char function[SYMBOL_ROOM], caller[SYMBOL_ROOM];
};

/* The value of a field that is a number; false if the event has no such field. */
bool report_number(struct tep_event *event, struct tep_record *record, const char *name,
		   u64 *number);

/* The value of a field; false if it is no number, or not in the record. */
bool report_field(struct tep_format_field *field, struct tep_record *record, u64 *number);

/* Is a field a string? One that the kernel could not read has the size 0. */
bool report_is_string(const struct tep_format_field *field);

/* Is it one in an array? The label of the array has LENGTH letters. */
bool report_is_element(const struct tep_format_field *field, size_t *length, u64 *number);

/* Print the text of an event, with "(fault)" for strings that could not be read. */
void report_strings(struct tep_event *event, struct tep_record *record, const char *text);

/* The contents of a field, which is an array; false if they are not in the record. */
bool report_array(struct tep_format_field *field, struct tep_record *record, const void **data,
		  size_t *size);

/* The kernel's stack, if the event is one. */
bool report_stack(struct tep_event *event, struct tep_record *record, struct frames *frames);

/* The stack of a program that belongs to a call; empty if there is none. */
struct frames report_user_stack(struct tep_event *event, struct tep_record *record);

/*
 * "function+0x0/0x10", or "function" without OFFSET; a number if the address is of a program, or
 * unknown.
 */
void report_symbol(struct report *report, char text[SYMBOL_ROOM], u64 address, bool offset);

/* The place of a call, in the kernel's form. Returns false if the event is no call. */
bool report_where(struct report *report, struct tep_event *event, struct tep_record *record,
		  struct where *where);

/* Names of the values of a field, which are kept; NULL without memory. */
const struct enumeration *report_names(struct report *report, const struct tep_event *event,
				       const struct tep_format_field *field);
void report_free_names(struct report *report);

/* Print an event in JSON. Returns 0, or -1 without memory. */
int report_json(struct report *report, struct tep_event *event, struct tep_record *record);

#endif /* FHOOK_HOOK_REPORT_H */
