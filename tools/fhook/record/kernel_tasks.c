// SPDX-License-Identifier: GPL-2.0
/* The names and processes of the kernel's tasks; the header describes the function. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel_tasks.h"
#include "lib/kernel_files.h"

/* The next line of a file: the number of a task, and the text after it. NULL at the end. */
static char *next_line(char **rest, u32 *tid)
{
	char *line, *end;

	while ((line = strsep(rest, "\n"))) {
		*tid = strtoul(line, &end, 10);
		if (end > line && *end == ' ')
			return end + 1;
	}
	return NULL;
}

static int add_processes(struct recording *recording)
{
	struct fault ignored;
	char *text = kernel_file_read("saved_tgids", &ignored), *rest = text, *pid;
	int result = 0;
	u32 tid;

	while (!result && (pid = next_line(&rest, &tid)))
		result = recording_add_task(recording, tid, strtoul(pid, NULL, 10), "");
	free(text);
	return result;
}

/* The process of a task among the first NR lines; its own number if it is not there. */
static u32 process_of(const struct recording *recording, size_t nr, u32 tid)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (recording->tasks[i].tid == tid)
			return recording->tasks[i].pid;
	return tid;
}

int kernel_tasks_add(struct recording *recording)
{
	struct fault ignored;
	char *text, *rest, *name;
	int result = add_processes(recording);
	const size_t nr = recording->nr_tasks;
	u32 tid;

	text = kernel_file_read("saved_cmdlines", &ignored);
	rest = text;
	while (!result && (name = next_line(&rest, &tid)))
		result = recording_add_task(recording, tid, process_of(recording, nr, tid), name);
	free(text);
	return result;
}
