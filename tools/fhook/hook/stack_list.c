// SPDX-License-Identifier: GPL-2.0
/* Calls by stack; the header describes the functions. */
#include <stdlib.h>
#include <string.h>
#include "flame.h"
#include "lib/json.h"
#include "live.h"
#include "stack_list.h"

int stack_push(struct stack *stack, const char *name, struct fault *fault)
{
	char *copy;

	if (stack->depth == STACK_FRAMES)
		return 0;
	copy = strdup(name);
	if (!copy)
		return fault_say(fault, "there is not enough memory");
	stack->frames[stack->depth++] = copy;
	return 0;
}

void stack_clear(struct stack *stack)
{
	size_t i;

	for (i = 0; i < stack->depth; i++)
		free(stack->frames[i]);
	*stack = (struct stack){ };
}

int stack_list_add(struct stack_list *list, const struct stack *stack, struct fault *fault)
{
	if (grow(&list->stacks, &list->room, list->nr, sizeof(*stack)))
		return fault_say(fault, "there is not enough memory");
	list->stacks[list->nr++] = *stack;
	return 0;
}

static int compare_frames(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;
	int result;
	size_t i;

	for (i = 0; i < x->depth && i < y->depth; i++) {
		result = strcmp(x->frames[i], y->frames[i]);
		if (result)
			return result;
	}
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static int compare_calls(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return compare_frames(a, b);
}

void stack_list_sort(struct stack_list *list)
{
	size_t i, nr = 0;

	if (!list->nr)
		return;
	qsort(list->stacks, list->nr, sizeof(*list->stacks), compare_frames);
	for (i = 0; i < list->nr; i++) {
		struct stack *stack = list->stacks + i;

		if (nr && !compare_frames(list->stacks + nr - 1, stack)) {
			list->stacks[nr - 1].calls += stack->calls;
			stack_clear(stack);
		} else {
			list->stacks[nr++] = *stack;
		}
	}
	list->nr = nr;
	qsort(list->stacks, nr, sizeof(*list->stacks), compare_calls);
}

/* One line, the outermost function first, as scripts for flame graphs take it. */
static void print_folded(const struct stack *stack)
{
	size_t i;

	for (i = stack->depth; i; i--) {
		text_print_frame(stack->frames[i - 1], stdout);
		putchar(i > 1 ? ';' : ' ');
	}
	printf("%llu\n", stack->calls);
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

void stack_list_print(const struct stack_list *list, const struct options *options)
{
	const unsigned int lines = live_lines(options, true);
	size_t i;

	for (i = 0; i < list->nr && !ferror(stdout); i++) {
		if (options->json)
			print_json(list->stacks + i);
		else if (options->folded)
			print_folded(list->stacks + i);
		else if (i < lines)
			print_stack(list->stacks + i);
	}
}

/* Flame graphs take the outermost function first. */
static int add_flame(struct flame *root, const struct stack *stack)
{
	char *reversed[STACK_FRAMES];
	size_t i;

	for (i = 0; i < stack->depth; i++)
		reversed[i] = stack->frames[stack->depth - 1 - i];
	return flame_add(root, reversed, stack->depth, stack->calls);
}

int stack_list_flame(const struct stack_list *list, const struct options *options,
		     struct fault *fault)
{
	struct flame root = { 0 };
	int result = 0;
	size_t i;

	for (i = 0; i < list->nr && !result; i++)
		result = add_flame(&root, list->stacks + i);
	if (result)
		fault_say(fault, "there is not enough memory");
	else
		result = flame_save(&root, options->functions[0], options->html, options->flame,
				    fault);
	flame_free(&root);
	return result;
}

void stack_list_free(struct stack_list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		stack_clear(list->stacks + i);
	free(list->stacks);
	*list = (struct stack_list){ };
}
