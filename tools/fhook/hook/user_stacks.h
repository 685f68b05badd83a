/* SPDX-License-Identifier: GPL-2.0 */
/* Calls of functions of programs by stack, which the kernel counts */
#ifndef FHOOK_HOOK_USER_STACKS_H
#define FHOOK_HOOK_USER_STACKS_H

#include "program.h"
#include "stack_list.h"
#include "task_events.h"

/**
 * struct user_stacks - hooked functions of a program
 * @program: the functions
 * @tasks: what is mapped at the addresses of stacks
 * @events: changes of @tasks; its descriptor is -1 before user_stacks_open()
 * @reused: number of stacks of tasks whose number was used again
 */
struct user_stacks {
	struct program program;
	struct tasks tasks;
	struct task_events events;
	size_t reused;
};

/*
 * Define the event NAME on the functions of the options, and let the kernel count its hits by
 * stack, of which it has room for MOST. user_stacks_close() may be called in any case.
 */
int user_stacks_open(struct user_stacks *stacks, const struct session *session,
		     const char *name, const struct options *options, unsigned int most,
		     struct fault *fault);

/* Remember which code was mapped since the last call. */
int user_stacks_follow(struct user_stacks *stacks, struct fault *fault);

/* Add the calls of a histogram, which is changed. */
int user_stacks_read(struct user_stacks *stacks, char *text, struct stack_list *list,
		     struct fault *fault);
void user_stacks_close(struct user_stacks *stacks);

#endif /* FHOOK_HOOK_USER_STACKS_H */
