// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace print: decode recordings
 *
 * Several recordings belong to a program and its children, which have recordings of their
 * own and the same map: one map is used for all, with the locations of objects from each
 * recording.
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include "calltrace.h"
#include "decode/sink.h"
#include "decode/streams.h"
#include "lib/base.h"
#include "lib/elf_image.h"

enum { KEY_FIRST = 256, KEY_THREAD = 't', KEY_OBJECT = 'o', KEY_MAP = 'm' };

struct output {
	const char *name;
	const struct sink_ops *ops;
	const char *brief;
};

/* The first is the default. */
static const struct output outputs[] = {
	{ "tree", &sink_tree, "Calls as an indented text (the default)" },
	{ "flat", &sink_flat, "Calls and time of each function" },
	{ "folded", &sink_folded, "Time of each stack, for flame graphs" },
	{ "json", &sink_json, "Chrome's trace format, for Perfetto" },
	{ "summary", &sink_summary, "Events, bytes, gaps, threads" },
	{ "events", &sink_events, "Each event as it was recorded" },
};

#define OUTPUTS		ARRAY_SIZE(outputs)
#define MAPS_MAX	16

struct arguments {
	const struct sink_ops *ops;
	char **directories;
	int nr_directories;
	const char *object, *maps[MAPS_MAX];
	size_t nr_maps;
	s64 thread;
};

static error_t parse(int key, char *word, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	u64 number;

	if (key >= KEY_FIRST && key < KEY_FIRST + (int)OUTPUTS) {
		arguments->ops = outputs[key - KEY_FIRST].ops;
		return 0;
	}
	switch (key) {
	case KEY_THREAD:
		if (word_number(word, 10, 0x7fffffff, &number))
			argp_error(state, "'%s' is no number of a thread", word);
		arguments->thread = number;
		return 0;
	case KEY_OBJECT:
		arguments->object = word;
		return 0;
	case KEY_MAP:
		if (arguments->nr_maps == MAPS_MAX)
			argp_error(state, "%u maps are the most", MAPS_MAX);
		arguments->maps[arguments->nr_maps++] = word;
		return 0;
	case ARGP_KEY_ARG:
		return ARGP_ERR_UNKNOWN;
	case ARGP_KEY_ARGS:
		arguments->directories = state->argv + state->next;
		arguments->nr_directories = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void parse_arguments(int argc, char **argv, struct arguments *arguments)
{
	struct argp_option options[OUTPUTS + 4] = {
		{ "thread", KEY_THREAD, "NUMBER", 0, "Only this thread or task", 1 },
		{ "object", KEY_OBJECT, "FILE", 0,
		  "Refuse a recording that is of another build than this file", 1 },
		{ "map", KEY_MAP, "FILE", 0,
		  "Use this map instead of the recording's; may be given for several", 1 },
	};
	struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "DIRECTORY...",
		.doc = "Print the calls of a recording, or of those of a program and its children.",
	};
	unsigned int i;

	for (i = 0; i < OUTPUTS; i++)
		options[3 + i] = (struct argp_option){
			.name = outputs[i].name, .key = KEY_FIRST + i, .doc = outputs[i].brief,
		};
	argv[0] = "fhook calltrace print";
	argp_parse(&argp, argc, argv, 0, NULL, arguments);
}

/* Check that the map was made from this version of the file. */
static int check_object(const struct map *map, const char *path, struct fault *fault)
{
	char build_id[BUILD_ID_TEXT];
	struct elf_image image;
	size_t i;

	if (elf_open(&image, path, fault))
		return -1;
	build_id_text(&image, build_id);
	elf_close(&image);
	if (!strcmp(build_id, "-"))
		return fault_say(fault,
				 "%s has no build id, so that nobody knows whether the recording is of it",
				 path);
	for (i = 0; i < map->nr_objects; i++)
		if (!strcmp(map->objects[i].build_id, build_id))
			return 0;
	if (map->nr_objects == 1)
		return fault_say(fault,
				 "%s has build id %s, but the recording is of %s with build id %s",
				 path, build_id, map->objects[0].name, map->objects[0].build_id);
	return fault_say(fault, "%s has build id %s, and the recording has no object of this build",
			 path, build_id);
}

static int read_map(const struct recording *recording, const struct arguments *arguments,
		    struct map *map, struct fault *fault)
{
	char *path = recording_path(recording, "map");
	size_t i;
	int result;

	if (!path)
		return fault_say(fault, "there is not enough memory");
	result = arguments->nr_maps ?
		 map_read_files(map, arguments->maps, arguments->nr_maps, fault) :
		 map_read_file(map, path, fault);
	free(path);
	if (!result && !arguments->ops->escapes)
		map_clean_names(map);
	for (i = 0; !result && i < recording->nr_loads; i++)
		result = map_load(map, recording->loads[i].object, recording->loads[i].bias,
				  fault);
	if (!result && arguments->object)
		result = check_object(map, arguments->object, fault);
	return result;
}

/**
 * struct printing - data shared by all recordings
 * @arguments: arguments of the command
 * @streams: counters and sink
 * @sink: the output
 * @map: map of the first recording
 * @recording: recording being decoded
 */
struct printing {
	const struct arguments *arguments;
	struct streams streams;
	struct sink sink;
	struct map map;
	struct recording recording;
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
	if (recording->unplaced)
		fprintf(stderr,
			"fhook: %u times something was loaded whose calls %s has not: its place had been another's, its file was no longer there, or there were too many.\n",
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
static int check_same(struct printing *printing, const struct map *map, int number,
		      struct fault *fault)
{
	const struct recording *recording = &printing->recording;
	const char *first = printing->arguments->directories[0];
	const bool timed = recording->clock;

	if (!number)
		printing->sink.timed = timed;
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
static int do_one(struct printing *printing, int number, bool print, struct fault *fault)
{
	const char *directory = printing->arguments->directories[number];
	struct map own = { 0 };
	int result;

	if (recording_read(&printing->recording, directory, fault))
		return -1;
	if (printing->recording.profile == PROFILE_BRANCHES)
		result = fault_say(fault,
				   "%s is a trace of all branches: it can be measured, but has no stubs to decode",
				   directory);
	else
		result = read_map(&printing->recording, printing->arguments, &own, fault) ?:
			 check_same(printing, &own, number, fault);
	if (!result && print)
		result = decode(printing, &own, fault);
	/* The sink uses the names of the first map to the end. */
	if (!result && !print && !number)
		printing->map = own;
	else
		map_free(&own);
	if (!result && print && !printing->streams.more && printing->arguments->thread >= 0 &&
	    !printing->streams.found)
		result = fault_say(fault, "%s has no %s %lld", directory,
				   printing->recording.threads ? "thread" : "task",
				   printing->arguments->thread);
	recording_free(&printing->recording);
	return result;
}

static int do_all(struct printing *printing, struct fault *fault)
{
	const int count = printing->arguments->nr_directories;
	int i;

	for (i = 0; i < count; i++)
		if (do_one(printing, i, false, fault))
			return -1;
	for (i = 0; i < count; i++) {
		printing->streams.goes_on = i > 0;
		printing->streams.more = i + 1 < count;
		if (do_one(printing, i, true, fault))
			return -1;
	}
	return 0;
}

/* The recordings of children are in DIRECTORY-PID, in the same directory. */
static void report_children(const char *directory)
{
	char *path = strdup(directory), *base = strdup(directory);
	const char *name = base ? basename(base) : NULL;
	DIR *stream = path ? opendir(dirname(path)) : NULL;
	size_t length = name ? strlen(name) : 0, count = 0;
	struct dirent *entry;
	u64 number;

	while (length && stream && (entry = readdir(stream)))
		count += !strncmp(entry->d_name, name, length) && entry->d_name[length] == '-' &&
			 !word_number(entry->d_name + length + 1, 10, 0x7fffffff, &number);
	if (count)
		fprintf(stderr,
			"fhook: %zu children have recordings of their own: print %s %s-* prints all.\n",
			count, directory, directory);
	if (stream)
		closedir(stream);
	free(path);
	free(base);
}

int calltrace_print(int argc, char **argv, struct fault *fault)
{
	struct arguments arguments = { .ops = outputs[0].ops, .thread = -1 };
	struct printing printing = { .arguments = &arguments };
	int result;

	parse_arguments(argc, argv, &arguments);
	printing.sink = (struct sink){
		.ops = arguments.ops, .out = stdout, .map = &printing.map,
		.totals = &printing.streams.totals,
	};
	printing.streams.sink = &printing.sink;
	printing.streams.only = arguments.thread;
	printing.streams.recording = &printing.recording;
	result = do_all(&printing, fault);
	map_free(&printing.map);
	if (fflush(stdout) || ferror(stdout))
		return fault_say(fault, "the output cannot be written: %s", strerror(errno));
	if (!result && printing.sink.no_memory)
		return fault_say(fault, "there was not enough memory, and the output is not whole");
	if (!result && arguments.nr_directories == 1)
		report_children(arguments.directories[0]);
	return result;
}
