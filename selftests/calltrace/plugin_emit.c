// SPDX-License-Identifier: GPL-2.0
/*
 * The plugin's emitters, with addresses at all distances, and its streams
 *
 * The stubs of one program are close to each other. Here an emitter gets stubs at any
 * address, with synchronisation points everywhere, and the decoder must return the same
 * addresses, in order. A stream that is cut off must say so, and one that
 * a disk had no room for must end there.
 *
 * Usage: plugin-emit DIRECTORY
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "../host/random.h"
#include "decode/decoder.h"
#include "trace/etm_emit.h"
#include "trace/pt_emit.h"

#define EVENTS	20000

static u64 addresses[EVENTS];

/* Another address, of which so many low bits are others. */
static u64 near(u64 address)
{
	static const unsigned int bits[] = { 7, 9, 12, 16, 17, 18, 24, 32, 33, 47 };
	const u64 random = random_next();
	const unsigned int change = bits[(random >> 48) % ARRAY_SIZE(bits)];

	address ^= random & ((1ULL << change) - 1) & ~3ULL;
	/* One half of the addresses is the kernel's. */
	return random >> 47 & 1 ? address & ((1ULL << 47) - 4) : address | -1ULL << 47;
}

static void emit(struct trace_file *file, enum recording_format format,
		 enum recording_profile profile)
{
	struct etm_emitter etm;
	struct pt_emitter pt;
	u64 address = 0x400000;
	unsigned int i;

	if (format == FORMAT_ETMV4)
		etm_emit_start(&etm, file, 100, false);
	else
		pt_emit_start(&pt, file, profile, 100);
	for (i = 0; i < EVENTS; i++) {
		address = near(address);
		addresses[i] = address;
		if (format == FORMAT_ETMV4) {
			etm_emit_enable(&etm, address);
			etm_emit_atom(&etm, true);
		} else {
			pt_emit_enable(&pt, address);
			pt_emit_disable(&pt, address, true, near(address));
		}
	}
	trace_file_close(file);
}

static int compare(const struct recording *recording)
{
	const struct map map = { 0 };
	struct trace_event events[TRACE_BATCH];
	unsigned int count, i, done = 0;
	struct decoder *decoder;
	struct fault fault;

	decoder = decoder_open(recording, &map, 0, &fault);
	if (!decoder) {
		fault_print("plugin-emit", &fault);
		return -1;
	}
	while ((count = decoder->ops->fill(decoder, events)))
		for (i = 0; i < count; i++, done++) {
			if (events[i].type == TRACE_HIT && done < EVENTS &&
			    events[i].address == addresses[done])
				continue;
			printf("%s, %s: event %u is 0x%llx (%s)\n",
			       recording_formats[recording->format],
			       recording_profiles[recording->profile], done,
			       events[i].address, events[i].why ? events[i].why : "an address");
			decoder->ops->close(decoder);
			return -1;
		}
	decoder->ops->close(decoder);
	if (done != EVENTS)
		printf("%u events instead of %u\n", done, EVENTS);
	return done == EVENTS ? 0 : -1;
}

static struct trace_file *open_stream(const struct recording *recording)
{
	char *path = recording_stream_path(recording, 0);
	struct trace_file *file = path ? trace_file_open(path) : NULL;

	free(path);
	if (!file)
		perror(recording->directory);
	return file;
}

static int run(char *directory, enum recording_format format, enum recording_profile profile)
{
	struct recording recording = {
		.directory = directory, .format = format, .profile = profile,
		.etm = etm_emit_registers, .nominal = PT_NOMINAL,
	};
	struct trace_file *file = open_stream(&recording);

	if (!file)
		return -1;
	emit(file, format, profile);
	return compare(&recording);
}

/* An address and no atom: the stub may have been executed, or not. */
static int cut_off(char *directory)
{
	struct recording recording = {
		.directory = directory, .format = FORMAT_ETMV4, .etm = etm_emit_registers,
	};
	struct trace_file *file = open_stream(&recording);
	struct trace_event events[TRACE_BATCH];
	const struct map map = { 0 };
	struct decoder *decoder;
	struct etm_emitter etm;
	struct fault fault;
	unsigned int count;

	if (!file)
		return -1;
	etm_emit_start(&etm, file, 100, false);
	etm_emit_enable(&etm, 0x400000);
	etm_emit_atom(&etm, true);
	etm_emit_enable(&etm, 0x400008);
	trace_file_close(file);
	decoder = decoder_open(&recording, &map, 0, &fault);
	if (!decoder)
		return -1;
	count = decoder->ops->fill(decoder, events);
	decoder->ops->close(decoder);
	if (count == 2 && events[0].type == TRACE_HIT && events[1].type == TRACE_GAP)
		return 0;
	printf("a stream that is cut off: %u events\n", count);
	return -1;
}

/* Such a processor may withdraw what it has written: its streams are not decoded. */
static int traces_ahead(char *directory)
{
	struct recording recording = {
		.directory = directory, .format = FORMAT_ETMV4, .etm = etm_emit_registers,
	};
	const struct map map = { 0 };
	struct fault fault;

	recording.etm.idr8 = 1;
	if (!decoder_open(&recording, &map, 0, &fault))
		return 0;
	printf("a processor that speculates is decoded\n");
	return -1;
}

/* The disk is full for a while: later packets must not be joined to earlier ones. */
static int disk_was_full(const char *directory)
{
	static const u8 data[TRACE_BUFFER / 4];
	const struct rlimit none = { 0, RLIM_INFINITY };
	struct rlimit any;
	char path[4096];
	struct trace_file *file;
	struct stat status;
	int i;

	snprintf(path, sizeof(path), "%s/full.trace", directory);
	file = trace_file_open(path);
	if (!file)
		return -1;
	/* Into the window that it has; then there is no other one. */
	trace_file_put(file, data, sizeof(data));
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &any);
	setrlimit(RLIMIT_FSIZE, &none);
	for (i = 0; i < 8; i++)
		trace_file_put(file, data, sizeof(data));
	setrlimit(RLIMIT_FSIZE, &any);
	for (i = 0; i < 8; i++)
		trace_file_put(file, data, sizeof(data));
	trace_file_flush(file);
	stat(path, &status);
	if (status.st_size == 4 * sizeof(data) && file->lost == 13 * sizeof(data))
		return 0;
	printf("the disk was full: %lu bytes are written, and %llu lost\n", status.st_size,
	       file->lost);
	return -1;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc != 2) {
		fprintf(stderr, "Usage: plugin-emit DIRECTORY\n");
		return 1;
	}
	failed |= run(argv[1], FORMAT_INTEL_PT, PROFILE_TARGET);
	failed |= run(argv[1], FORMAT_INTEL_PT, PROFILE_NO_TARGET);
	failed |= run(argv[1], FORMAT_INTEL_PT, PROFILE_CYCLES);
	failed |= run(argv[1], FORMAT_ETMV4, PROFILE_TARGET);
	failed |= cut_off(argv[1]);
	failed |= traces_ahead(argv[1]);
	failed |= disk_was_full(argv[1]);
	return failed ? 1 : 0;
}
