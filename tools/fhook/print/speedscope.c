// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks with the time spent in them, in the file format of speedscope
 *
 * Each thread is a profile of samples: one for each different stack, whose weight is the time
 * spent in it. So the file does not grow with the recording; that the samples of a thread are
 * not in the order of time concerns only one of speedscope's views.
 */
#include <stdlib.h>
#include "folded.h"
#include "lib/json.h"

/**
 * struct scope - the output in progress
 * @folded: the stacks
 * @frames: for each function that is on a stack, the number of its frame plus 1
 * @nr_frames: number of frames that have been printed
 * @samples: nodes with time spent in them, sorted by thread
 * @nr_samples: number of elements of @samples
 */
struct scope {
	const struct folded *folded;
	u32 *frames;
	u32 nr_frames;
	const struct folded_node **samples;
	size_t nr_samples;
};

/* The place of a function in the table of frames; deeper calls have one after all functions. */
static u32 *frame_of(const struct sink *sink, struct scope *scope, u32 function)
{
	return &scope->frames[function == FOLDED_DEEPER ? sink->map->nr_functions : function];
}

static void print_frame(struct sink *sink, struct scope *scope, u32 function)
{
	u32 *frame = frame_of(sink, scope, function);
	const struct place *place;

	if (*frame)
		return;
	fprintf(sink->out, "%s\n{\"name\":", scope->nr_frames ? "," : "");
	*frame = ++scope->nr_frames;
	if (function == FOLDED_DEEPER) {
		fputs("\"[deeper]\"}", sink->out);
		return;
	}
	json_string(sink->out, sink_name(sink, function));
	place = sink_place(sink, function);
	if (place) {
		fputs(",\"file\":", sink->out);
		json_string(sink->out, place->file);
		fprintf(sink->out, ",\"line\":%d", place->line);
	}
	fputc('}', sink->out);
}

static void print_sample(struct sink *sink, struct scope *scope, const struct folded_node *sample)
{
	u32 path[FOLDED_DEPTH + 1];
	size_t depth = folded_path(scope->folded, sample - scope->folded->nodes, path);

	fputc('[', sink->out);
	while (depth--)
		fprintf(sink->out, "%u%s", *frame_of(sink, scope, path[depth]) - 1,
			depth ? "," : "]");
}

/* Print the samples of a thread. Returns the index of the next thread's first sample. */
static size_t print_thread(struct sink *sink, struct scope *scope, size_t first)
{
	const u32 thread = scope->samples[first]->thread;
	u64 total = 0;
	size_t i;

	fprintf(sink->out, "%s\n{\"type\":\"sampled\",\"name\":", first ? "," : "");
	json_string(sink->out, scope->folded->labels[thread]);
	fprintf(sink->out, ",\"unit\":\"%s\",\"startValue\":0,\"samples\":[",
		sink->timed ? "nanoseconds" : "none");
	for (i = first; i < scope->nr_samples && scope->samples[i]->thread == thread; i++) {
		fputs(i > first ? ",\n" : "\n", sink->out);
		print_sample(sink, scope, scope->samples[i]);
	}
	fputs("],\"weights\":[", sink->out);
	for (i = first; i < scope->nr_samples && scope->samples[i]->thread == thread; i++) {
		fprintf(sink->out, "%s%llu", i > first ? "," : "", scope->samples[i]->self);
		total += scope->samples[i]->self;
	}
	fprintf(sink->out, "],\"endValue\":%llu}", total);
	return i;
}

static void print_all(struct sink *sink, struct scope *scope)
{
	const struct folded *folded = scope->folded;
	size_t i;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",", sink->out);
	fputs("\"exporter\":\"fhook\",\"shared\":{\"frames\":[", sink->out);
	for (i = 0; i < folded->pairs.nr; i++) {
		/* The node of a thread has no function. */
		if (folded->pairs.pairs[i].first != FOLDED_ROOT)
			print_frame(sink, scope, folded->pairs.pairs[i].second);
		if (folded->nodes[i].self)
			scope->samples[scope->nr_samples++] = &folded->nodes[i];
	}
	if (scope->nr_samples)
		qsort(scope->samples, scope->nr_samples, sizeof(*scope->samples), folded_compare);
	fputs("]},\"profiles\":[", sink->out);
	for (i = 0; i < scope->nr_samples;)
		i = print_thread(sink, scope, i);
	fputs("]}\n", sink->out);
}

static void end(struct sink *sink)
{
	struct folded *folded = sink->data;
	struct scope scope = {
		.folded = folded,
		.frames = calloc(sink->map->nr_functions + 1, sizeof(*scope.frames)),
		.samples = calloc(folded->pairs.nr + 1, sizeof(*scope.samples)),
	};

	if (!scope.frames || !scope.samples)
		sink->no_memory = true;
	else if (!sink->failed)
		print_all(sink, &scope);
	free(scope.frames);
	free(scope.samples);
	folded_free(folded);
}

const struct sink_ops sink_speedscope = {
	.begin = folded_begin,
	.enter = folded_enter,
	.leave = folded_leave,
	.end = end,
};
