// SPDX-License-Identifier: GPL-2.0
/*
 * fhook stacks: who calls functions of the kernel
 *
 * The kernel counts calls by stack, of the 16 innermost functions.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "flame.h"
#include "kernel.h"
#include "lib/json.h"
#include "live.h"
#include "session.h"
#include "words.h"

#define EVENT		"calls"
#define MOST_FRAMES	64
#define MOST_STACKS	16384

static const struct word word = {
	.name = "fhook stacks",
	.arguments = "PATTERN... [-- COMMAND...]",
	.does = "Count calls by the stack of their callers.\n"
		"\vPrints stacks, the most frequent first, with the 16 innermost functions.\n"
		"With --flame, writes a flame graph instead, for a browser.",
	.takes = "dnfFjm",
	.least = 1,
};

/**
 * struct stack - calls with the same stack
 * @calls: their number
 * @function: the hooked function
 * @frames: names of functions, the innermost first, in the text of the histogram
 * @depth: number of frames
 */
struct stack {
	u64 calls;
	char *function;
	char *frames[MOST_FRAMES];
	size_t depth;
};

/**
 * struct stacks - a run
 * @session: its event
 * @options: options of the command
 * @text: the histogram
 * @stacks: the stacks in it
 * @nr: number of stacks
 * @dropped: number of calls for which the kernel had no room
 * @flame: file for a flame graph, or NULL
 */
struct stacks {
	struct session session;
	const struct options *options;
	char *text;
	struct stack *stacks;
	size_t nr, room;
	u64 dropped;
	FILE *flame;
};

/* "{ __probe_ip: [address] function        , common_stacktrace:" */
static char *function_of(char *line)
{
	char *name = strchr(line, ']');

	if (!name)
		return line;
	name += 1 + strspn(name + 1, " ");
	name[strcspn(name, " ,")] = '\0';
	return name;
}

static char *without_offset(char *frame)
{
	frame += strspn(frame, " \t");
	frame[strcspn(frame, "+")] = '\0';
	return frame;
}

/*
 * Add a line of a stack, or its end. The stack begins with functions of the kernel's tracing,
 * whose number varies: frames above the hooked function are left out.
 */
static int add_line(struct stacks *stacks, struct stack *stack, char *line)
{
	if (!strncmp(line, "{ ", 2)) {
		stack->depth = 0;
		stack->function = function_of(line);
	} else if (isspace((unsigned char)*line) && stack->depth < MOST_FRAMES) {
		line = without_offset(line);
		if (stack->depth || !strcmp(line, stack->function))
			stack->frames[stack->depth++] = line;
	} else if (!strncmp(line, "} hitcount:", strlen("} hitcount:"))) {
		stack->calls = strtoull(line + strlen("} hitcount:"), NULL, 10);
		if (grow(&stacks->stacks, &stacks->room, stacks->nr, sizeof(*stack)))
			return -1;
		stacks->stacks[stacks->nr++] = *stack;
	} else if (!strncmp(line, "    Dropped: ", strlen("    Dropped: "))) {
		stacks->dropped = strtoull(line + strlen("    Dropped: "), NULL, 10);
	}
	return 0;
}

static int compare_calls(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	return x->calls < y->calls ? 1 : x->calls > y->calls ? -1 : 0;
}

static int read_stacks(struct stacks *stacks, struct fault *fault)
{
	struct stack stack = { 0 };
	char *rest, *line;

	stacks->text = session_get(&stacks->session, EVENT, "hist", fault);
	if (!stacks->text)
		return -1;
	for (rest = stacks->text; (line = strsep(&rest, "\n"));)
		if (add_line(stacks, &stack, line))
			return fault_say(fault, "there is not enough memory");
	if (stacks->nr)
		qsort(stacks->stacks, stacks->nr, sizeof(stack), compare_calls);
	return 0;
}

/* One line, the outermost function first, as scripts for flame graphs take it. */
static void print_folded(const struct stack *stack)
{
	size_t i;

	for (i = stack->depth; i; i--)
		printf("%s%s", stack->frames[i - 1], i > 1 ? ";" : "");
	printf(" %llu\n", stack->calls);
}

static void print_json(const struct stack *stack)
{
	size_t i;

	printf("{\"calls\":%llu,\"stack\":[", stack->calls);
	for (i = 0; i < stack->depth; i++) {
		fputs(i ? "," : "", stdout);
		json_string(stdout, stack->frames[i]);
	}
	puts("]}");
}

static void print_stack(const struct stack *stack)
{
	size_t i;

	printf("%12llu calls\n", stack->calls);
	for (i = 0; i < stack->depth; i++)
		printf("              %s\n", stack->frames[i]);
}

static void print_all(const struct stacks *stacks)
{
	const struct options *options = stacks->options;
	const unsigned int lines = live_lines(options);
	size_t i;

	for (i = 0; i < stacks->nr && !ferror(stdout); i++) {
		if (options->json)
			print_json(stacks->stacks + i);
		else if (options->folded)
			print_folded(stacks->stacks + i);
		else if (i < lines)
			print_stack(stacks->stacks + i);
	}
}

static void reverse(struct stack *stack)
{
	size_t i;
	char *frame;

	for (i = 0; i < stack->depth / 2; i++) {
		frame = stack->frames[i];
		stack->frames[i] = stack->frames[stack->depth - 1 - i];
		stack->frames[stack->depth - 1 - i] = frame;
	}
}

static int write_flame(struct stacks *stacks, struct fault *fault)
{
	struct flame root = { 0 };
	int result = 0;
	size_t i;

	for (i = 0; i < stacks->nr && !result; i++) {
		reverse(stacks->stacks + i);
		result = flame_add(&root, stacks->stacks[i].frames, stacks->stacks[i].depth,
				   stacks->stacks[i].calls);
	}
	if (result)
		fault_say(fault, "there is not enough memory");
	else
		flame_write(&root, stacks->options->functions[0], stacks->flame);
	flame_free(&root);
	if (!result && (fflush(stacks->flame) || ferror(stacks->flame)))
		result = fault_say(fault, "%s: %s", stacks->options->flame, strerror(errno));
	return result;
}

static int show(void *data, bool last, struct fault *fault)
{
	struct stacks *stacks = data;

	if (!last)
		return 0;
	if (read_stacks(stacks, fault))
		return -1;
	live_dropped(stacks->dropped);
	if (stacks->flame)
		return write_flame(stacks, fault);
	print_all(stacks);
	return 0;
}

static int open_all(void *data, struct options *options, struct fault *fault)
{
	struct stacks *stacks = data;
	char trigger[96];
	size_t functions;

	stacks->options = options;
	if (options->flame) {
		stacks->flame = fopen(options->flame, "we");
		if (!stacks->flame)
			return fault_say(fault, "%s: %s", options->flame, strerror(errno));
	}
	snprintf(trigger, sizeof(trigger),
		 "hist:keys=__probe_ip.sym,common_stacktrace:size=%u if common_pid != %d",
		 MOST_STACKS, getpid());
	return session_begin(&stacks->session, options->mainline, "fhook_events", fault) ||
	       kernel_define(&stacks->session, EVENT, options->functions, options->nr_functions, "",
			     &functions, fault) ||
	       session_set(&stacks->session, EVENT, "trigger", trigger, fault) ? -1 : 0;
}

static void close_all(void *data)
{
	struct stacks *stacks = data;

	session_end(&stacks->session);
	if (stacks->flame)
		fclose(stacks->flame);
	free(stacks->stacks);
	free(stacks->text);
}

int hook_stacks(int argc, char **argv, struct fault *fault)
{
	struct stacks stacks = { .session.lock = -1 };
	const struct live live = {
		.word = &word, .open = open_all, .show = show, .close = close_all,
		.data = &stacks,
	};

	return live_run(&live, argc, argv, fault);
}
