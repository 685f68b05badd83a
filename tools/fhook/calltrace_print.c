// SPDX-License-Identifier: GPL-2.0
/* fhook calltrace print: decode a recording. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "build_id.h"
#include "calltrace.h"
#include "sink.h"
#include "streams.h"
#include "words.h"

enum { KEY_FIRST = 256, KEY_THREAD = 't', KEY_OBJECT = 'o', KEY_MAP = 'm' };

struct output {
	const char *name;
	const struct sink_ops *ops;
	const char *brief;
};

/* The first is what is printed when none is asked for. */
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
	const char *directory, *object, *maps[MAPS_MAX];
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
		if (arguments->directory)
			argp_usage(state);
		arguments->directory = word;
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
		.args_doc = "DIRECTORY",
		.doc = "Print the calls of a recording.",
	};
	unsigned int i;

	for (i = 0; i < OUTPUTS; i++)
		options[3 + i] = (struct argp_option){
			.name = outputs[i].name, .key = KEY_FIRST + i, .doc = outputs[i].brief,
		};
	argv[0] = "fhook calltrace print";
	argp_parse(&argp, argc, argv, 0, NULL, arguments);
}

/* The map must have been made of this very file. */
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
	for (i = 0; !result && i < recording->nr_loads; i++)
		result = map_load(map, recording->loads[i].object, recording->loads[i].bias,
				  fault);
	if (!result && arguments->object)
		result = check_object(map, arguments->object, fault);
	return result;
}

static int decode(const struct recording *recording, const struct arguments *arguments,
		  struct map *map, struct fault *fault)
{
	struct sink sink = {
		.ops = arguments->ops, .out = stdout, .map = map,
		.timed = recording->clock != 0,
	};
	struct streams streams = {
		.recording = recording, .map = map, .sink = &sink, .only = arguments->thread,
	};
	const struct totals *totals = &streams.totals;

	sink.totals = totals;
	if (streams_decode(&streams, fault))
		return -1;
	if (fflush(stdout) || ferror(stdout))
		return fault_say(fault, "the output cannot be written: %s", strerror(errno));
	if (sink.no_memory)
		return fault_say(fault, "there was not enough memory, and the output is not whole");
	if (totals->strange)
		fprintf(stderr,
			"fhook: %llu addresses of %s are no stubs of its map: is it the right one?\n",
			totals->strange, recording->directory);
	if (totals->several)
		fprintf(stderr,
			"fhook: %llu threads of %s may have several stacks, as coroutines have: which of their calls called which, and how long these took, is not known.\n",
			totals->several, recording->directory);
	if (recording->unplaced)
		fprintf(stderr,
			"fhook: %u times something was loaded whose calls %s has not: its place had been another's, or there were too many.\n",
			recording->unplaced, recording->directory);
	if (recording->unopened)
		fprintf(stderr,
			"fhook: %u threads could not be recorded: nothing of them is in %s.\n",
			recording->unopened, recording->directory);
	/* Which tasks there are, is known at the end. */
	if (arguments->thread >= 0 && !streams.found)
		return fault_say(fault, "%s has no %s %lld", recording->directory,
				 recording->threads ? "thread" : "task", arguments->thread);
	return 0;
}

int calltrace_print(int argc, char **argv, struct fault *fault)
{
	struct arguments arguments = { .ops = outputs[0].ops, .thread = -1 };
	struct recording recording;
	struct map map = { 0 };
	int result;

	parse_arguments(argc, argv, &arguments);
	if (recording_read(&recording, arguments.directory, fault))
		return -1;
	if (recording.profile == PROFILE_BRANCHES)
		result = fault_say(fault,
				   "%s is a trace of all branches: it can be measured, but has no stubs to decode",
				   arguments.directory);
	else
		result = read_map(&recording, &arguments, &map, fault) ||
			 decode(&recording, &arguments, &map, fault) ? -1 : 0;
	map_free(&map);
	recording_free(&recording);
	return result;
}
