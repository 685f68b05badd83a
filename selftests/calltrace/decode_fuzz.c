// SPDX-License-Identifier: GPL-2.0
/*
 * Damaged maps and recordings: whatever they hold, nothing goes wrong
 *
 * Recordings are copied with random changes, and decoded into all outputs. Built with
 * sanitizers, which say what goes wrong; here it is only seen that each decoding ends,
 * and that a map or an info which is refused is refused with a sentence.
 *
 * Usage: decode-fuzz DIRECTORY COUNT SEED RECORDING...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sink.h"
#include "streams.h"

#define MAX_FILE	(64 * 1024)

static const struct sink_ops *const sinks[] = {
	&sink_tree, &sink_flat, &sink_folded, &sink_json, &sink_summary, &sink_events,
};

static u64 random_state;
static unsigned long refused, decoded, gaps;

static u64 random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

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

/* Copy a file; one that is to be damaged gets one to eight changes. */
static void copy(const char *from, const char *to, const char *name, bool damage)
{
	static char data[MAX_FILE];
	size_t size = read_whole(from, name, data, sizeof(data));
	unsigned int changes = damage ? 1 + random_below(8) : 0;

	while (changes-- && size)
		size = change(data, size);
	write_whole(to, name, data, size);
}

static void decode(const char *directory, FILE *out)
{
	struct sink sink = { .ops = sinks[random_below(ARRAY_SIZE(sinks))], .out = out };
	struct streams streams = { .sink = &sink, .only = random_below(4) ? -1 : 1 };
	struct fault fault = { .text = "" };
	struct recording recording;
	struct map map;
	char path[4096];
	size_t i;

	snprintf(path, sizeof(path), "%s/map", directory);
	if (recording_read(&recording, directory, &fault)) {
		refused++;
	} else {
		if (map_read_file(&map, path, &fault)) {
			refused++;
		} else {
			for (i = 0; i < recording.nr_loads; i++)
				map_load(&map, recording.loads[i].object, recording.loads[i].bias,
					 &fault);
			sink.map = &map;
			sink.totals = &streams.totals;
			sink.timed = recording.clock != 0;
			streams.map = &map;
			streams.recording = &recording;
			refused += streams_decode(&streams, &fault) != 0;
			gaps += streams.totals.gaps;
			decoded++;
			map_free(&map);
		}
		recording_free(&recording);
	}
	if (refused && !*fault.text && !decoded) {
		fprintf(stderr, "%s: refused without a sentence\n", directory);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static const char *const traces[] = { "0.trace", "1.trace" };
	FILE *out = fopen("/dev/null", "w");
	unsigned long count, i;

	if (argc < 5 || !out) {
		fprintf(stderr, "Usage: decode-fuzz DIRECTORY COUNT SEED RECORDING...\n");
		return 1;
	}
	count = strtoul(argv[2], NULL, 0);
	random_state = strtoul(argv[3], NULL, 0) * 2 + 1;
	mkdir(argv[1], 0777);
	for (i = 0; i < count; i++) {
		const char *from = argv[4 + random_below(argc - 4)];
		const unsigned int which = random_below(8);
		unsigned int trace;

		copy(from, argv[1], "info", which == 0);
		copy(from, argv[1], "map", which == 1 || which == 2);
		for (trace = 0; trace < ARRAY_SIZE(traces); trace++)
			copy(from, argv[1], traces[trace], which > 2);
		decode(argv[1], out);
	}
	fclose(out);
	printf("%lu decoded with %lu gaps, %lu refused\n", decoded, gaps, refused);
	return 0;
}
