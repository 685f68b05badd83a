/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A command that is run while something is recorded
 *
 * There is one at a time. From record_work_begin() to record_work_end() a signal that
 * would end this program ends the recording instead, and the command gets it as well:
 * so what was changed in the kernel can be put back.
 */
#ifndef FHOOK_RECORD_WORK_H
#define FHOOK_RECORD_WORK_H

#include <sys/types.h>
#include "lib/base.h"

/* From here on signals are caught. */
void record_work_begin(void);

/* As fork(); in the child signals are as they were. */
pid_t record_work_fork(void);

/* Start the command; nothing is started when a signal has come. */
int record_work_start(char **argv, struct fault *fault);

/* What becomes readable when the command has ended. */
int record_work_fd(void);

/* True while the recording is to go on: the command runs, and no signal has come. */
bool record_work_runs(void);

/*
 * Tell another one that records something, and hear a line of it, without its end: bytes
 * of 0 are left out, and what is longer than there is room for is cut. They fail if that
 * takes longer than LIMIT_MS (-1: any time), and soon when a signal has come.
 */
int record_work_tell(int fd, const char *text, size_t length, int limit_ms);
int record_work_hear(int fd, char *line, size_t room, int limit_ms);

/* Say why one of these has failed: for a signal, or as is said here; returns -1. */
int record_work_failed(const char *otherwise, struct fault *fault);

/* Wait for the command if it was started. */
void record_work_end(void);

/*
 * The status that a shell would have of the command, which is called NAME; where that is
 * not 0 it is said. Then it has been recorded all the same.
 */
int record_work_status(const char *name);

/* All of it: run a command to its end, however that is. */
int record_work_run(char **argv, struct fault *fault);

#endif /* FHOOK_RECORD_WORK_H */
