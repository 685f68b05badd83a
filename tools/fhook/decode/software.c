// SPDX-License-Identifier: GPL-2.0
/* Decode the streams of software recorders, which need little decoding. */
#include <stdlib.h>
#include <string.h>
#include "decoder.h"
#include "software.h"

/**
 * struct software - a stream that is read
 * @base: the part common to all formats
 * @offset: offset of the next record
 * @end: end of the stream
 * @begins: it is the rest of a stream whose beginning was not kept, which has not been reported
 */
struct software {
	struct decoder base;
	size_t offset, end;
	bool begins;
};

/* A snapshot begins after a hole, or after a record of missing events. */
static void find_begin(struct software *software)
{
	const struct software_record *records = (const void *)software->base.data;
	const size_t nr = software->end / sizeof(*records);
	size_t first = 0;

	while (first < nr && !records[first].address) {
		software->begins = true;
		first++;
	}
	software->offset = first * sizeof(*records);
	software->base.begin = software->offset;
}

static unsigned int fill(struct decoder *decoder, struct trace_event *events)
{
	struct software *software = (struct software *)decoder;
	struct software_record record;
	unsigned int count = 0;

	if (software->begins) {
		events[count++] = (struct trace_event){
			.type = TRACE_GAP, .why = "the snapshot begins here",
		};
		software->begins = false;
	}
	while (count < TRACE_BATCH && software->offset < software->end) {
		struct trace_event *event = &events[count++];
		const size_t left = software->end - software->offset;

		if (left < sizeof(record)) {
			*event = (struct trace_event){
				.type = TRACE_GAP, .lost = left,
				.why = "the trace ends in the middle of a record",
			};
			software->offset = software->end;
			break;
		}
		memcpy(&record, decoder->data + software->offset, sizeof(record));
		software->offset += sizeof(record);
		if (record.address)
			*event = (struct trace_event){
				.type = TRACE_HIT, .address = record.address, .time = record.time,
			};
		else
			*event = (struct trace_event){
				.type = TRACE_GAP, .lost = record.time * sizeof(record),
				.why = "the recorder had no room",
			};
	}
	decoder_release(decoder, software->offset);
	return count;
}

static struct decoder *open_software(const struct recording *recording,
				     const struct map *map __unused, const char *path,
				     struct fault *fault)
{
	struct software *software = calloc(1, sizeof(*software));

	if (!software) {
		fault_say(fault, "%s: there is not enough memory", path);
		return NULL;
	}
	software->base.ops = &decoder_software;
	if (decoder_map_stream(&software->base, path, fault)) {
		free(software);
		return NULL;
	}
	/* A gap of unknown size is a record of zeroes; there are never two in a row. */
	software->end = decoder_end(&software->base, 2 * sizeof(struct software_record));
	software->end = (software->end + sizeof(struct software_record) - 1) /
			sizeof(struct software_record) * sizeof(struct software_record);
	if (software->end > software->base.size)
		software->end = software->base.size;
	if (recording->snapshot)
		find_begin(software);
	return &software->base;
}

static void close_software(struct decoder *decoder)
{
	decoder_unmap(decoder);
	free(decoder);
}

const struct decoder_ops decoder_software = {
	.open = open_software,
	.fill = fill,
	.close = close_software,
};
