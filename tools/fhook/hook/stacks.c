// SPDX-License-Identifier: GPL-2.0
/*
 * fhook stacks: who calls functions of the kernel or of a program
 *
 * The kernel counts calls by stack, of the 16 innermost functions.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "flame.h"
#include "kernel.h"
#include "live.h"
#include "session.h"
#include "stack_list.h"
#include "user_stacks.h"
#include "words.h"

#define EVENT		"calls"
#define MOST_STACKS	16384

static const struct word word = {
	.name = "fhook stacks",
	.arguments = "PATTERN... [-- COMMAND...]",
	.does = "Count calls by the stack of their callers.\n"
		"\vPrints stacks, the most frequent first, with the 16 innermost functions.\n"
		"With --flame, writes a flame graph instead, for a browser.\n"
		"Stacks of programs need frame pointers: compile with -fno-omit-frame-pointer.",
	.takes = "pdnfFjm",
	.least = 1,
};

/**
 * struct stacks - a run
 * @session: its event
 * @options: options of the command
 * @user: functions of a program, if they are hooked
 * @list: the stacks
 */
struct stacks {
	struct session session;
	const struct options *options;
	struct user_stacks user;
	struct stack_list list;
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
 * Add a line of a stack of the kernel. The stack begins with functions of the kernel's tracing,
 * whose number varies: frames above the hooked function are left out.
 */
static int add_line(struct stack_list *list, struct stack *stack, const char **function,
		    char *line, struct fault *fault)
{
	if (!strncmp(line, "{ ", 2)) {
		*function = function_of(line);
	} else if (isspace((unsigned char)*line)) {
		line = without_offset(line);
		if (stack->depth || !strcmp(line, *function))
			return stack_push(stack, line, fault);
	} else if (!strncmp(line, "} hitcount:", strlen("} hitcount:"))) {
		stack->calls = strtoull(line + strlen("} hitcount:"), NULL, 10);
		if (stack_list_add(list, stack, fault))
			return -1;
		*stack = (struct stack){ };
	}
	return 0;
}

static int read_kernel(struct stack_list *list, char *text, struct fault *fault)
{
	const char *function = "";
	struct stack stack = { };
	int result = 0;
	char *line;

	while (!result && (line = strsep(&text, "\n")))
		result = add_line(list, &stack, &function, line, fault);
	stack_clear(&stack);
	return result;
}

static int read_stacks(struct stacks *stacks, struct fault *fault)
{
	char *text = session_get(&stacks->session, EVENT, "hist", fault), *dropped;
	int result;

	if (!text)
		return -1;
	dropped = strstr(text, "\n    Dropped: ");
	if (dropped)
		live_dropped(strtoull(dropped + strlen("\n    Dropped: "), NULL, 10));
	result = stacks->options->program ?
		 user_stacks_read(&stacks->user, text, &stacks->list, fault) :
		 read_kernel(&stacks->list, text, fault);
	free(text);
	stack_list_sort(&stacks->list);
	return result;
}

static int show(void *data, bool last, struct fault *fault)
{
	struct stacks *stacks = data;

	if (!last)
		return 0;
	if (read_stacks(stacks, fault))
		return -1;
	if (stacks->options->flame)
		return stack_list_flame(&stacks->list, stacks->options, fault);
	stack_list_print(&stacks->list, stacks->options);
	return 0;
}

static int open_kernel(struct stacks *stacks, const struct options *options, struct fault *fault)
{
	char trigger[96];
	size_t functions;

	snprintf(trigger, sizeof(trigger),
		 "hist:keys=__probe_ip.sym,common_stacktrace:size=%u if common_pid != %d",
		 MOST_STACKS, stacks->session.task);
	return kernel_define(&stacks->session, EVENT, options->functions, options->nr_functions, "",
			     &functions, fault) ||
	       session_add_up(&stacks->session, EVENT, trigger, fault) ? -1 : 0;
}

static int open_all(void *data, struct options *options, struct fault *fault)
{
	struct stacks *stacks = data;
	int result;

	stacks->options = options;
	if (session_begin(&stacks->session, options->mainline,
			  options->program ? "uhook_events" : "fhook_events", fault))
		return -1;
	if (options->program)
		result = user_stacks_open(&stacks->user, &stacks->session, EVENT, options,
					  MOST_STACKS, fault);
	else
		result = open_kernel(stacks, options, fault);
	return result || !options->flame ? result : flame_check(options->flame, fault);
}

static int follow(void *data, struct fault *fault)
{
	struct stacks *stacks = data;

	return user_stacks_follow(&stacks->user, fault);
}

static void close_all(void *data)
{
	struct stacks *stacks = data;

	session_end(&stacks->session);
	stack_list_free(&stacks->list);
	user_stacks_close(&stacks->user);
}

int hook_stacks(int argc, char **argv, struct fault *fault)
{
	struct stacks stacks = { .session.lock = -1, .user.events.fd = -1 };
	const struct live live = {
		.word = &word, .open = open_all, .show = show, .input = follow,
		.close = close_all, .fd = &stacks.user.events.fd, .data = &stacks,
	};

	return live_run(&live, argc, argv, fault);
}
