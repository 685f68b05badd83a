// SPDX-License-Identifier: GPL-2.0
/* Values in lines of trace_pipe; the header describes the functions. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "lib/json.h"
#include "trace_value.h"

#define FAULT	"(fault)"

const char *trace_value_find(const char *text, const char *label)
{
	const size_t length = strlen(label);
	const bool quoted = *text == '"';

	while ((text = strchr(text, ' '))) {
		text++;
		if (!strncmp(text, label, length) && text[length] == '=' &&
		    (!quoted || text[-2] == '"'))
			return text + length + 1;
	}
	return NULL;
}

bool trace_value_number(const char *text, u64 *number, char **end)
{
	const int error = errno;
	bool is_number;

	errno = 0;
	*number = *text == '-' ? (u64)strtoll(text, end, 10) : strtoull(text, end, 10);
	is_number = *end != text && !errno && strchr(" ,}", **end);
	errno = error;
	return is_number;
}

static void print_part(FILE *out, const char *text, size_t length)
{
	char *part = strndup(text, length);

	json_string(out, part ? part : "");
	free(part);
}

/* A number, a string, or what the kernel prints for others: hexadecimal numbers and symbols. */
static void print_scalar(FILE *out, const char *text, size_t length)
{
	u64 number;
	char *end;

	if (length >= 2 && *text == '"' && text[length - 1] == '"')
		print_part(out, text + 1, length - 2);
	else if (length == strlen(FAULT) && !strncmp(text, FAULT, length))
		fputs("null", out);
	else if (trace_value_number(text, &number, &end) && end == text + length)
		json_number(out, number, *text == '-');
	else
		print_part(out, text, length);
}

/* The length of an element of an array: strings may have commas and brackets in them. */
static size_t element_length(const char *text, const char *end)
{
	const char *at = text;

	if (*text != '"')
		return strcspn(text, ",}");
	for (at++; at + 1 < end && (at[0] != '"' || !strchr(",}", at[1])); at++)
		;
	return at + 1 - text;
}

static void print_value(FILE *out, const char *text, size_t length)
{
	const char *const end = text + length;
	const char *at = text + 1;
	size_t size;

	if (*text != '{') {
		print_scalar(out, text, length);
		return;
	}
	fputc('[', out);
	for (; at < end; at += size + 1) {
		size = element_length(at, end);
		/* A line may be cut off. */
		if (size > (size_t)(end - at))
			size = end - at;
		fputs(at > text + 1 ? "," : "", out);
		print_scalar(out, at, size);
	}
	fputc(']', out);
}

void trace_value_head(FILE *out, const char *line, const char *name)
{
	const size_t blanks = strspn(line, " ");
	const char *rest;
	unsigned int cpu;
	char time[32];
	int task;

	fputs("{\"event\":", out);
	json_string(out, name);
	/* With the option record-tgid, the number of the process is before the CPU. */
	rest = strlen(line) > NAME_WIDTH ? strchr(line + NAME_WIDTH, '[') : NULL;
	if (!rest || sscanf(line + NAME_WIDTH, "-%d", &task) != 1 ||
	    sscanf(rest, "[%u] %*s %31[0-9.]", &cpu, time) != 2)
		return;
	fputs(",\"comm\":", out);
	print_part(out, line + blanks, NAME_WIDTH - blanks);
	fprintf(out, ",\"pid\":%d,\"cpu\":%u,\"time\":%s", task, cpu, time);
}

/* "(FUNCTION)", or "(CALLER <- FUNCTION)" of a return */
static const char *print_where(FILE *out, const char *at)
{
	static const char arrow[] = " <- ";
	const char *const end = strchr(at, ')');
	const char *function;

	if (*at != '(' || !end)
		return at;
	at++;
	function = strstr(at, arrow);
	function = function && function < end ? function + strlen(arrow) : at;
	fputs(",\"function\":", out);
	print_part(out, function, end - function);
	if (function > at) {
		fputs(",\"caller\":", out);
		print_part(out, at, function - strlen(arrow) - at);
	}
	return end + 1;
}

/* The end of an argument's value, before the next argument that is in the line. */
static const char *value_end(const struct call_event *event, unsigned int argument, const char *at)
{
	const char *next = NULL;

	while (!next && ++argument < event->spec.nr) {
		next = trace_value_find(at, event->spec.labels[argument]);
		if (next)
			next -= strlen(event->spec.labels[argument]) + strlen(" =");
	}
	return next ? next : at + strlen(at);
}

void trace_value_arguments(FILE *out, const struct call_event *event, const char *at)
{
	static const char duration[] = "duration";
	const char *value, *end, *between = "";
	unsigned int i;
	u64 number;
	char *rest;

	at = print_where(out, at);
	value = event->spec.longer ? trace_value_find(at, duration) : NULL;
	if (value && trace_value_number(value, &number, &rest))
		fprintf(out, ",\"%s\":%llu", duration, number);
	fputs(",\"args\":{", out);
	for (i = 0; i < event->spec.nr; i++) {
		value = trace_value_find(at, event->spec.labels[i]);
		if (!value)
			continue;
		end = value_end(event, i, value);
		at = value;
		if (event->has_caller && !strcmp(event->spec.labels[i], CALL_EVENT_CALLER))
			continue;
		fputs(between, out);
		between = ",";
		json_string(out, event->spec.labels[i]);
		fputc(':', out);
		if (event->enumerations[i].nr && trace_value_number(value, &number, &rest))
			enumeration_json(event->enumerations + i, number, out);
		else
			print_value(out, value, end - value);
	}
	fputc('}', out);
}
