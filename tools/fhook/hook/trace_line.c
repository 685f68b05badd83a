// SPDX-License-Identifier: GPL-2.0
/* Lines of trace_pipe with names; the header describes the functions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "trace_line.h"

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

/*
 * The value of an argument, after " LABEL=" in the text after the value of the one before it.
 * Where that is text, the label follows its quotation mark. Text may imitate this: then numbers
 * in it are replaced, and the argument's is not.
 */
static const char *find_value(const char *text, const char *label)
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

static void write_line(const struct trace_lines *lines, const char *line)
{
	const struct call_event *event = NULL;
	const char *at = find_event(lines, line, &event), *from = line;
	const int error = errno;
	unsigned int i;
	char *end;
	u64 value;

	for (i = 0; at && i < event->spec.nr; i++) {
		at = find_value(at, event->spec.labels[i]);
		if (!at || !event->enumerations[i].nr)
			continue;
		errno = 0;
		value = *at == '-' ? (u64)strtoll(at, &end, 10) : strtoull(at, &end, 10);
		/* "(fault)" is no number. */
		if (end == at || errno || (*end && *end != ' '))
			continue;
		errno = error;
		fwrite(from, 1, at - from, lines->out);
		enumeration_print(event->enumerations + i, value, lines->out);
		from = end;
		at = end;
	}
	/* Why a line before this one could not be written */
	errno = error;
	fputs(from, lines->out);
	fputc('\n', lines->out);
}

static int add_part(struct trace_lines *lines, const char *text, size_t size)
{
	char *part = realloc(lines->part, lines->length + size + 1);

	if (!part)
		return -1;
	memcpy(part + lines->length, text, size);
	lines->part = part;
	lines->length += size;
	part[lines->length] = '\0';
	return 0;
}

int trace_lines_write(struct trace_lines *lines, char *text, size_t size)
{
	char *end;

	text_clean_lines(text, size);
	if (!call_events_have_names(lines->events))
		return fwrite(text, 1, size, lines->out) == size ? 0 : -1;
	while (size && (end = memchr(text, '\n', size))) {
		if (add_part(lines, text, end - text))
			return -1;
		write_line(lines, lines->part);
		lines->length = 0;
		size -= end + 1 - text;
		text = end + 1;
	}
	return add_part(lines, text, size) || ferror(lines->out) ? -1 : 0;
}

void trace_lines_free(struct trace_lines *lines)
{
	free(lines->part);
}
