// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace print: decode recordings
 *
 * Several recordings belong to a program and its children, which have recordings of their
 * own and the same map: one map is used for all, with the locations of objects from each
 * recording.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "calltrace.h"
#include "decode/streams.h"
#include "filter.h"
#include "lines.h"
#include "names.h"
#include "object.h"
#include "options.h"
#include "recorded_map.h"

static int read_map(const struct recording *recording, const struct print_options *options,
		    struct map *map, struct fault *fault)
{
	const struct map_choice choice = {
		.paths = options->maps, .nr = options->nr_maps, .raw = options->ops->escapes,
	};

	if (recorded_map_read(map, recording, &choice, fault))
		return -1;
	return options->object && object_find(map, options->object, fault) < 0 ? -1 : 0;
}

/**
 * struct printing - data shared by all recordings
 * @options: arguments of the command
 * @streams: counters and sink
 * @sink: the output
 * @filter: the filter before it, if there is one
 * @map: map of the first recording
 * @names: names of its functions
 * @lines: lines of its functions, if they are printed
 * @recording: recording being decoded
 * @own_maps: children have maps of their own, as those with functions of Python do that record
 *	themselves
 */
struct printing {
	const struct print_options *options;
	struct streams streams;
	struct sink sink;
	struct filter filter;
	struct map map;
	struct names names;
	struct lines lines;
	struct recording recording;
	bool own_maps;
};

/* Print messages about one recording, after decoding it. */
static void report(const struct recording *recording, u64 strange, u64 several)
{
	if (strange)
		fprintf(stderr,
			"fhook: %llu addresses of %s are no stubs of its map: is it the right one?\n",
			strange, recording->directory);
	if (several)
		fprintf(stderr,
			"fhook: %llu threads of %s may have several stacks, as coroutines have: which of their calls called which, and how long these took, is not known.\n",
			several, recording->directory);
	recording_say_executed(recording);
	if (recording->unplaced)
		fprintf(stderr,
			"fhook: %u times something was loaded whose calls %s has not: its place had been another's, its file was no longer there, there were too many, or the map could not be written.\n",
			recording->unplaced, recording->directory);
	if (recording->unopened)
		fprintf(stderr,
			"fhook: %u threads could not be recorded: nothing of them is in %s.\n",
			recording->unopened, recording->directory);
}

static bool same_map(const struct map *a, const struct map *b)
{
	size_t i;

	if (a->nr_stubs != b->nr_stubs || a->nr_functions != b->nr_functions)
		return false;
	for (i = 0; i < a->nr_stubs; i++)
		if (a->stubs[i].address != b->stubs[i].address ||
		    a->stubs[i].function != b->stubs[i].function ||
		    a->stubs[i].object != b->stubs[i].object ||
		    a->stubs[i].kind != b->stubs[i].kind)
			return false;
	for (i = 0; i < a->nr_functions; i++)
		if (strcmp(map_name(a, i), map_name(b, i)))
			return false;
	return true;
}

/* Check that all recordings have the functions of the first one, with the same numbers. */
static int check_same(struct printing *printing, const struct map *map, size_t number,
		      struct fault *fault)
{
	const struct recording *recording = &printing->recording;
	const char *first = printing->options->directories.names[0];
	const bool timed = recording->clock;

	if (!number) {
		printing->sink.timed = timed;
		printing->own_maps = recording->format == FORMAT_SOFTWARE && lines_are_known(map);
	}
	if (number && !same_map(map, &printing->map))
		return fault_say(fault, "%s and %s have different maps: print them one by one",
				 first, recording->directory);
	if (printing->sink.timed != timed)
		return fault_say(fault, "%s and %s do not both have times: print them one by one",
				 first, recording->directory);
	return 0;
}

static int decode(struct printing *printing, struct map *map, struct fault *fault)
{
	const struct totals before = printing->streams.totals;
	const struct totals *totals = &printing->streams.totals;

	printing->streams.map = map;
	if (streams_decode(&printing->streams, fault))
		return -1;
	report(&printing->recording, totals->strange - before.strange,
	       totals->several - before.several);
	return 0;
}

/* Check or print one recording; all are checked before anything is printed. */
static int do_one(struct printing *printing, size_t number, bool print, struct fault *fault)
{
	const char *directory = printing->options->directories.names[number];
	/*
	 * Filters, names and sinks have the numbers of the first map's functions. It is read once:
	 * that of a recording that is still being written may have more functions the next time.
	 */
	const bool is_read = print && !number;
	struct map own = { 0 };
	int result = 0;

	if (recording_read(&printing->recording, directory, fault))
		return -1;
	if (!is_read)
		result = read_map(&printing->recording, printing->options, &own, fault) ?:
			 check_same(printing, &own, number, fault);
	if (!result && print)
		result = decode(printing, is_read ? &printing->map : &own, fault);
	/* The sink uses the names of the first map to the end. */
	if (!result && !print && !number)
		printing->map = own;
	else
		map_free(&own);
	if (!result && print && !printing->streams.more && printing->options->thread >= 0 &&
	    !printing->streams.found)
		result = fault_say(fault, "%s has no %s %lld", directory,
				   printing->recording.threads ? "thread" : "task",
				   printing->options->thread);
	recording_free(&printing->recording);
	return result;
}

/* After all maps have been checked: find names, and the calls to print. */
static int prepare(struct printing *printing, struct filter_choice *choice, struct fault *fault)
{
	const struct print_options *options = printing->options;

	/* The tree says how many calls are deeper. */
	if (options->ops == &sink_tree) {
		printing->sink.depth = options->has_depth ? choice->depth : TREE_DEPTH;
		choice->depth = 0;
	}
	if (!options->mangled) {
		if (names_find(&printing->names, &printing->map, fault))
			return -1;
		printing->sink.names = printing->names.text;
	}
	if (options->nr_files || lines_are_known(&printing->map)) {
		if (lines_find(&printing->lines, &printing->map, options->files,
			       options->nr_files, fault))
			return -1;
		printing->sink.places = printing->lines.places;
	}
	printing->streams.sink = &printing->sink;
	if (!filter_is_needed(choice))
		return 0;
	if (choice->longer && !printing->sink.timed)
		return fault_say(fault, "%s has no times, so how long a call lasts is not known",
				 options->directories.names[0]);
	printing->streams.sink = &printing->filter.sink;
	return filter_open(&printing->filter, choice, &printing->map, &printing->sink, fault);
}

static int do_all(struct printing *printing, struct filter_choice *choice, struct fault *fault)
{
	const size_t count = printing->options->directories.nr;
	size_t i;

	for (i = 0; i < count; i++)
		if (do_one(printing, i, false, fault))
			return -1;
	if (prepare(printing, choice, fault))
		return -1;
	for (i = 0; i < count; i++) {
		printing->streams.goes_on = i > 0;
		printing->streams.more = i + 1 < count;
		if (do_one(printing, i, true, fault))
			return -1;
	}
	return 0;
}

static void report_children(const char *directory, bool own_maps)
{
	struct directories children = { 0 };
	struct fault fault;

	if (!directories_add_children(&children, directory, &fault) && children.nr)
		fprintf(stderr,
			"fhook: %zu children have recordings of their own: %s.\n", children.nr,
			own_maps ? "print them one by one" : "--children prints them, too");
	directories_say_executed(&children, 0);
	directories_free(&children);
}

static int print(struct print_options *options, struct fault *fault)
{
	struct printing printing = { .options = options };
	int result;

	printing.sink = (struct sink){
		.ops = options->ops, .out = stdout, .map = &printing.map,
		.totals = &printing.streams.totals,
	};
	printing.streams.only = options->thread;
	printing.streams.recording = &printing.recording;
	result = do_all(&printing, &options->choice, fault);
	filter_close(&printing.filter);
	lines_free(&printing.lines);
	names_free(&printing.names);
	map_free(&printing.map);
	if (fflush(stdout) || ferror(stdout))
		return fault_say(fault, "the output cannot be written: %s", strerror(errno));
	if (!result && printing.sink.no_memory)
		return fault_say(fault, "there was not enough memory, and the output is not whole");
	if (!result && options->directories.nr == 1)
		report_children(options->directories.names[0], printing.own_maps);
	return result;
}

int calltrace_print(int argc, char **argv, struct fault *fault)
{
	struct print_options options;
	int result = print_options_parse(&options, argc, argv, fault) ?: print(&options, fault);

	print_options_free(&options);
	return result;
}
