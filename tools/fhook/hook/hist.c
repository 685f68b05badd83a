// SPDX-License-Identifier: GPL-2.0
/* Reading histograms of tracefs; the header describes the functions. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hist.h"

/* A copy of the text between BEGIN and END without blanks at the ends. */
static char *trimmed(const char *begin, const char *end)
{
	while (begin < end && isspace((unsigned char)*begin))
		begin++;
	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	return strndup(begin, end - begin);
}

/* The value of a key begins after "NAME:" and ends before the next key or at the end. */
static char *key_of(const char *text, const char *end, const char *name, const char *next)
{
	char mark[72];
	const char *begin, *stop = end;

	snprintf(mark, sizeof(mark), "%s:", name);
	begin = strstr(text, mark);
	if (!begin || begin >= end)
		return NULL;
	begin += strlen(mark);
	if (next) {
		snprintf(mark, sizeof(mark), ", %s:", next);
		stop = strstr(begin, mark);
		if (!stop || stop > end)
			return NULL;
	}
	return trimmed(begin, stop);
}

static void free_row(struct hist_row *row)
{
	unsigned int i;

	for (i = 0; i < HIST_KEYS; i++)
		free(row->keys[i]);
}

/* The number after the first colon, and that after the second, if there are two. */
static void read_values(struct hist_row *row, const char *text)
{
	const char *line_end = text + strcspn(text, "\n"), *colon = strchr(text, ':');

	if (!colon || colon > line_end)
		return;
	row->hits = strtoull(colon + 1, NULL, 10);
	colon = strchr(colon + 1, ':');
	if (colon && colon < line_end)
		row->sum = strtoull(colon + 1, NULL, 10);
}

static int add_row(struct hist *hist, const char *text, const char *end,
		   const char *const *names)
{
	struct hist_row row = { 0 };
	unsigned int i;

	for (i = 0; names[i]; i++) {
		row.keys[i] = key_of(text, end, names[i], names[i + 1]);
		if (!row.keys[i])
			goto bad;
	}
	read_values(&row, end + 1);
	if (grow(&hist->rows, &hist->room, hist->nr, sizeof(row)))
		goto bad;
	hist->rows[hist->nr++] = row;
	return 0;
bad:
	free_row(&row);
	return -1;
}

/* The last mark before the end of a line: names of tasks may contain it, too. */
static char *last_mark(char *line, const char *line_end)
{
	char *mark = NULL, *next = line;

	while ((next = strstr(next, "} hitcount:")) && next < line_end)
		mark = next++;
	return mark;
}

int hist_parse(struct hist *hist, char *text, const char *const *names, struct fault *fault)
{
	char *line = text, *end, *totals = strstr(text, "\nTotals:"), *dropped;

	for (; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "{ ", 2))
			continue;
		end = last_mark(line, line + strcspn(line, "\n"));
		/* The name of a task may have a newline. */
		if (!end)
			continue;
		if (add_row(hist, line + 1, end, names))
			return fault_say(fault, "the kernel's histogram is not understood: %.60s",
					 line);
	}
	dropped = totals ? strstr(totals, "Dropped: ") : NULL;
	if (dropped)
		hist->dropped += strtoull(dropped + strlen("Dropped: "), NULL, 10);
	return 0;
}

void hist_free(struct hist *hist)
{
	size_t i;

	for (i = 0; i < hist->nr; i++)
		free_row(hist->rows + i);
	free(hist->rows);
	memset(hist, 0, sizeof(*hist));
}

const char *hist_symbol(const char *key)
{
	const char *end = *key == '[' ? strchr(key, ']') : NULL;

	return end ? end + 1 + strspn(end + 1, " ") : key;
}
