// SPDX-License-Identifier: GPL-2.0
/*
 * Damaged files are decoded or refused, whatever they hold
 *
 * Recordings are copied with random changes, and decoded into all outputs. Recordings of
 * perf (perf.data, with its map) are also imported, and the map is made of a program that
 * has stubs (program). Sanitizers report errors; the test itself checks only that each run
 * ends, and that a file is refused with a sentence and leaves nothing.
 *
 * Usage: decode-fuzz DIRECTORY COUNT SEED SOURCE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../host/random.h"
#include "decode/perf_data.h"
#include "decode/sink.h"
#include "decode/streams.h"
#include "lib/elf_map.h"
#include "print/filter.h"

#define MAX_FILE	(64 * 1024)

static const struct sink_ops *const sinks[] = {
	&sink_tree, &sink_flat, &sink_folded, &sink_json, &sink_summary, &sink_events,
	&sink_graph, &sink_dot, &sink_callgrind, &sink_speedscope, &sink_firefox,
};

static unsigned long refused, decoded, gaps;

static u64 random_below(u64 end)
{
	return (random_next() >> 16) % end;
}

static size_t read_whole(const char *directory, const char *name, char *data, size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "r");
	if (!file)
		return 0;
	size = fread(data, 1, size, file);
	fclose(file);
	return size;
}

static void write_whole(const char *directory, const char *name, const char *data, size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	fwrite(data, 1, size, file);
	fclose(file);
}

/* One change: of a bit, a byte, a part that is moved, left out or copied. */
static size_t change(char *data, size_t size)
{
	size_t at = random_below(size), length = 1 + random_below(64), from = random_below(size);

	if (length > size - at)
		length = size - at;
	if (length > size - from)
		length = size - from;
	switch (random_below(6)) {
	case 0:
		data[at] ^= 1 << random_below(8);
		break;
	case 1:
		data[at] = random_next();
		break;
	case 2:
		memmove(data + at, data + from, length);
		break;
	case 3:
		memmove(data + at, data + at + length, size - at - length);
		size -= length;
		break;
	case 4:
		memset(data + at, random_below(2) ? 0 : 0xff, length);
		break;
	default:
		/* Rarely, for it is the end. */
		if (!random_below(8))
			size = at;
		break;
	}
	return size;
}

/* Copy a file, with one to eight changes if it is to be damaged. */
static void copy(const char *from, const char *to, const char *name, bool damage)
{
	static char data[MAX_FILE];
	size_t size = read_whole(from, name, data, sizeof(data));
	unsigned int changes = damage ? 1 + random_below(8) : 0;

	while (changes-- && size)
		size = change(data, size);
	write_whole(to, name, data, size);
}

static void check_refusal(const char *directory, const struct fault *fault)
{
	refused++;
	if (*fault->text)
		return;
	fprintf(stderr, "%s: refused without a sentence\n", directory);
	exit(1);
}

static bool has(const char *directory, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return !access(path, F_OK);
}

/* Decode for an output, sometimes with a filter before it. */
static bool decode_filtered(struct streams *streams, const struct map *map, struct fault *fault)
{
	struct filter_choice choice = {
		.depth = random_below(8), .longer = random_below(2),
		.from = random_below(4), .to = random_below(2) ? random_below(1000) : 0,
	};
	struct filter filter;
	bool failed = true;

	if (random_below(2) || !map->nr_functions)
		return streams_decode(streams, fault);
	list_add(random_below(2) ? &choice.callers : &choice.callees,
		 map_name(map, random_below(map->nr_functions)), fault);
	if (!filter_open(&filter, &choice, map, streams->sink, fault)) {
		streams->sink = &filter.sink;
		failed = streams_decode(streams, fault);
	}
	filter_close(&filter);
	list_free(&choice.callers);
	list_free(&choice.callees);
	return failed;
}

static void decode(const char *directory, FILE *out)
{
	struct sink sink = { .ops = sinks[random_below(ARRAY_SIZE(sinks))], .out = out };
	struct streams streams = { .sink = &sink, .only = random_below(4) ? -1 : 1 };
	struct fault fault = { .text = "" };
	struct recording recording;
	bool failed = true;
	struct map map;
	char path[4096];
	size_t i;

	snprintf(path, sizeof(path), "%s/map", directory);
	if (!recording_read(&recording, directory, &fault)) {
		if (!map_read_file(&map, path, &fault)) {
			for (i = 0; i < recording.nr_loads; i++)
				map_load(&map, recording.loads[i].object, recording.loads[i].bias,
					 &fault);
			sink.map = &map;
			sink.totals = &streams.totals;
			sink.timed = recording.clock != 0;
			streams.map = &map;
			streams.recording = &recording;
			failed = decode_filtered(&streams, &map, &fault);
			gaps += streams.totals.gaps;
			decoded++;
			map_free(&map);
		}
		recording_free(&recording);
	}
	if (failed)
		check_refusal(directory, &fault);
}

/* An import of a recording of perf leaves a recording, or nothing. */
static void import(const char *directory)
{
	char data[4096], map[4096], to[4096];
	struct fault fault = { .text = "" };
	struct recording recording;
	struct perf_losses losses;

	snprintf(data, sizeof(data), "%s/perf.data", directory);
	snprintf(map, sizeof(map), "%s/map", directory);
	snprintf(to, sizeof(to), "%s/imported", directory);
	if (perf_data_import(data, map, to, &losses, &fault)) {
		check_refusal(directory, &fault);
	} else if (!recording_read(&recording, to, &fault)) {
		decoded++;
		recording.made_directory = true;
		recording_remove(&recording);
		recording_free(&recording);
	}
	if (!access(to, F_OK)) {
		fprintf(stderr, "%s: is still there: %s\n", to, fault.text);
		exit(1);
	}
}

static void make_map(const char *directory, FILE *out)
{
	struct fault fault = { .text = "" };
	char path[4096], *paths[] = { path };

	snprintf(path, sizeof(path), "%s/program", directory);
	if (elf_map_write(paths, 1, out, &fault))
		check_refusal(directory, &fault);
	else
		decoded++;
}

/* Copy a source with random changes, and decode or import it. */
static void try(const char *from, const char *directory, FILE *out)
{
	static const char *const traces[] = { "0.trace", "1.trace" };
	const unsigned int which = random_below(8);
	unsigned int trace;

	if (has(from, "program")) {
		copy(from, directory, "program", true);
		make_map(directory, out);
		return;
	}
	copy(from, directory, "map", which == 1 || which == 2);
	if (has(from, "perf.data")) {
		copy(from, directory, "perf.data", which > 2);
		import(directory);
		return;
	}
	copy(from, directory, "info", which == 0);
	for (trace = 0; trace < ARRAY_SIZE(traces); trace++)
		copy(from, directory, traces[trace], which > 2);
	decode(directory, out);
}

int main(int argc, char **argv)
{
	FILE *out = fopen("/dev/null", "w");
	unsigned long count, i;

	if (argc < 5 || !out) {
		fprintf(stderr, "Usage: decode-fuzz DIRECTORY COUNT SEED SOURCE...\n");
		return 1;
	}
	count = strtoul(argv[2], NULL, 0);
	random_seed(strtoul(argv[3], NULL, 0));
	mkdir(argv[1], 0777);
	for (i = 0; i < count; i++)
		try(argv[4 + random_below(argc - 4)], argv[1], out);
	fclose(out);
	printf("%lu decoded with %lu gaps, %lu refused\n", decoded, gaps, refused);
	return 0;
}
