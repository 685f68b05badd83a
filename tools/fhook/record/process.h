/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests to the software recorder of a running process
 *
 * The process obeys at its next call of a function that has been compiled with
 * -finstrument-functions, so it may not obey for a long time.
 */
#ifndef FHOOK_RECORD_PROCESS_H
#define FHOOK_RECORD_PROCESS_H

#include <stdio.h>
#include <sys/types.h>
#include "control.h"

/**
 * struct process - a process with libfhook-record
 * @pid: its number
 * @address: address of its page
 * @memory: descriptor of its memory
 * @maps: its list of mappings, locked against other commands
 */
struct process {
	pid_t pid;
	u64 address;
	int memory;
	FILE *maps;
};

/*
 * Find the page, and keep other commands from writing requests to it until process_close().
 * Returns 0, or -1 and a sentence.
 */
int process_find(struct process *process, pid_t pid, struct fault *fault);
void process_close(struct process *process);

/* Read the page; -1 if the process has ended or executed another program. */
int process_read(const struct process *process, struct control *control);

/* Request that the process begins a recording, with the fields of CONTROL for that. */
int process_start(const struct process *process, const struct control *control,
		  struct fault *fault);

/*
 * Request that the process ends its recording. This replaces a request to begin one, whose
 * fields remain, because the process may be reading them.
 */
int process_stop(const struct process *process, struct fault *fault);

#endif /* FHOOK_RECORD_PROCESS_H */
