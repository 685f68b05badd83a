// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks with the time spent in them, in the file format of Firefox Profiler
 *
 * The format is its "processed profile format" of version 48, which newer versions of the
 * profiler convert. Each thread has tables of its own, by columns: strings, functions, frames,
 * of which a function has one, stacks and samples. A different stack has one sample, whose
 * weight is the time spent in it. So the file does not grow with the recording; the samples of
 * a thread are one after the other, and not when they were.
 */
#include <stdlib.h>
#include "folded.h"
#include "lib/json.h"

#define NANOSECONDS	1e6	/* in a millisecond */

/**
 * struct firefox - the output in progress
 * @folded: the stacks
 * @nodes: nodes of functions, sorted by thread, callers before their callees
 * @nr_nodes: number of elements of @nodes
 * @stacks: for each node, its index in the table of its thread's stacks
 * @frames: for each function, its index in the tables of the thread plus 1
 * @functions: functions of the thread
 * @nr_functions: number of elements of @functions
 */
struct firefox {
	const struct folded *folded;
	const struct folded_node **nodes;
	size_t nr_nodes;
	u32 *stacks, *frames, *functions;
	u32 nr_functions;
};

/* Calls that are too deep have a place after all functions. */
static u32 function_of(const struct sink *sink, const struct firefox *firefox,
		       const struct folded_node *node)
{
	u32 function = firefox->folded->pairs.pairs[node - firefox->folded->nodes].second;

	return function == FOLDED_DEEPER ? sink->map->nr_functions : function;
}

static const char *separator(size_t i)
{
	return i ? "," : "";
}

/* A column that has the same value in all rows. */
static void print_constant(FILE *out, const char *name, const char *value, size_t rows)
{
	size_t i;

	fprintf(out, ",\"%s\":[", name);
	for (i = 0; i < rows; i++)
		fprintf(out, "%s%s", separator(i), value);
	fputc(']', out);
}

/* A column that has the number of the row. */
static void print_numbers(FILE *out, const char *name, size_t rows)
{
	size_t i;

	fprintf(out, ",\"%s\":[", name);
	for (i = 0; i < rows; i++)
		fprintf(out, "%s%zu", separator(i), i);
	fputc(']', out);
}

/* The names of the functions come first, then the files in which they are. */
static void print_strings(struct sink *sink, const struct firefox *firefox)
{
	const u32 nr = firefox->nr_functions;
	u32 i;

	fputs(",\n\"stringArray\":[", sink->out);
	for (i = 0; i < nr; i++) {
		fputs(separator(i), sink->out);
		json_string(sink->out, firefox->functions[i] == sink->map->nr_functions ?
			    "[deeper]" : sink_name(sink, firefox->functions[i]));
	}
	for (i = 0; sink->places && i < nr; i++) {
		const struct place *place = firefox->functions[i] == sink->map->nr_functions ?
					    NULL : sink_place(sink, firefox->functions[i]);

		fputs(separator(1), sink->out);
		json_string(sink->out, place ? place->file : "");
	}
	fputc(']', sink->out);
}

/* A column with a property of the place of each function, or null. */
static void print_places(struct sink *sink, const struct firefox *firefox, const char *name,
			 bool is_line)
{
	u32 i;

	fprintf(sink->out, ",\"%s\":[", name);
	for (i = 0; i < firefox->nr_functions; i++) {
		const struct place *place = firefox->functions[i] == sink->map->nr_functions ?
					    NULL : sink_place(sink, firefox->functions[i]);

		if (place)
			fprintf(sink->out, "%s%d", separator(i),
				is_line ? place->line : (int)(firefox->nr_functions + i));
		else
			fprintf(sink->out, "%snull", separator(i));
	}
	fputc(']', sink->out);
}

static void print_functions(struct sink *sink, const struct firefox *firefox)
{
	const u32 nr = firefox->nr_functions;

	fprintf(sink->out, ",\n\"funcTable\":{\"length\":%u", nr);
	print_numbers(sink->out, "name", nr);
	print_constant(sink->out, "isJS", "false", nr);
	print_constant(sink->out, "relevantForJS", "false", nr);
	print_constant(sink->out, "resource", "-1", nr);
	print_places(sink, firefox, "fileName", false);
	print_places(sink, firefox, "lineNumber", true);
	print_constant(sink->out, "columnNumber", "null", nr);

	fprintf(sink->out, "},\n\"frameTable\":{\"length\":%u", nr);
	print_numbers(sink->out, "func", nr);
	print_constant(sink->out, "address", "-1", nr);
	print_constant(sink->out, "inlineDepth", "0", nr);
	print_constant(sink->out, "category", "0", nr);
	print_constant(sink->out, "subcategory", "0", nr);
	print_constant(sink->out, "nativeSymbol", "null", nr);
	print_constant(sink->out, "innerWindowID", "0", nr);
	print_constant(sink->out, "implementation", "null", nr);
	print_places(sink, firefox, "line", true);
	print_constant(sink->out, "column", "null", nr);
	fputc('}', sink->out);
}

static void print_stacks(struct sink *sink, const struct firefox *firefox, size_t first, size_t end)
{
	size_t i;

	fprintf(sink->out, ",\n\"stackTable\":{\"length\":%zu,\"frame\":[", end - first);
	for (i = first; i < end; i++)
		fprintf(sink->out, "%s%u", separator(i - first),
			firefox->frames[function_of(sink, firefox, firefox->nodes[i])] - 1);
	fputs("],\"prefix\":[", sink->out);
	for (i = first; i < end; i++) {
		const struct folded *folded = firefox->folded;
		u32 caller = folded->pairs.pairs[firefox->nodes[i] - folded->nodes].first;

		if (folded->nodes[caller].depth)
			fprintf(sink->out, "%s%u", separator(i - first), firefox->stacks[caller]);
		else
			fprintf(sink->out, "%snull", separator(i - first));
	}
	fputc(']', sink->out);
	print_constant(sink->out, "category", "0", end - first);
	print_constant(sink->out, "subcategory", "0", end - first);
	fputc('}', sink->out);
}

/* A column of the samples. Times are in milliseconds, or events. */
static void print_samples_column(struct sink *sink, const struct firefox *firefox, size_t first,
				 size_t end, const char *name)
{
	const double unit = sink->timed ? NANOSECONDS : 1;
	size_t i, row = 0;
	u64 time = 0;

	fprintf(sink->out, ",\"%s\":[", name);
	for (i = first; i < end; i++) {
		if (!firefox->nodes[i]->self)
			continue;
		fputs(separator(row++), sink->out);
		if (*name == 's')
			fprintf(sink->out, "%zu", i - first);
		else
			fprintf(sink->out, "%.15g",
				(*name == 't' ? time : firefox->nodes[i]->self) / unit);
		time += firefox->nodes[i]->self;
	}
	fputc(']', sink->out);
}

static void print_samples(struct sink *sink, const struct firefox *firefox, size_t first,
			  size_t end)
{
	size_t i, rows = 0;

	for (i = first; i < end; i++)
		rows += !!firefox->nodes[i]->self;
	fprintf(sink->out, ",\n\"samples\":{\"length\":%zu,\"weightType\":\"%s\"", rows,
		sink->timed ? "tracing-ms" : "samples");
	print_samples_column(sink, firefox, first, end, "stack");
	print_samples_column(sink, firefox, first, end, "time");
	print_samples_column(sink, firefox, first, end, "weight");
	fputc('}', sink->out);
}

/* Print a thread with its tables. Returns the index of the next thread's first node. */
static size_t print_thread(struct sink *sink, struct firefox *firefox, size_t first)
{
	const u32 thread = firefox->nodes[first]->thread;
	size_t end;
	u32 i;

	for (i = 0; i < firefox->nr_functions; i++)
		firefox->frames[firefox->functions[i]] = 0;
	firefox->nr_functions = 0;
	for (end = first; end < firefox->nr_nodes && firefox->nodes[end]->thread == thread; end++) {
		const u32 function = function_of(sink, firefox, firefox->nodes[end]);

		firefox->stacks[firefox->nodes[end] - firefox->folded->nodes] = end - first;
		if (firefox->frames[function])
			continue;
		firefox->functions[firefox->nr_functions++] = function;
		firefox->frames[function] = firefox->nr_functions;
	}

	fprintf(sink->out, "%s\n{\"processType\":\"default\",\"processStartupTime\":0,",
		separator(first));
	fputs("\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,",
	      sink->out);
	fprintf(sink->out, "\"pausedRanges\":[],\"isMainThread\":%s,\"pid\":\"0\",\"tid\":%u,",
		first ? "false" : "true", thread);
	fputs("\"name\":", sink->out);
	json_string(sink->out, firefox->folded->labels[thread]);
	print_strings(sink, firefox);
	print_functions(sink, firefox);
	print_stacks(sink, firefox, first, end);
	print_samples(sink, firefox, first, end);
	fputs(",\n\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],", sink->out);
	fputs("\"endTime\":[],\"phase\":[],\"category\":[]},\"resourceTable\":{\"length\":0,",
	      sink->out);
	fputs("\"lib\":[],\"name\":[],\"host\":[],\"type\":[]},\"nativeSymbols\":{\"length\":0,",
	      sink->out);
	fputs("\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[]}}", sink->out);
	return end;
}

static void print_all(struct sink *sink, struct firefox *firefox)
{
	const struct folded *folded = firefox->folded;
	size_t i;

	for (i = 0; i < folded->pairs.nr; i++)
		if (folded->nodes[i].depth)
			firefox->nodes[firefox->nr_nodes++] = &folded->nodes[i];
	if (firefox->nr_nodes)
		qsort(firefox->nodes, firefox->nr_nodes, sizeof(*firefox->nodes), folded_compare);
	fputs("{\"meta\":{\"product\":\"fhook\",\"importedFrom\":\"fhook\",", sink->out);
	fputs("\"preprocessedProfileVersion\":48,\"version\":30,\"processType\":0,", sink->out);
	fputs("\"interval\":1,\"startTime\":0,\"stackwalk\":1,\"symbolicated\":true,", sink->out);
	fputs("\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,", sink->out);
	fputs("\"markerSchema\":[],\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",",
	      sink->out);
	fputs("\"subcategories\":[\"Other\"]}]},\"libs\":[],\"threads\":[", sink->out);
	for (i = 0; i < firefox->nr_nodes;)
		i = print_thread(sink, firefox, i);
	fputs("]}\n", sink->out);
}

static void end(struct sink *sink)
{
	struct folded *folded = sink->data;
	const size_t nr_functions = sink->map->nr_functions + 1, nr_nodes = folded->pairs.nr + 1;
	struct firefox firefox = {
		.folded = folded,
		.nodes = calloc(nr_nodes, sizeof(*firefox.nodes)),
		.stacks = calloc(nr_nodes, sizeof(*firefox.stacks)),
		.frames = calloc(nr_functions, sizeof(*firefox.frames)),
		.functions = calloc(nr_functions, sizeof(*firefox.functions)),
	};

	if (!firefox.nodes || !firefox.stacks || !firefox.frames || !firefox.functions)
		sink->no_memory = true;
	else if (!sink->failed)
		print_all(sink, &firefox);
	free(firefox.nodes);
	free(firefox.stacks);
	free(firefox.frames);
	free(firefox.functions);
	folded_free(folded);
}

const struct sink_ops sink_firefox = {
	.begin = folded_begin,
	.enter = folded_enter,
	.leave = folded_leave,
	.end = end,
};
