// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of functions of programs by stack; the header describes the functions.
 *
 * The kernel follows frame pointers. At its entry, a function has no frame yet, so that the
 * frame pointer leads to the caller of its caller: the address to which it returns is
 * recorded as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/own_task.h"
#include "lib/work.h"
#include "progress.h"
#include "user_stacks.h"

#define CALLER	"caller"
#define STACK	"ustacktrace.stacktrace"

/* Functions that cannot be hooked are left out if there are others. */
static int define_all(const struct program *program, const struct session *session,
		      const char *name, pid_t pid, struct fault *fault)
{
	struct left_out left_out = { 0 };
	struct progress progress;
	char only[24] = "";
	int result = 0;
	size_t i;

	if (pid)
		snprintf(only, sizeof(only), " pid=%d", pid);
	progress_begin(&progress, program->path, program->nr);
	for (i = 0; i < program->nr; i++) {
		result = progress_step(&progress, fault);
		if (result)
			break;
		/* The address to which it returns is at hand at the entry of a function only. */
		if (program_check_function(program->functions + i, fault) ||
		    session_define(session, fault, program_events(session),
				   program_letter(session, false), name,
				   "%s:0x%llx%s stack=user " CALLER "=%s", program->path,
				   program->functions[i].offset, only,
				   program_return_address(program)))
			program_leave_out(&left_out, fault);
	}
	progress_end(&progress);
	return result ? -1 : program_report(program, &left_out, fault);
}

int user_stacks_open(struct user_stacks *stacks, const struct session *session,
		     const char *name, const struct options *options, unsigned int most,
		     struct fault *fault)
{
	char trigger[160];

	if (session->mainline)
		return session_refuse(session, "fhook stacks -p", fault);
	/* Numbers of tasks in perf's records are those of the namespace, others the kernel's. */
	if (own_task_is_contained())
		return fault_say(fault,
				 "stacks of programs are not known in a PID namespace: run fhook stacks -p outside of the container");
	snprintf(trigger, sizeof(trigger),
		 "hist:keys=common_pid," CALLER ".hex," STACK ":size=%u if common_pid != %d", most,
		 session->task);
	return program_select(&stacks->program, options->program, options->functions,
			      options->nr_functions, fault) ||
	       program_check_machine(&stacks->program, fault) ||
	       define_all(&stacks->program, session, name, options->pid, fault) ||
	       task_events_open(&stacks->events, &stacks->tasks, fault) ||
	       session_add_up(session, name, trigger, fault) ? -1 : 0;
}

int user_stacks_follow(struct user_stacks *stacks, struct fault *fault)
{
	return task_events_read(&stacks->events, fault);
}

/*
 * The frame pointer of a function that was compiled without one is any value, and leads to
 * addresses without code.
 */
static bool is_end(const struct user_stacks *stacks, const struct stack *stack, pid_t thread,
		   u64 address)
{
	return stack->depth && !tasks_has_code(&stacks->tasks, thread, address);
}

static int push(struct user_stacks *stacks, struct stack *stack, pid_t thread, u64 address,
		struct fault *fault)
{
	char *name = tasks_symbol(&stacks->tasks, thread, address, stack->depth);
	const int result = name ? stack_push(stack, name, fault) :
				  fault_say(fault, "there is not enough memory");

	free(name);
	return result;
}

/*
 * An entry begins with "{ common_pid: PID, caller: ADDRESS, ustacktrace.stacktrace ADDRESS", and
 * has a line for each further address.
 */
static int add_entry(struct user_stacks *stacks, struct stack_list *list, char *text,
		     u64 calls, struct fault *fault)
{
	struct stack stack = { .calls = calls };
	unsigned long long caller, address;
	int thread, at = 0, result = 0;
	char *end;

	if (sscanf(text, " common_pid: %d, " CALLER ": %llx, " STACK " %n", &thread, &caller,
		   &at) < 2 || !at)
		return fault_say(fault, "the kernel's histogram is not understood: %.60s", text);
	stacks->reused += tasks_is_reused(&stacks->tasks, thread);
	for (text += at; !result; text = end) {
		address = strtoull(text, &end, 16);
		if (end == text || is_end(stacks, &stack, thread, address))
			break;
		result = push(stacks, &stack, thread, address, fault);
		if (!result && stack.depth == 1 && caller)
			result = push(stacks, &stack, thread, caller, fault);
	}
	if (!result)
		result = stack_list_add(list, &stack, fault);
	if (result)
		stack_clear(&stack);
	return result;
}

int user_stacks_read(struct user_stacks *stacks, char *text, struct stack_list *list,
		     struct fault *fault)
{
	static const char mark[] = "} hitcount:";
	const int signals = work_stopped();
	char *end;

	if (user_stacks_follow(stacks, fault))
		return -1;
	/* Another signal ends the output. */
	while (work_stopped() == signals && (text = strstr(text, "\n{ ")) &&
	       (end = strstr(text, mark))) {
		*end = '\0';
		end += strlen(mark);
		if (add_entry(stacks, list, text + strlen("\n{ "), strtoull(end, NULL, 10), fault))
			return -1;
		text = end;
	}
	task_events_warn(&stacks->events);
	if (stacks->reused)
		fprintf(stderr,
			"fhook: %zu stacks may have wrong names: several processes had the same number.\n",
			stacks->reused);
	return 0;
}

void user_stacks_close(struct user_stacks *stacks)
{
	task_events_close(&stacks->events);
	tasks_free(&stacks->tasks);
	program_free(&stacks->program);
}
