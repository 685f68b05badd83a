/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attributing the streams of a recording to threads
 *
 * Streams of threads are read from start to end, one after the other. Streams of
 * processors are read in parallel: a stream is read until its context stubs announce
 * another task. Then it waits until the previous turn of that task has been read, in
 * whichever stream that is. Since turns are counted, no clocks are compared, and only
 * each task's stack is kept. If a turn is in no stream, because of a gap, all streams
 * are waiting in the end: then the stream that has waited since the earliest time
 * continues, and the task has a gap.
 *
 * Software recordings of a kernel have no turns, but times of a single clock. The events
 * of all streams are then processed in the order of their times. A task may have left
 * its processor and come back in a gap, unnoticed: so a gap of one processor is a gap of
 * each task that has events before the end of the gap and after its start.
 */
#ifndef FHOOK_STREAMS_H
#define FHOOK_STREAMS_H

#include "lib/map.h"
#include "lib/recording.h"
#include "sink.h"

/**
 * struct streams - a decoding
 * @recording: the recording
 * @map: map with the stubs, with the locations of moved objects
 * @sink: sink for the calls
 * @totals: counters
 * @only: number of the selected thread, task or processor; -1: all
 * @found: a selected one exists
 * @goes_on: the sink has already processed another recording
 * @more: the sink will process another recording
 */
struct streams {
	const struct recording *recording;
	struct map *map;
	struct sink *sink;
	struct totals totals;
	s64 only;
	bool found, goes_on, more;
};

/* Returns 0, or -1 and a sentence, in which case nothing could be decoded. */
int streams_decode(struct streams *streams, struct fault *fault);

#endif /* FHOOK_STREAMS_H */
