// SPDX-License-Identifier: GPL-2.0
/*
 * fhook time: how long calls of functions take; fhook top: the same, refreshed
 *
 * The kernel adds durations up in powers of two. So totals and means are exact, and
 * percentiles are upper bounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include "lib/json.h"
#include "live.h"
#include "source.h"
#include "words.h"

#define BAR_WIDTH	40

static const struct word time_word = {
	.name = "fhook time",
	.arguments = "'PATTERN[(ARGUMENT, ...)]'... [-- COMMAND...]",
	.does = "Measure how long calls of functions take.\n"
		"\vPrints calls, total and mean time, and the times that 50 %, 99 % and all\n"
		"calls do not exceed, rounded up to a power of two; with --hist a histogram.\n"
		"With brackets, also prints the slowest call of each function at the end, with\n"
		"its arguments, which are those of fhook trace, and when and where it ran:\n"
		"PATTERN() prints it without arguments.\n"
		"Exits of functions of programs are found by disassembly.",
	.takes = "pidbnHj",
	.least = 1,
};

static const struct word top_word = {
	.name = "fhook top",
	.arguments = "'PATTERN[(ARGUMENT, ...)]'... [-- COMMAND...]",
	.does = "Show the functions that take most time, every second.\n"
		"\vThe times are those since the last output. At the end, the totals are\n"
		"printed, as by fhook time.",
	.takes = "pidbnj",
	.least = 1,
};

/**
 * struct timing - a run
 * @source: the events
 * @since_last: print what has happened since the last output
 */
struct timing {
	struct source source;
	bool since_last;
};

/* The buckets that are printed: *FIRST and others after it. Returns their number. */
static unsigned int nr_bars(const struct tally_row *row, unsigned int *first)
{
	unsigned int end = TALLY_BUCKETS;

	for (*first = 0; *first < end && !row->buckets[*first]; ++*first)
		;
	while (end > *first && !row->buckets[end - 1])
		end--;
	return end - *first;
}

static void print_bars(const struct options *options, const struct tally_row *row)
{
	unsigned int i, first, length;
	const unsigned int end = nr_bars(row, &first) + first;
	char from[16], to[16];
	u64 most = 1;

	for (i = first; i < end; i++)
		if (row->buckets[i] > most)
			most = row->buckets[i];
	for (i = first; i < end; i++) {
		length = (row->buckets[i] * BAR_WIDTH + most - 1) / most;
		live_line(options, "    %8s to %8s %10llu |%.*s%*s|",
			  live_time(i ? 1ULL << (i - 1) : 0, from), live_time(1ULL << i, to),
			  row->buckets[i], length,
			  "****************************************", BAR_WIDTH - length, "");
	}
}

static void print_json(const struct tally_row *row, bool total)
{
	unsigned int i;
	const char *separator = "";

	printf("{\"function\":");
	json_string(stdout, row->name);
	if (*row->by) {
		printf(",\"by\":");
		json_string(stdout, row->by);
	}
	printf(",\"calls\":%llu,\"ns\":", row->calls);
	json_number(stdout, row->ns, false);
	printf(",\"log2\":{");
	for (i = 0; i < TALLY_BUCKETS; i++) {
		if (!row->buckets[i])
			continue;
		printf("%s\"%u\":%llu", separator, i, row->buckets[i]);
		separator = ",";
	}
	printf("},\"total\":%s}\n", total ? "true" : "false");
}

static void print_row(const struct options *options, const struct tally_row *row)
{
	char total[16], mean[16], half[16], most[16], all[16];

	live_line(options, "%10llu %9s %9s %9s %9s %9s  %s%s%s", row->calls,
		  live_time(row->ns, total), live_time(row->ns / row->calls, mean),
		  live_time(tally_quantile(row, 0.5), half),
		  live_time(tally_quantile(row, 0.99), most),
		  live_time(tally_quantile(row, 1), all), row->name, *row->by ? "  " : "", row->by);
}

/* The lines of a row. The user's limit counts rows, the terminal's also histograms. */
static unsigned int height(const struct options *options, const struct tally_row *row)
{
	unsigned int first;

	return options->hist && !options->lines ? 1 + nr_bars(row, &first) : 1;
}

static void print_all(const struct timing *timing, struct tally_row **rows, bool last)
{
	const struct options *options = timing->source.options;
	const bool since_last = timing->since_last && !last;
	unsigned int lines = live_lines(options, last), i, shown = 0, nr = 0;

	if (live_terminal(options) && !last)
		live_clear();
	if (!options->json)
		live_header("%10s %9s %9s %9s %9s %9s  FUNCTION%s", "CALLS", "TOTAL", "MEAN",
			    "50% <=", "99% <=", "MAX <=", options->by ? "  BY" : "");
	for (i = 0; rows[i]; i++) {
		const struct tally_row row = since_last ? tally_since(rows[i]) : *rows[i];

		if (!row.calls)
			continue;
		nr++;
		if (options->json) {
			print_json(&row, !since_last);
			continue;
		}
		if (height(options, &row) > lines)
			lines = 0;
		else
			lines -= height(options, &row);
		/* Better a first histogram that scrolls than none. */
		if (!lines && shown)
			continue;
		shown++;
		print_row(options, &row);
		if (options->hist)
			print_bars(options, &row);
	}
	if (!options->json)
		live_more(options, shown, nr);
}

static int show_slowest(struct timing *timing, struct fault *fault)
{
	const struct options *options = timing->source.options;
	struct slowest slowest = { };
	const int result = source_slowest(&timing->source, &slowest, fault);

	if (!result && options->json)
		slowest_print_json(&slowest);
	else if (!result)
		slowest_print(&slowest, live_lines(options, true));
	slowest_free(&slowest);
	return result;
}

static int show(void *data, bool last, struct fault *fault)
{
	struct timing *timing = data;
	struct tally_row **rows;

	if (source_read(&timing->source, fault))
		return -1;
	rows = tally_sorted(&timing->source.tally, true, timing->since_last && !last);
	if (!rows)
		return fault_say(fault, "there is not enough memory");
	print_all(timing, rows, last);
	if (last)
		source_warn(&timing->source);
	free(rows);
	return last ? show_slowest(timing, fault) : 0;
}

static int open_source(void *data, struct options *options, struct fault *fault)
{
	struct timing *timing = data;

	if (timing->since_last && !options->interval)
		options->interval = 1;
	return source_open(&timing->source, options, true, fault);
}

static void close_source(void *data)
{
	struct timing *timing = data;

	source_close(&timing->source);
}

static int run(const struct word *word, bool since_last, int argc, char **argv,
	       struct fault *fault)
{
	struct timing timing = { .source.session.lock = -1, .since_last = since_last };
	const struct live live = {
		.word = word, .open = open_source, .show = show, .close = close_source,
		.data = &timing,
	};

	return live_run(&live, argc, argv, fault);
}

int hook_time(int argc, char **argv, struct fault *fault)
{
	return run(&time_word, false, argc, argv, fault);
}

int hook_top(int argc, char **argv, struct fault *fault)
{
	return run(&top_word, true, argc, argv, fault);
}
