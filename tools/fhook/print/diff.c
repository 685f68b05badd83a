// SPDX-License-Identifier: GPL-2.0
/*
 * fhook calltrace diff: compare the calls of two recordings
 *
 * Printed are the functions that ran in one of them only, those called another number of times,
 * and for each thread the first event that differs. The sequence of the first recording is kept
 * in memory; that of the second is compared as it is decoded, when its stack is known. A
 * sequence is compared up to the first gap of either.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "calltrace.h"
#include "sequence.h"

/* The most callers that are printed, the innermost ones. */
#define CALLERS_MOST	8

/* The status of a failure, as that of diff(1): 1 says that the recordings differ. */
#define STATUS_FAILED	2

/* After the last event of a thread. */
#define EVENT_END	0xffffffffu

/**
 * struct cursor - the comparison of a thread of the second recording
 * @at: number of equal events
 * @done: it is not compared any further
 */
struct cursor {
	size_t at;
	bool done;
};

/**
 * struct diff - a comparison
 * @sides: the recordings
 * @counts: compare only numbers of calls
 * @mangled: names are symbols
 * @threads: sequences of the first recording, by number of the thread
 * @nr_threads: number of @threads
 * @room_threads: allocated size of @threads
 * @nr_compared: number of threads of the second recording
 * @text: where the sequences part, printed after the numbers of calls
 * @differs: there is a difference
 */
struct diff {
	struct sides sides;
	bool counts, mangled;
	struct sequence *threads;
	size_t nr_threads, room_threads, nr_compared;
	FILE *text;
	bool differs;
};

/* The sequence of a thread, or NULL without memory. */
static struct sequence *sequence_of(struct diff *diff, const struct thread *thread)
{
	while (diff->nr_threads < thread->number) {
		if (grow(&diff->threads, &diff->room_threads, diff->nr_threads,
			 sizeof(*diff->threads)))
			return NULL;
		memset(diff->threads + diff->nr_threads++, 0, sizeof(*diff->threads));
	}
	return diff->threads + thread->number - 1;
}

static void count(struct side *side, const struct map_stub *stub)
{
	if (stub->kind == STUB_ENTRY || stub->kind == STUB_LEAF)
		side->calls[side_name(side, stub->function)]++;
}

/* A leaf is an entry and an exit, as in a recording that has both. */
static void each_event(struct sink *sink, struct thread *thread, const struct map_stub *stub,
		       void (*with)(struct sink *sink, struct thread *thread,
				    const struct map_stub *stub))
{
	struct map_stub one = *stub;

	if (stub->kind == STUB_LEAF) {
		one.kind = STUB_ENTRY;
		with(sink, thread, &one);
		one.kind = STUB_EXIT;
	}
	with(sink, thread, &one);
}

static void keep_event(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	struct diff *diff = sink->data;
	struct side *side = &diff->sides.side[0];
	struct sequence *sequence = sequence_of(diff, thread);

	if (!sequence) {
		sink->no_memory = true;
		return;
	}
	if (sequence->gap)
		return;
	if (!sequence->nr)
		memcpy(sequence->label, thread->label, sizeof(sequence->label));
	if (grow(&sequence->events, &sequence->room, sequence->nr, sizeof(*sequence->events)))
		sink->no_memory = true;
	else
		sequence->events[sequence->nr++] = event_of(side, stub);
}

static void keep_hit(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	struct diff *diff = sink->data;

	count(&diff->sides.side[0], stub);
	if (!diff->counts)
		each_event(sink, thread, stub, keep_event);
}

static void keep_gap(struct sink *sink, struct thread *thread, const char *why __unused,
		     u64 lost __unused)
{
	struct sequence *sequence = sequence_of(sink->data, thread);

	if (sequence)
		sequence->gap = true;
	else
		sink->no_memory = true;
}

static const struct sink_ops keep = { .hit = keep_hit, .gap = keep_gap };

static void print_event(const struct diff *diff, char sign, u32 event)
{
	static const char *const does[1 << KIND_BITS] = {
		[STUB_ENTRY] = "enters", [STUB_EXIT] = "returns from",
		[STUB_TAIL] = "goes on elsewhere from", [STUB_LAND] = "lands in",
		[STUB_SWITCH] = "changes the stack in",
	};
	const u32 kind = event & ((1 << KIND_BITS) - 1);

	if (event == EVENT_END)
		fprintf(diff->text, "%c    ends\n", sign);
	else
		fprintf(diff->text, "%c    %s %s\n", sign, does[kind],
			diff->sides.names[event >> KIND_BITS]);
}

/* Print where a thread differs; THREAD is that of the second recording, or NULL after its end. */
static void print_parting(struct diff *diff, const struct sequence *sequence,
			  const struct thread *thread, size_t at, u32 event)
{
	const size_t depth = thread ? thread->nr_frames : 0;
	const size_t first = depth > CALLERS_MOST ? depth - CALLERS_MOST : 0;
	const struct side *side = &diff->sides.side[1];
	/* A thread without events in the first recording has no label there. */
	const char *label = thread && !*sequence->label ? thread->label : sequence->label;
	size_t i;

	diff->differs = true;
	fprintf(diff->text, "@ %s, event %zu", label, at + 1);
	for (i = first; i < depth; i++)
		fprintf(diff->text, "%s%s", i > first ? " > " : first ? ", in ... > " : ", in ",
			diff->sides.names[side_name(side, thread->frames[i].function)]);
	fputc('\n', diff->text);
	print_event(diff, '-', at < sequence->nr ? sequence->events[at] : EVENT_END);
	print_event(diff, '+', event);
}

/* The cursor of a thread of the second recording; NULL without memory. */
static struct cursor *cursor_of(struct sink *sink, struct thread *thread)
{
	struct diff *diff = sink->data;

	if (!thread->sink)
		thread->sink = calloc(1, sizeof(struct cursor));
	if (!thread->sink)
		sink->no_memory = true;
	if (thread->number > diff->nr_compared)
		diff->nr_compared = thread->number;
	return thread->sink;
}

static void compare_event(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	struct diff *diff = sink->data;
	const u32 event = event_of(&diff->sides.side[1], stub);
	struct cursor *cursor = cursor_of(sink, thread);
	const struct sequence *sequence;

	if (!cursor || cursor->done || thread->number > diff->nr_threads)
		return;
	sequence = diff->threads + thread->number - 1;
	if (cursor->at < sequence->nr && sequence->events[cursor->at] == event) {
		cursor->at++;
		return;
	}
	cursor->done = true;
	if (cursor->at < sequence->nr || !sequence->gap)
		print_parting(diff, sequence, thread, cursor->at, event);
}

static void compare_hit(struct sink *sink, struct thread *thread, const struct map_stub *stub)
{
	struct diff *diff = sink->data;

	count(&diff->sides.side[1], stub);
	if (!diff->counts)
		each_event(sink, thread, stub, compare_event);
}

static void compare_gap(struct sink *sink, struct thread *thread, const char *why __unused,
			u64 lost __unused)
{
	struct cursor *cursor = cursor_of(sink, thread);

	if (cursor)
		cursor->done = true;
}

static void compare_ended(struct sink *sink, struct thread *thread)
{
	struct diff *diff = sink->data;
	struct cursor *cursor = thread->sink;
	/* A thread without events has none. */
	const size_t at = cursor ? cursor->at : 0;
	const struct sequence *sequence;

	thread->sink = NULL;
	if (!(cursor && cursor->done) && thread->number <= diff->nr_threads) {
		sequence = diff->threads + thread->number - 1;
		if (at < sequence->nr)
			print_parting(diff, sequence, NULL, at, EVENT_END);
	}
	free(cursor);
}

static const struct sink_ops compare = {
	.hit = compare_hit, .gap = compare_gap, .ended = compare_ended,
};

static const char *calls(u64 number)
{
	return number == 1 ? "call" : "calls";
}

/* A function without stubs on a side may have run there, which is said. */
static void print_counts(struct diff *diff)
{
	const struct side *side = diff->sides.side;
	size_t i;

	for (i = 0; i < diff->sides.nr_names; i++) {
		const u64 old = side[0].calls[i], new = side[1].calls[i];
		const struct side *without = old ? side + 1 : side;

		if (old == new)
			continue;
		diff->differs = true;
		if (old && new)
			printf("! %s: %llu %s, then %llu\n", diff->sides.names[i], old,
			       calls(old), new);
		else
			printf("%c %s: %llu %s%s%s\n", old ? '-' : '+', diff->sides.names[i],
			       old ?: new, calls(old ?: new),
			       without->traced[i] ? "" : ", and no stubs in ",
			       without->traced[i] ? "" : without->directory);
	}
}

/* Messages about parts that could not be compared: they differ, as far as is known. */
static void report(struct diff *diff)
{
	const struct side *side = diff->sides.side;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(diff->sides.side); i++) {
		if (!side[i].gaps)
			continue;
		diff->differs = true;
		fprintf(stderr,
			"fhook: events of %s are missing (gaps: %llu): threads are compared up to the first, and numbers of calls are too small.\n",
			side[i].directory, side[i].gaps);
	}
	if (!diff->counts && diff->nr_threads != diff->nr_compared) {
		diff->differs = true;
		printf("! %zu threads, then %zu\n", diff->nr_threads, diff->nr_compared);
	}
}

static int do_diff(struct diff *diff, char **directories, struct fault *fault)
{
	size_t size, i;
	char *text = NULL;
	int ret;

	diff->text = open_memstream(&text, &size);
	ret = diff->text ? sides_open(&diff->sides, directories, diff->mangled, fault) :
	      fault_say(fault, "there is not enough memory to compare");
	ret = ret ?: side_decode(&diff->sides.side[0], &keep, diff, fault);
	ret = ret ?: side_decode(&diff->sides.side[1], &compare, diff, fault);
	if (diff->text && fclose(diff->text) && !ret)
		ret = fault_say(fault, "there is not enough memory to compare");
	if (!ret) {
		print_counts(diff);
		fputs(text, stdout);
		report(diff);
	}
	for (i = 0; i < diff->nr_threads; i++)
		free(diff->threads[i].events);
	free(diff->threads);
	free(text);
	sides_free(&diff->sides);
	return ret;
}

#define KEY_MANGLED	256

struct arguments {
	char *directories[2];
	unsigned int nr;
	bool counts, mangled;
};

static error_t parse(int key, char *word, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'c':
		arguments->counts = true;
		return 0;
	case KEY_MANGLED:
		arguments->mangled = true;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->nr == ARRAY_SIZE(arguments->directories))
			argp_error(state, "'%s' is one recording too many", word);
		arguments->directories[arguments->nr++] = word;
		return 0;
	case ARGP_KEY_END:
		if (arguments->nr < ARRAY_SIZE(arguments->directories))
			argp_error(state, "two recordings are compared");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int calltrace_diff(int argc, char **argv, struct fault *fault)
{
	static const struct argp_option options[] = {
		{ "counts", 'c', NULL, 0,
		  "Compare how often functions are called, and not in which order", 0 },
		{ "mangled", KEY_MANGLED, NULL, 0,
		  "Compare and print names of C++ and Rust as their symbols are", 0 },
		{ }
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "OLD NEW",
		.doc = "Compare the calls of two recordings.\n"
		       "The status is 1 if they differ, and 2 if they cannot be compared.",
	};
	struct arguments arguments = { };
	struct diff diff = { };

	argv[0] = "fhook calltrace diff";
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	diff.counts = arguments.counts;
	diff.mangled = arguments.mangled;
	if (!do_diff(&diff, arguments.directories, fault))
		return diff.differs;
	fault_print("fhook", fault);
	return STATUS_FAILED;
}
