// SPDX-License-Identifier: GPL-2.0
/* The arguments of fhook calltrace print; the header describes them. */
#include <argp.h>
#include <string.h>
#include "options.h"

enum {
	KEY_FIRST = 256,
	KEY_THREAD = 't',
	KEY_OBJECT = 'o',
	KEY_MAP = 'm',
	KEY_FUNCTION = 'F',
	KEY_CALLEES = 1000,
	KEY_CALLERS,
	KEY_DEPTH,
	KEY_FROM,
	KEY_TO,
	KEY_LONGER,
	KEY_CHILDREN,
	KEY_MANGLED,
	KEY_LINES,
};

/**
 * struct output - a kind of output
 * @name: name of its option
 * @ops: the sink
 * @brief: help for the option
 * @no_lines: it has no source lines
 */
struct output {
	const char *name;
	const struct sink_ops *ops;
	const char *brief;
	bool no_lines;
};

/* The first is the default. */
static const struct output outputs[] = {
	{ "tree", &sink_tree, "Calls as an indented text (the default)" },
	{ "flat", &sink_flat, "Calls and time of each function" },
	{ "folded", &sink_folded, "Time of each stack, for flame graphs", true },
	{ "speedscope", &sink_speedscope, "Time of each stack, for speedscope" },
	{ "firefox", &sink_firefox, "Time of each stack, for Firefox Profiler" },
	{ "graph", &sink_graph, "Callers and callees of each function" },
	{ "dot", &sink_dot, "The same, in the language of graphviz", true },
	{ "callgrind", &sink_callgrind, "The same, for KCachegrind and callgrind_annotate" },
	{ "json", &sink_json, "Chrome's trace format, for Perfetto" },
	{ "summary", &sink_summary, "Events, bytes, gaps, threads", true },
	{ "events", &sink_events, "Each event as it was recorded", true },
};

#define OUTPUTS		ARRAY_SIZE(outputs)

static const struct argp_option selections[] = {
	{ "thread", KEY_THREAD, "NUMBER", 0, "Only this thread or task", 2 },
	{ "function", KEY_FUNCTION, "PATTERN", 0,
	  "Only calls of these functions: a name, a glob, or one of them after '!', which excludes; may be given several times",
	  2 },
	{ "callees", KEY_CALLEES, "PATTERN", 0, "Only calls of these functions, and within them",
	  2 },
	{ "callers", KEY_CALLERS, "PATTERN", 0, "Only calls that lead to these functions", 2 },
	{ "depth", KEY_DEPTH, "NUMBER", 0,
	  "Only the outermost calls, this many in each other; 0 for all (default in the tree: 64)",
	  2 },
	{ "from", KEY_FROM, "NUMBER", 0,
	  "Only calls that are not over before this time or event, as the tree counts them", 2 },
	{ "to", KEY_TO, "NUMBER", 0, "Only calls that have begun until this time or event", 2 },
	{ "longer", KEY_LONGER, "TIME", 0,
	  "Only calls that last this long, in ns, us, ms or s, as in 1.5ms", 2 },
	{ "children", KEY_CHILDREN, NULL, 0, "Print the recordings of children, too", 2 },
	{ "object", KEY_OBJECT, "FILE", 0,
	  "Refuse a recording that is of another build than this file", 3 },
	{ "map", KEY_MAP, "FILE", 0,
	  "Use this map instead of the recording's; may be given for several", 3 },
	{ "lines", KEY_LINES, "FILE", 0,
	  "Print the source lines of functions, from this program's debug information; may be given for several",
	  3 },
	{ "mangled", KEY_MANGLED, NULL, 0, "Print names of C++ and Rust as their symbols are", 3 },
};

/* Options of which the last one would replace the others. */
static const struct {
	int key;
	const char *name;
} once[] = {
	{ KEY_THREAD, "thread" }, { KEY_DEPTH, "depth" }, { KEY_FROM, "from" }, { KEY_TO, "to" },
	{ KEY_LONGER, "longer" }, { KEY_OBJECT, "object" },
};

static void check_once(int key, struct argp_state *state)
{
	struct print_options *options = state->input;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(once); i++) {
		if (once[i].key != key)
			continue;
		if (options->given & 1U << i)
			argp_error(state, "--%s is given twice: give it once", once[i].name);
		options->given |= 1U << i;
	}
}

static void add_pattern(struct list *list, const char *pattern, struct argp_state *state)
{
	struct fault fault;

	if (list_add(list, pattern, &fault))
		argp_error(state, "%s", fault.text);
}

static error_t parse_choice(int key, char *word, struct argp_state *state)
{
	struct print_options *options = state->input;
	u64 number;

	switch (key) {
	case KEY_FUNCTION:
		add_pattern(&options->choice.functions, word, state);
		return 0;
	case KEY_CALLEES:
		add_pattern(&options->choice.callees, word, state);
		return 0;
	case KEY_CALLERS:
		add_pattern(&options->choice.callers, word, state);
		return 0;
	case KEY_DEPTH:
		if (word_number(word, 10, 0xffffffff, &options->choice.depth))
			argp_error(state, "'%s' is no depth", word);
		options->has_depth = true;
		return 0;
	case KEY_FROM:
	case KEY_TO:
		if (word_number(word, 10, ~0ULL, &number) || !number)
			argp_error(state, "'%s' is no time of the tree's first column", word);
		*(key == KEY_FROM ? &options->choice.from : &options->choice.to) = number;
		return 0;
	case KEY_LONGER:
		if (word_time(word, &options->choice.longer))
			argp_error(state,
				   "'%s' is no time: it has a unit, ns, us, ms or s, as in 1.5ms",
				   word);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *word, struct argp_state *state)
{
	struct print_options *options = state->input;
	struct fault fault;
	u64 number;

	check_once(key, state);
	if (key >= KEY_FIRST && key < KEY_FIRST + (int)OUTPUTS) {
		if (options->ops && options->ops != outputs[key - KEY_FIRST].ops)
			options->other = outputs[key - KEY_FIRST].ops;
		else
			options->ops = outputs[key - KEY_FIRST].ops;
		return 0;
	}
	switch (key) {
	case KEY_THREAD:
		if (word_number(word, 10, 0x7fffffff, &number))
			argp_error(state, "'%s' is no number of a thread", word);
		options->thread = number;
		return 0;
	case KEY_OBJECT:
		options->object = word;
		return 0;
	case KEY_MAP:
		if (options->nr_maps == PRINT_MAPS)
			argp_error(state, "%u maps are the most", PRINT_MAPS);
		options->maps[options->nr_maps++] = word;
		return 0;
	case KEY_LINES:
		if (options->nr_files == PRINT_FILES)
			argp_error(state, "%u files are the most", PRINT_FILES);
		options->files[options->nr_files++] = word;
		return 0;
	case KEY_CHILDREN:
		options->children = true;
		return 0;
	case KEY_MANGLED:
		options->mangled = true;
		return 0;
	case ARGP_KEY_ARG:
		if (directories_add(&options->directories, word, &fault))
			argp_failure(state, 1, 0, "%s", fault.text);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return parse_choice(key, word, state);
	}
}

static const char *output_name(const struct sink_ops *ops)
{
	unsigned int i = 0;

	while (outputs[i].ops != ops)
		i++;
	return outputs[i].name;
}

static int check_output(struct print_options *options, struct fault *fault)
{
	if (options->other)
		return fault_say(fault,
				 "--%s and --%s are two outputs: give one of them, and print once for each",
				 output_name(options->ops), output_name(options->other));
	options->ops = options->ops ?: outputs[0].ops;
	return 0;
}

/* Outputs that are not of calls cannot show only some of them. */
static int check_choice(const struct print_options *options, struct fault *fault)
{
	const struct filter_choice *choice = &options->choice;
	const bool calls = choice->callees.nr_patterns || choice->callers.nr_patterns ||
			   options->has_depth || choice->longer;
	const bool events = choice->functions.nr_patterns || choice->from || choice->to;

	if (choice->to && choice->from > choice->to)
		return fault_say(fault, "--from %llu is after --to %llu: exchange them",
				 choice->from, choice->to);
	if (options->ops == &sink_summary && (calls || events))
		return fault_say(fault,
				 "--summary is about the whole recording: it takes no filter but --thread");
	if (options->ops == &sink_events && calls)
		return fault_say(fault,
				 "--events is not about calls: it takes no --callees, --callers, --depth or --longer");
	return 0;
}

/* An output that has no lines cannot print those that were asked for. */
static int check_lines(const struct print_options *options, struct fault *fault)
{
	unsigned int i;

	for (i = 0; options->nr_files && i < OUTPUTS; i++)
		if (outputs[i].ops == options->ops && outputs[i].no_lines)
			return fault_say(fault,
					 "--%s has no source lines: leave out --lines, or choose another output",
					 outputs[i].name);
	return 0;
}

int print_options_parse(struct print_options *options, int argc, char **argv, struct fault *fault)
{
	struct argp_option all[OUTPUTS + ARRAY_SIZE(selections) + 1] = { 0 };
	const struct argp argp = {
		.options = all,
		.parser = parse,
		.args_doc = "DIRECTORY...",
		.doc = "Print the calls of recordings, as of a program and its children.",
	};
	unsigned int i;
	size_t given;

	for (i = 0; i < OUTPUTS; i++)
		all[i] = (struct argp_option){
			.name = outputs[i].name, .key = KEY_FIRST + i, .doc = outputs[i].brief,
			.group = 1,
		};
	memcpy(all + OUTPUTS, selections, sizeof(selections));
	*options = (struct print_options){ .thread = -1 };
	argv[0] = "fhook calltrace print";
	argp_parse(&argp, argc, argv, 0, NULL, options);
	if (check_output(options, fault))
		return -1;
	given = options->directories.nr;
	for (i = 0; options->children && i < given; i++)
		if (directories_add_children(&options->directories, options->directories.names[i],
					     fault))
			return -1;
	return check_choice(options, fault) ?: check_lines(options, fault);
}

void print_options_free(struct print_options *options)
{
	directories_free(&options->directories);
	list_free(&options->choice.functions);
	list_free(&options->choice.callees);
	list_free(&options->choice.callers);
}
