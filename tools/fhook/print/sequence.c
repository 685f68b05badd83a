// SPDX-License-Identifier: GPL-2.0
/* Two recordings whose calls are compared; the header describes them. */
#include <stdlib.h>
#include <string.h>
#include "decode/streams.h"
#include "recorded_map.h"
#include "sequence.h"

static int open_side(struct side *side, const char *directory, bool mangled,
		     struct fault *fault)
{
	const struct map_choice choice = { };

	side->directory = directory;
	if (recording_read(&side->recording, directory, fault) ||
	    recorded_map_read(&side->map, &side->recording, &choice, fault))
		return -1;
	return mangled ? 0 : names_find(&side->printed, &side->map, fault);
}

/* The name of a function, as it is printed. */
static const char *printed_name(const struct side *side, u32 function)
{
	return side->printed.text ? side->printed.text[function] :
	       map_name(&side->map, function);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Collect the names of functions of both maps, sorted, each once. */
static int collect_names(struct sides *sides)
{
	const struct side *one = &sides->side[0], *two = &sides->side[1];
	size_t i, nr = one->map.nr_functions + two->map.nr_functions;

	sides->names = calloc(nr + 1, sizeof(*sides->names));
	if (!sides->names)
		return -1;
	nr = 0;
	for (i = 0; i < one->map.nr_functions; i++)
		sides->names[nr++] = printed_name(one, i);
	for (i = 0; i < two->map.nr_functions; i++)
		sides->names[nr++] = printed_name(two, i);
	qsort(sides->names, nr, sizeof(*sides->names), compare_names);
	for (i = 0; i < nr; i++) {
		if (!i || strcmp(sides->names[i], sides->names[sides->nr_names - 1]))
			sides->names[sides->nr_names++] = sides->names[i];
	}
	return 0;
}

static int number_names(const struct sides *sides, struct side *side)
{
	const struct map *map = &side->map;
	const char **found, *name;
	size_t i;

	side->names = calloc(map->nr_strings + 1, sizeof(*side->names));
	side->calls = calloc(sides->nr_names + 1, sizeof(*side->calls));
	side->traced = calloc(sides->nr_names + 1, sizeof(*side->traced));
	if (!side->names || !side->calls || !side->traced)
		return -1;
	for (i = 0; i < map->nr_functions; i++) {
		name = printed_name(side, i);
		found = bsearch(&name, sides->names, sides->nr_names, sizeof(*sides->names),
				compare_names);
		side->names[map->functions[i].name] = found - sides->names;
		side->traced[found - sides->names] |= map->functions[i].entered;
	}
	return 0;
}

int sides_open(struct sides *sides, char **directories, bool mangled, struct fault *fault)
{
	memset(sides, 0, sizeof(*sides));
	if (open_side(&sides->side[0], directories[0], mangled, fault) ||
	    open_side(&sides->side[1], directories[1], mangled, fault))
		return -1;
	if (collect_names(sides) || number_names(sides, &sides->side[0]) ||
	    number_names(sides, &sides->side[1]))
		return fault_say(fault, "there is not enough memory");
	if (sides->nr_names >> (32 - KIND_BITS))
		return fault_say(fault, "%s and %s have too many functions",
				 directories[0], directories[1]);
	return 0;
}

void sides_free(struct sides *sides)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sides->side); i++) {
		free(sides->side[i].names);
		free(sides->side[i].calls);
		free(sides->side[i].traced);
		names_free(&sides->side[i].printed);
		map_free(&sides->side[i].map);
		recording_free(&sides->side[i].recording);
	}
	free(sides->names);
}

int side_decode(struct side *side, const struct sink_ops *ops, void *data, struct fault *fault)
{
	struct streams streams = {
		.recording = &side->recording, .map = &side->map, .only = -1,
	};
	struct sink sink = {
		.ops = ops, .out = stdout, .map = &side->map, .totals = &streams.totals,
		.timed = side->recording.clock, .data = data,
	};

	streams.sink = &sink;
	if (streams_decode(&streams, fault))
		return -1;
	side->gaps = streams.totals.gaps;
	if (streams.totals.strange)
		return fault_say(fault,
				 "%llu addresses of %s are no stubs of its map: it cannot be compared",
				 streams.totals.strange, side->directory);
	if (sink.no_memory)
		return fault_say(fault, "there is not enough memory to compare");
	return 0;
}
