// SPDX-License-Identifier: GPL-2.0
/* The tasks named by context stubs: a table by their number. */
#include <stdlib.h>
#include "tasks.h"

struct task *tasks_find(const struct tasks *tasks, u32 id)
{
	struct task *task = tasks->slots[id % TASK_SLOTS];

	while (task && task->id != id)
		task = task->next;
	return task;
}

struct task *tasks_get(struct tasks *tasks, u32 id)
{
	struct task *task = tasks_find(tasks, id);

	if (task)
		return task;
	task = calloc(1, sizeof(*task));
	if (!task)
		return NULL;
	task->id = id;
	task->turn = -1;
	task->next = tasks->slots[id % TASK_SLOTS];
	tasks->slots[id % TASK_SLOTS] = task;
	return task;
}

void tasks_end(struct tasks *tasks, struct stacks *stacks)
{
	struct task *task, *next;
	unsigned int slot;

	for (slot = 0; slot < TASK_SLOTS; slot++)
		for (task = tasks->slots[slot]; task; task = next) {
			next = task->next;
			if (task->thread)
				stacks_end_thread(stacks, task->thread);
			free(task);
		}
}
