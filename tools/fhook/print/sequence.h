/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two recordings whose calls are compared
 *
 * Functions of both are the same if they have the same name, as it is printed: another build has
 * them at other addresses, and its symbols of Rust have other hashes. Threads are compared in
 * the order in which they begin.
 */
#ifndef FHOOK_PRINT_SEQUENCE_H
#define FHOOK_PRINT_SEQUENCE_H

#include "decode/sink.h"
#include "lib/recording.h"
#include "names.h"

/**
 * struct sequence - the events of a thread
 * @label: name of the thread
 * @events: kind and name of each event; see event_of()
 * @nr: number of events
 * @room: allocated size of @events
 * @gap: events are missing after the last one
 */
struct sequence {
	char label[48];
	u32 *events;
	size_t nr, room;
	bool gap;
};

/**
 * struct side - one of the recordings
 * @directory: its directory, as given
 * @recording: its description
 * @map: its map
 * @printed: printed names of the functions of the map; empty if they are the symbols
 * @names: for each string of the map, its index among the names of both
 * @calls: number of calls by name
 * @traced: whether a function of this name has stubs
 * @gaps: number of gaps
 */
struct side {
	const char *directory;
	struct recording recording;
	struct map map;
	struct names printed;
	u32 *names;
	u64 *calls;
	bool *traced;
	u64 gaps;
};

/**
 * struct sides - both recordings, the older first
 * @side: the recordings
 * @names: names of the functions of both, sorted
 * @nr_names: number of @names
 */
struct sides {
	struct side side[2];
	const char **names;
	size_t nr_names;
};

/*
 * Read what is needed to decode them, with symbols as names, or with demangled ones. Free them
 * in any case.
 */
int sides_open(struct sides *sides, char **directories, bool mangled, struct fault *fault);
void sides_free(struct sides *sides);

/* Decode a side into a sink, which gets DATA. */
int side_decode(struct side *side, const struct sink_ops *ops, void *data, struct fault *fault);

#define KIND_BITS	3

/* The index of the name of a function among the names of both. */
static inline u32 side_name(const struct side *side, u32 function)
{
	return side->names[side->map.functions[function].name];
}

/* The kinds of events of functions come first. */
static inline u32 event_of(const struct side *side, const struct map_stub *stub)
{
	return side_name(side, stub->function) << KIND_BITS | stub->kind;
}

#endif /* FHOOK_PRINT_SEQUENCE_H */
