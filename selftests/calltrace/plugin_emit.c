// SPDX-License-Identifier: GPL-2.0
/*
 * The plugin's emitters, with addresses at all distances
 *
 * The stubs of one program are close to each other. Here an emitter is told of stubs
 * anywhere, with synchronisation points everywhere, and what is decoded from that must
 * be the same addresses, in order. The seed is fixed.
 *
 * Usage: plugin-emit DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decoder.h"
#include "etm_emit.h"
#include "pt_emit.h"

#define EVENTS	20000

static u64 addresses[EVENTS];
static u64 random_state = 1;

static u64 random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

/* Another address, of which so many low bits are others. */
static u64 near(u64 address)
{
	static const unsigned int bits[] = { 7, 9, 12, 16, 17, 18, 24, 32, 33, 47 };
	const u64 random = random_next();
	const unsigned int change = bits[(random >> 48) % ARRAY_SIZE(bits)];

	address ^= random & ((1ULL << change) - 1) & ~3ULL;
	/* One half of the addresses is the kernel's. */
	return random >> 47 & 1 ? address & (1ULL << 47) - 4 : address | -1ULL << 47;
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

static int run(char *directory, enum recording_format format, enum recording_profile profile)
{
	struct recording recording = {
		.directory = directory, .format = format, .profile = profile,
		.etm = etm_emit_registers, .nominal = PT_NOMINAL,
	};
	char *path = recording_stream_path(&recording, 0);
	struct trace_file *file = path ? trace_file_open(path) : NULL;

	free(path);
	if (!file) {
		perror(directory);
		return -1;
	}
	emit(file, format, profile);
	return compare(&recording);
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
	return failed ? 1 : 0;
}
