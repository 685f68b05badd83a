/* SPDX-License-Identifier: GPL-2.0 */
/* Calls by stack, and their outputs */
#ifndef FHOOK_HOOK_STACK_LIST_H
#define FHOOK_HOOK_STACK_LIST_H

#include <stdio.h>
#include "options.h"

#define STACK_FRAMES	64

/**
 * struct stack - calls with the same stack
 * @calls: their number
 * @frames: names of functions, the innermost first
 * @depth: number of frames
 */
struct stack {
	u64 calls;
	char *frames[STACK_FRAMES];
	size_t depth;
};

/**
 * struct stack_list - all calls
 * @stacks: stacks
 * @nr: number of stacks
 */
struct stack_list {
	struct stack *stacks;
	size_t nr, room;
};

/* Add a copy of a name as the next outer frame; left out if there is no room for more frames. */
int stack_push(struct stack *stack, const char *name, struct fault *fault);
void stack_clear(struct stack *stack);

/* Add a stack, whose names then belong to the list. */
int stack_list_add(struct stack_list *list, const struct stack *stack, struct fault *fault);

/* Unite equal stacks, and put the most frequent first. */
void stack_list_sort(struct stack_list *list);

/* Print the stacks as the options say. */
void stack_list_print(const struct stack_list *list, const struct options *options);

/* Write a flame graph to the file of the options. */
int stack_list_flame(const struct stack_list *list, const struct options *options,
		     struct fault *fault);
void stack_list_free(struct stack_list *list);

#endif /* FHOOK_HOOK_STACK_LIST_H */
