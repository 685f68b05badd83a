/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decoding raw streams to addresses of stubs
 *
 * A decoder delivers events in batches, and reads as much of its stream as it needs for
 * that. It reports only what the stream contains: an unreadable part is a gap, with a
 * reason, and decoding continues where the stream can be read again.
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
 * struct trace_event - an event of a stream
 * @address: address of the stub
 * @time: time in cycles of the recording's clock; 0 if unknown
 * @why: reason of a gap, a sentence without a full stop; undefined for other events
 * @lost: number of bytes of a gap that could not be read, if known; undefined for other events
 * @type: value of enum trace_event_type
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
 * struct decoder_ops - a trace format
 * @open: begins to read a file; returns NULL and a sentence on error
 * @fill: returns up to TRACE_BATCH events; 0 at the end
 * @close: ends reading
 */
struct decoder_ops {
	struct decoder *(*open)(const struct recording *recording, const struct map *map,
				const char *path, struct fault *fault);
	unsigned int (*fill)(struct decoder *decoder, struct trace_event *events);
	void (*close)(struct decoder *decoder);
};

/**
 * struct decoder - a mapped file, the part common to all formats
 * @ops: operations of the format
 * @data: contents of the file
 * @size: size of @data in bytes
 * @end: end of the last byte of the file that is not zero, see decoder_end()
 * @zeroes: number of zeroes after @end in the file, of which @data may have fewer
 * @begin: number of bytes at the start that were not kept, in a snapshot
 * @released: number of bytes at the start that are no longer in memory
 */
struct decoder {
	const struct decoder_ops *ops;
	const u8 *data;
	size_t size, end, zeroes, begin, released;
};

/* Map a file whose size does not change, and unmap it. */
int decoder_map(struct decoder *decoder, const char *path, struct fault *fault);
void decoder_unmap(struct decoder *decoder);

/* No format has so many bytes of zeroes at the end of its data. */
#define DECODER_PADDING	64

/*
 * Map a stream without the zeroes after its data. A recorder that still writes cuts them off when
 * it ends, and reading them would raise SIGBUS then.
 */
int decoder_map_stream(struct decoder *decoder, const char *path, struct fault *fault);

/* Release the memory of the data before this offset, which have been read. */
void decoder_release(struct decoder *decoder, size_t offset);

/*
 * Find the beginning of a snapshot, after the hole that is in the place of what was not kept.
 * Sets "begin", and returns whether there is a hole.
 */
bool decoder_find_begin(struct decoder *decoder);

/*
 * The end of the trace: if the program that wrote it was killed, more than MOST zeroes
 * follow it.
 */
size_t decoder_end(const struct decoder *decoder, size_t most);

/* formats.c: of the format of a recording. */
extern const struct decoder_ops decoder_pt, decoder_etm, decoder_software;
struct decoder *decoder_open(const struct recording *recording, const struct map *map,
			     u32 stream, struct fault *fault);

#endif /* FHOOK_DECODER_H */
