// SPDX-License-Identifier: GPL-2.0
/* Reading histograms of tracefs; the header describes the functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hist.h"

/* The kernel makes no larger histograms. */
#define MOST_ENTRIES	131072

/* The end of the keys of an entry. */
#define MARK		"} hitcount:"

/* A copy of the text between BEGIN and END without the letters of BLANKS at the ends. */
static char *trimmed(const char *begin, const char *end, const char *blanks)
{
	while (begin < end && strchr(blanks, *begin))
		begin++;
	while (end > begin && strchr(blanks, end[-1]))
		end--;
	return strndup(begin, end - begin);
}

/* The first occurrence of a mark before END, or the last one; or NULL. */
static const char *find_mark(const char *text, const char *end, const char *mark, bool last)
{
	const char *found = NULL;

	while ((text = strstr(text, mark)) && text < end) {
		found = text++;
		if (!last)
			break;
	}
	return found;
}

/* The value of a key begins after "NAME:" and ends before the next key or at the end. */
static char *key_of(const struct hist *hist, const char *text, const char *end, const char *name,
		    const char *next)
{
	char mark[72];
	const char *begin, *stop = end;

	snprintf(mark, sizeof(mark), "%s:", name);
	begin = find_mark(text, end, mark, name == hist->number);
	if (!begin)
		return NULL;
	begin += strlen(mark);
	if (next) {
		snprintf(mark, sizeof(mark), ", %s:", next);
		stop = find_mark(begin, end, mark, next == hist->number);
		if (!stop)
			return NULL;
	}
	/* The kernel pads with blanks alone: an end of a line is one of the name of a task. */
	return trimmed(begin, stop, " ");
}

size_t hist_size(size_t entries, size_t least)
{
	size_t size = least;

	while (size < entries && size < MOST_ENTRIES)
		size *= 2;
	return size;
}

/* Keys of the first trigger are too short to contain this. */
char *hist_of_trigger(char *text, bool second)
{
	char *other = strstr(text + 1, "\n# event histogram\n#\n# trigger info: hist:keys=");

	if (second)
		return other ? other + 1 : NULL;
	if (other)
		*other = '\0';
	return text;
}

static void free_row(struct hist_row *row)
{
	unsigned int i;

	for (i = 0; i < HIST_KEYS; i++)
		free(row->keys[i]);
	for (i = 0; row->saved && row->saved[i]; i++)
		free(row->saved[i]);
	free(row->saved);
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

/*
 * Read "max: N  NAME: VALUE  NAME: VALUE" below an entry. Values may be strings, which contain
 * anything: only the order of the names is certain.
 */
static int read_saved(const struct hist *hist, struct hist_row *row, const char *text,
		      const char *stop)
{
	const char *at = strstr(text, "\n\tmax: "), *next;
	char mark[72];
	size_t i;

	row->saved = calloc(hist->nr_saves + 1, sizeof(*row->saved));
	if (!row->saved || !at || at >= stop)
		return -1;
	row->max = strtoull(at + strlen("\n\tmax: "), NULL, 10);
	for (i = 0; i < hist->nr_saves; i++, at = next) {
		snprintf(mark, sizeof(mark), "  %s: ", hist->saves[i]);
		at = strstr(at, mark);
		if (!at || at >= stop)
			return -1;
		at += strlen(mark);
		next = stop;
		if (i + 1 < hist->nr_saves) {
			snprintf(mark, sizeof(mark), "  %s: ", hist->saves[i + 1]);
			next = strstr(at, mark);
			if (!next || next > stop)
				return -1;
		}
		row->saved[i] = trimmed(at, next, "\n ");
		if (!row->saved[i])
			return -1;
	}
	return 0;
}

static int add_row(struct hist *hist, const char *text, const char *end, const char *stop,
		   const char *const *names)
{
	struct hist_row row = { 0 };
	unsigned int i;

	for (i = 0; names[i]; i++) {
		row.keys[i] = key_of(hist, text, end, names[i], names[i + 1]);
		if (!row.keys[i])
			goto bad;
	}
	read_values(&row, end + 1);
	if (hist->nr_saves && read_saved(hist, &row, end, stop))
		goto bad;
	if (grow(&hist->rows, &hist->room, hist->nr, sizeof(row)))
		goto bad;
	hist->rows[hist->nr++] = row;
	return 0;
bad:
	free_row(&row);
	return -1;
}

/*
 * The next line that begins with the first key, or NULL. Saved strings may contain such a line;
 * the keys of an entry with them are in one line, as they have no names of tasks.
 */
static char *next_entry(const struct hist *hist, char *text, const char *key)
{
	const size_t length = strlen(key);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, "{ ", 2) && !strncmp(text + 2, key, length) &&
		    text[2 + length] == ':' &&
		    (!hist->nr_saves ||
		     find_mark(text, text + strcspn(text, "\n"), MARK, false)))
			return text;
	}
	return NULL;
}

/* The end of the keys of an entry. Names of tasks may contain the mark, and ends of lines. */
static const char *end_of_keys(const struct hist *hist, const char *entry, const char *stop)
{
	return find_mark(entry, hist->nr_saves ? entry + strcspn(entry, "\n") : stop, MARK, true);
}

/* The sums below the last entry: strings may contain the same text. */
static char *find_totals(char *text)
{
	char *totals = NULL;

	while ((text = strstr(text, "\n\nTotals:")))
		totals = text++;
	return totals;
}

/* Strings may look like entries, or hide some. The kernel's number follows all strings. */
static void compare_number(struct hist *hist, const char *totals, size_t entries, size_t read)
{
	const char *count = totals ? strstr(totals, "Entries: ") : NULL;
	u64 number;

	if (!count)
		return;
	number = strtoull(count + strlen("Entries: "), NULL, 10);
	hist->forged |= entries > number;
	if (number > read)
		hist->missing += number - read;
}

int hist_parse(struct hist *hist, char *text, const char *const *names, struct fault *fault)
{
	char *totals = find_totals(text), *entry = next_entry(hist, text, names[0]), *next;
	char *end = totals ? totals : text + strlen(text), *bad = NULL, *dropped;
	const size_t before = hist->nr;
	const char *keys, *stop;
	size_t entries = 0;

	for (; entry && entry < end; entry = next) {
		next = next_entry(hist, entry + 1, names[0]);
		stop = next && next < end ? next : end;
		keys = end_of_keys(hist, entry, stop);
		if (!keys)
			continue;
		entries++;
		if (add_row(hist, entry + 1, keys, stop, names))
			bad = entry;
	}
	compare_number(hist, totals, entries, hist->nr - before);
	if (bad && !hist->nr && !hist->forged)
		return fault_say(fault, "the kernel's histogram is not understood: %.60s", bad);
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
