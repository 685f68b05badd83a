// SPDX-License-Identifier: GPL-2.0
/* The number that the kernel has for this process; the header describes the functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "kernel_files.h"
#include "own_task.h"

/* The inode number of the first PID namespace: PROC_PID_INIT_INO of the kernel. */
#define FIRST_NAMESPACE		0xeffffffc

/* A line of a trace begins with the name of the task, of this width, and a '-'. */
#define NAME_WIDTH		16

bool own_task_is_contained(void)
{
	struct stat status;

	if (!stat("/proc/self/ns/pid", &status))
		return status.st_ino != FIRST_NAMESPACE;
	/* A kernel without PID namespaces has the directory alone. */
	return access("/proc/self/ns", F_OK);
}

/* In another namespace's, the line has several numbers. Some kernels have no such line. */
bool own_task_has_proc(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	bool own = true;
	char line[128];
	int here, end;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "NSpid: %d%n", &here, &end) == 1)
			own = here == getpid() && line[end] == '\n';
	if (status)
		fclose(status);
	return own;
}

/* The number of the task in the line of a trace with this marker; 0 if there is none. */
static pid_t task_of(char *text, const char *marker)
{
	char *line;
	int task = 0;

	while ((line = strsep(&text, "\n")))
		if (strlen(line) > NAME_WIDTH && line[NAME_WIDTH] == '-' && strstr(line, marker))
			sscanf(line + NAME_WIDTH + 1, "%d", &task);
	return task;
}

/* The kernel writes its number of the task that writes a marker to the trace. */
int own_task_find(const char *instance, pid_t *task, struct fault *fault)
{
	char marker[96], trace[96], *text;

	*task = getpid();
	if (!own_task_is_contained())
		return 0;
	snprintf(marker, sizeof(marker), "instances/%s/trace_marker", instance);
	snprintf(trace, sizeof(trace), "instances/%s/trace", instance);
	if (kernel_file_write(marker, instance, fault))
		return -1;
	text = kernel_file_read(trace, fault);
	if (!text)
		return -1;
	*task = task_of(text, instance);
	free(text);
	if (*task <= 0)
		return fault_say(fault,
				 "the kernel's number of this process is not in its trace: run fhook outside of the container");
	return kernel_file_write(trace, "", fault);
}
