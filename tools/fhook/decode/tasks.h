/* SPDX-License-Identifier: GPL-2.0 */
/* The tasks named by context stubs: a table by their number. */
#ifndef FHOOK_TASKS_H
#define FHOOK_TASKS_H

#include "stacks.h"

/**
 * struct task - a task
 * @next: link in the table
 * @thread: its stack
 * @id: number spelled by context stubs
 * @turn: last turn that was read; -1: there are no turns
 * @until: without turns: time of the last event that was read
 * @told: a possible gap has been reported, and had not ended then
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

/*
 * Each CPU has its own task with number 0: here it has this number plus that of the
 * CPU.
 */
#define TASK_IDLE	0x1000000

struct tasks {
	struct task *slots[TASK_SLOTS];
};

struct task *tasks_find(const struct tasks *tasks, u32 id);
/* Find or create a task; NULL if there is no memory. */
struct task *tasks_get(struct tasks *tasks, u32 id);
/* The trace has ended for all tasks. */
void tasks_end(struct tasks *tasks, struct stacks *stacks);

/* Turns are counted 0, 1 ... 255, 1 ...: only a task's very first turn is 0. */
static inline int tasks_next_turn(int turn)
{
	return turn % 255 + 1;
}

#endif /* FHOOK_TASKS_H */
