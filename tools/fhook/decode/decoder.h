/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a raw stream to addresses of stubs
 *
 * A decoder is asked for events, a batch at a time, and reads on in its stream as far
 * as it has to. It says what the stream says and nothing else: what it cannot read is
 * a gap, of which it tells why, and it goes on where the stream can be read again.
 */
#ifndef FHOOK_DECODER_H
#define FHOOK_DECODER_H

#include "lib/map.h"
#include "lib/recording.h"

enum trace_event_type {
	TRACE_HIT,	/* a stub was executed */
	TRACE_DROPPED,	/* an interrupt came instead: the stub will be entered again */
	TRACE_GAP,	/* something is missing here */
};

/**
 * struct trace_event - one thing that a stream says
 * @address: of the stub
 * @time: in cycles of the recording's clock; 0 if nothing is known
 * @why: of a gap: what has happened, a sentence without its end
 * @lost: of a gap: how many bytes could not be read, if that is known
 * @type: enum trace_event_type
 */
struct trace_event {
	u64 address;
	u64 time;
	const char *why;
	u64 lost;
	enum trace_event_type type;
};

#define TRACE_BATCH	256

struct decoder;

/**
 * struct decoder_ops - a format
 * @open: begin to read a file; NULL and a sentence when that cannot be
 * @fill: up to TRACE_BATCH events; 0 when there are no more
 * @close: end it
 */
struct decoder_ops {
	struct decoder *(*open)(const struct recording *recording, const struct map *map,
				const char *path, struct fault *fault);
	unsigned int (*fill)(struct decoder *decoder, struct trace_event *events);
	void (*close)(struct decoder *decoder);
};

/**
 * struct decoder - what all formats have: a mapped file
 * @ops: the format
 * @data: the file
 * @size: its bytes
 * @released: so many of them are not in memory any more
 */
struct decoder {
	const struct decoder_ops *ops;
	const u8 *data;
	size_t size, released;
};

/* For the formats: map the file, and let go of it. */
int decoder_map(struct decoder *decoder, const char *path, struct fault *fault);
void decoder_unmap(struct decoder *decoder);
/* What is before this offset was read, and does not have to stay in memory. */
void decoder_release(struct decoder *decoder, size_t offset);

/*
 * Where the trace ends: behind it are zeroes, more than MOST of them, if the program was
 * killed that wrote it.
 */
size_t decoder_end(const struct decoder *decoder, size_t most);

/* formats.c: of the format of a recording. */
extern const struct decoder_ops decoder_pt, decoder_etm, decoder_software;
struct decoder *decoder_open(const struct recording *recording, const struct map *map,
			     u32 stream, struct fault *fault);

#endif /* FHOOK_DECODER_H */
