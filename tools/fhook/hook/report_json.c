// SPDX-License-Identifier: GPL-2.0
/*
 * Recorded events in the Chrome trace event format
 *
 * A call with a duration is a complete event ("X"), which begins that much before it was
 * recorded; others are instants ("i"). Times are in microseconds, with three more digits.
 * Each task is a process of its own, as events do not say to which process it belongs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/json.h"
#include "report.h"

static void print_time(const char *name, u64 ns)
{
	printf(",\"%s\":%llu.%03llu", name, ns / 1000, ns % 1000);
}

static void print_name_of_task(const char *kind, int task, const char *comm)
{
	printf("{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":",
	       kind, task, task);
	json_string(stdout, comm);
	fputs("}},\n", stdout);
}

/* Name a task before its first event. */
static int introduce(struct report *report, int task)
{
	const char *comm = tep_data_comm_from_pid(report->tep, task);
	const size_t at = first_index(report->nr_tasks, i, report->tasks[i] < task);

	if (at < report->nr_tasks && report->tasks[at] == task)
		return 0;
	if (grow(&report->tasks, &report->room_tasks, report->nr_tasks, sizeof(*report->tasks)))
		return -1;
	memmove(report->tasks + at + 1, report->tasks + at,
		(report->nr_tasks++ - at) * sizeof(*report->tasks));
	report->tasks[at] = task;
	print_name_of_task("process_name", task, comm);
	print_name_of_task("thread_name", task, comm);
	return 0;
}

static void print_number(struct tep_format_field *field, unsigned int size, u64 number)
{
	const unsigned int unused = 64 - 8 * size;
	const bool is_signed = field->flags & TEP_FIELD_IS_SIGNED;

	json_number(stdout, is_signed ? (u64)((s64)(number << unused) >> unused) : number,
		    is_signed);
}

/* Print a number, or its name. Returns 0, or -1 without memory. */
static int print_named(struct report *report, struct tep_event *event,
		       struct tep_format_field *field, u64 number)
{
	const struct enumeration *names = report_names(report, event, field);

	if (names && names->nr)
		return enumeration_json(names, number, stdout);
	print_number(field, field->size, number);
	return names ? 0 : -1;
}

/* A string may lack its zero. */
static int print_string(const char *data, size_t size)
{
	char *string;

	if (!size) {
		fputs("null", stdout);
		return 0;
	}
	string = strndup(data, size);
	if (!string)
		return -1;
	json_string(stdout, string);
	free(string);
	return 0;
}

/* Does a field have so many numbers of the size that the description says? */
static bool is_list(struct tep_format_field *field, size_t size)
{
	const unsigned int one = field->elementsize;

	return field->flags & TEP_FIELD_IS_ARRAY && !(field->flags & TEP_FIELD_IS_DYNAMIC) &&
	       (one == 1 || one == 2 || one == 4 || one == 8) && size == one * field->arraylen;
}

static void print_list(struct report *report, struct tep_format_field *field, const void *data)
{
	const unsigned int size = field->elementsize;
	unsigned int i;

	fputc('[', stdout);
	for (i = 0; i < field->arraylen; i++) {
		fputs(i ? "," : "", stdout);
		print_number(field, size, tep_read_number(report->tep, data + i * size, size));
	}
	fputc(']', stdout);
}

static int print_value(struct report *report, struct tep_event *event,
		       struct tep_format_field *field, struct tep_record *record)
{
	const unsigned int arrays = TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC;
	const void *data;
	size_t size;
	u64 number;

	if (!(field->flags & arrays) && report_field(field, record, &number))
		return print_named(report, event, field, number);
	if (!report_array(field, record, &data, &size)) {
		fputs("null", stdout);
		return 0;
	}
	/* libtraceevent takes all arrays of bytes for strings. */
	if (report_is_string(field))
		return print_string(data, size);
	if (is_list(field, size)) {
		print_list(report, field, data);
		return 0;
	}
	trace_seq_reset(&report->seq);
	tep_print_field_content(&report->seq, record->data, record->size, field);
	trace_seq_terminate(&report->seq);
	json_string(stdout, report->seq.buffer);
	return 0;
}

/* Is a field an argument, and none of those that every call has? */
static bool is_argument(struct tep_format_field *field, bool span)
{
	return strncmp(field->name, "__probe_", strlen("__probe_")) &&
	       strcmp(field->name, "ustacktrace") && (!span || strcmp(field->name, "duration"));
}

static void print_frames(struct report *report, struct frames frames)
{
	const char *name;
	u64 address;
	size_t i;

	fputs(",\"stack\":[", stdout);
	for (i = 0; i < frames.nr; i++) {
		address = report_frame(frames, i);
		name = (s64)address < 0 ? tep_find_function(report->tep, address) : NULL;
		fputs(i ? "," : "", stdout);
		if (name)
			json_string(stdout, name);
		else
			printf("\"0x%llx\"", address);
	}
	fputc(']', stdout);
}

static void print_where(struct report *report, struct tep_event *event,
			struct tep_record *record)
{
	struct where where;

	if (!report_where(report, event, record, &where))
		return;
	fputs(",\"function\":", stdout);
	json_string(stdout, where.function);
	if (!*where.caller)
		return;
	fputs(",\"caller\":", stdout);
	json_string(stdout, where.caller);
}

/* Print an array of strings. Returns its last element, or NULL without memory. */
static struct tep_format_field *print_strings(struct report *report, struct tep_event *event,
					      struct tep_format_field *field, size_t length,
					      struct tep_record *record)
{
	const char *label = field->name;
	u64 number, found;
	size_t other;

	fputc('[', stdout);
	for (number = 1;; number++, field = field->next) {
		if (print_value(report, event, field, record))
			return NULL;
		if (!field->next || !report_is_element(field->next, &other, &found) ||
		    found != number || other != length ||
		    strncmp(field->next->name, label, length))
			break;
		fputc(',', stdout);
	}
	fputc(']', stdout);
	return field;
}

/* Print the value of a field, or of an array. Returns its last field, or NULL without memory. */
static struct tep_format_field *print_argument(struct report *report, struct tep_event *event,
					       struct tep_format_field *field,
					       struct tep_record *record)
{
	size_t length;
	u64 number;
	const bool array = report_is_element(field, &length, &number) && !number;
	char *label = strndup(field->name, array ? length : strlen(field->name));

	if (!label)
		return NULL;
	json_string(stdout, label);
	fputc(':', stdout);
	free(label);
	if (array)
		return print_strings(report, event, field, length, record);
	return print_value(report, event, field, record) ? NULL : field;
}

/* Arguments are in an object of their own: their labels may be those of other members. */
static int print_arguments(struct report *report, struct tep_event *event,
			   struct tep_record *record, bool span)
{
	const char *separator = "";
	struct tep_format_field *field;

	fputs(",\"args\":{", stdout);
	for (field = event->format.fields; field; field = field->next) {
		if (!is_argument(field, span))
			continue;
		fputs(separator, stdout);
		separator = ",";
		field = print_argument(report, event, field, record);
		if (!field)
			return -1;
	}
	fputc('}', stdout);
	return 0;
}

static int print_details(struct report *report, struct tep_event *event,
			 struct tep_record *record, bool span)
{
	struct frames frames;

	printf(",\"args\":{\"cpu\":%d", record->cpu);
	if (report_stack(event, record, &frames)) {
		print_frames(report, frames);
		return 0;
	}
	print_where(report, event, record);
	if (print_arguments(report, event, record, span))
		return -1;
	frames = report_user_stack(event, record);
	if (frames.nr)
		print_frames(report, frames);
	return 0;
}

/*
 * The duration of a call: the kernel's field after the address of the caller. An argument may have
 * its name, but the kernel prints arguments of this type in another form.
 */
static bool take_duration(struct tep_event *event, struct tep_record *record, u64 *duration)
{
	struct tep_format_field *field = tep_find_field(event, "__probe_ret_ip");
	const char *format = event->print_fmt.format;

	field = field ? field->next : NULL;
	return field && !strcmp(field->name, "duration") &&
	       format && strstr(format, ") duration=%llu") &&
	       report_field(field, record, duration) && *duration <= record->ts;
}

int report_json(struct report *report, struct tep_event *event, struct tep_record *record)
{
	const int task = tep_data_pid(report->tep, record);
	u64 duration = 0;
	const bool span = take_duration(event, record, &duration);

	fputs(report->nr++ ? ",\n" : "\n", stdout);
	if (introduce(report, task))
		return -1;
	fputs("{\"name\":", stdout);
	json_string(stdout, event->name);
	if (*report->buffer) {
		fputs(",\"cat\":", stdout);
		json_string(stdout, report->buffer);
	}
	printf(",\"ph\":\"%s\",\"pid\":%d,\"tid\":%d", span ? "X" : "i\",\"s\":\"t", task, task);
	print_time("ts", record->ts - (span ? duration : 0));
	if (span)
		print_time("dur", duration);
	if (print_details(report, event, record, span))
		return -1;
	fputs("}}", stdout);
	return 0;
}
