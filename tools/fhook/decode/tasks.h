/* SPDX-License-Identifier: GPL-2.0 */
/* The tasks that context stubs have named: a table by their number. */
#ifndef FHOOK_TASKS_H
#define FHOOK_TASKS_H

#include "stacks.h"

/**
 * struct task - one of them
 * @next: in the table
 * @thread: its stack
 * @id: the number that context stubs spell
 * @turn: the last one that was read; -1: turns are not said
 * @until: where they are not: the time of the last event that was read
 * @told: it was said that something may be missing of it, and that was not over then
 */
struct task {
	struct task *next;
	struct thread *thread;
	u32 id;
	int turn;
	u64 until;
	bool told;
};

#define TASK_SLOTS	32768

/* Each CPU has a task of number 0, which stays there: here it is this, plus the CPU. */
#define TASK_IDLE	0x1000000

struct tasks {
	struct task *slots[TASK_SLOTS];
};

struct task *tasks_find(const struct tasks *tasks, u32 id);
/* Make it when it is new; NULL when there is no memory. */
struct task *tasks_get(struct tasks *tasks, u32 id);
/* The trace has ended for all of them. */
void tasks_end(struct tasks *tasks, struct stacks *stacks);

/* Turns are counted 0, 1 ... 255, 1 ...: only the first one of all is 0. */
static inline int tasks_next_turn(int turn)
{
	return turn % 255 + 1;
}

#endif /* FHOOK_TASKS_H */
