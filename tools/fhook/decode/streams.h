/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the streams of a recording to threads
 *
 * A stream of a thread is read from its begin to its end, one after the other. Streams
 * of processors are read at the same time: a stream goes on until its context stubs
 * say that another task runs. Then it waits until that task's turn before this one
 * has been read, wherever that is. As turns are counted, no clocks are compared, and
 * nothing is kept but each task's stack. If a turn is in no stream, because there was
 * a gap, all streams wait at last: then the one that has waited since the earliest
 * time goes on, and the task has a gap.
 *
 * What software has recorded of a kernel has no turns, but times of one clock. Then the
 * events of all streams are taken in the order of their times. A task may have left its
 * processor and come back, and nobody has said so: so a gap of one processor is a gap of
 * each task that has events before its end and after its begin.
 */
#ifndef FHOOK_STREAMS_H
#define FHOOK_STREAMS_H

#include "lib/map.h"
#include "lib/recording.h"
#include "sink.h"

/**
 * struct streams - a decoding
 * @recording: what is decoded
 * @map: its stubs; objects that were moved have been said to it
 * @sink: what is made of it
 * @totals: what is counted
 * @only: the number of the one thread, task or processor that is wanted; -1: all
 * @found: there is one that is wanted
 * @goes_on: the sink has had another recording before
 * @more: it gets another one behind this
 */
struct streams {
	const struct recording *recording;
	struct map *map;
	struct sink *sink;
	struct totals totals;
	s64 only;
	bool found, goes_on, more;
};

/* Returns 0, or -1 and a sentence: then nothing could be decoded. */
int streams_decode(struct streams *streams, struct fault *fault);

#endif /* FHOOK_STREAMS_H */
