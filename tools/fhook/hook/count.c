// SPDX-License-Identifier: GPL-2.0
/* fhook count: how often functions are called */
#include <stdio.h>
#include <stdlib.h>
#include "lib/json.h"
#include "live.h"
#include "source.h"
#include "words.h"

static const struct word word = {
	.name = "fhook count",
	.arguments = "PATTERN... [-- COMMAND...]",
	.does = "Count calls of functions.\n"
		"\vPATTERN is the name of a function, or a glob; !PATTERN leaves functions out.\n"
		"Counting ends with the command, after --duration, or at Ctrl-C.\n"
		"Then, and every --interval, a table is printed.",
	.takes = "pidbnjm",
	.least = 1,
};

static void print_json(const struct tally_row *row, bool last)
{
	printf("{\"function\":");
	json_string(stdout, row->name);
	if (*row->by) {
		printf(",\"by\":");
		json_string(stdout, row->by);
	}
	printf(",\"calls\":%llu", last ? row->calls : row->calls - row->old_calls);
	printf(",\"total\":%s}\n", last ? "true" : "false");
}

static void print_row(const struct options *options, const struct tally_row *row, bool last)
{
	live_line(options, "%12llu  %s%s%s", last ? row->calls : row->calls - row->old_calls,
		  row->name, *row->by ? "  " : "", row->by);
}

static void print_all(const struct source *source, struct tally_row **rows, bool last)
{
	const struct options *options = source->options;
	const unsigned int lines = live_lines(options, last);
	unsigned int i, nr = 0;

	if (live_terminal(options) && !last)
		live_clear();
	if (!options->json)
		live_header("%12s  FUNCTION%s", last ? "CALLS" : "NEW CALLS",
			    options->by ? "  BY" : "");
	for (i = 0; rows[i]; i++) {
		const u64 calls = last ? rows[i]->calls : rows[i]->calls - rows[i]->old_calls;

		if (!calls)
			continue;
		nr++;
		if (options->json)
			print_json(rows[i], last);
		else if (nr <= lines)
			print_row(options, rows[i], last);
	}
	if (!options->json)
		live_more(options, lines, nr);
}

static int show(void *data, bool last, struct fault *fault)
{
	struct source *source = data;
	struct tally_row **rows;

	if (source_read(source, fault))
		return -1;
	rows = tally_sorted(&source->tally, false, !last);
	if (!rows)
		return fault_say(fault, "there is not enough memory");
	print_all(source, rows, last);
	if (last)
		source_warn(source);
	free(rows);
	return 0;
}

static int open_source(void *data, struct options *options, struct fault *fault)
{
	return source_open(data, options, false, fault);
}

int hook_count(int argc, char **argv, struct fault *fault)
{
	struct source source = { .session.lock = -1 };
	const struct live live = {
		.word = &word, .open = open_source, .show = show, .close = source_close,
		.data = &source,
	};

	return live_run(&live, argc, argv, fault);
}
