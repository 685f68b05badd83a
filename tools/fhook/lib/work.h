/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A command that runs during a recording
 *
 * There is one at a time. Between work_begin() and work_end(), a signal
 * that would end this program ends the recording instead, and is passed to the command:
 * changes in the kernel can then be undone.
 */
#ifndef FHOOK_WORK_H
#define FHOOK_WORK_H

#include <signal.h>
#include <sys/types.h>
#include "base.h"

/* Catch signals from here on. */
void work_begin(void);

/*
 * After work_begin(): let this signal end the recording only. The command does not get it, and
 * goes on.
 */
#define WORK_TRIGGER	SIGUSR2
void work_take_trigger(void);

/* Has the signal arrived? */
bool work_triggered(void);

/* Like fork(); in the child signals have their previous handlers. */
pid_t work_fork(void);

/* Start the command, unless a signal has arrived. */
int work_start(char **argv, struct fault *fault);

/* The process of the command; 0 if it has ended. */
pid_t work_pid(void);

/* A descriptor that becomes readable when the command has ended. */
int work_fd(void);

/*
 * True as long as the recording continues: the command runs, and no signal has ended it or the
 * recording.
 */
bool work_runs(void);

/* The number of signals that have arrived. */
int work_stopped(void);

/*
 * Send a line to a recorder, and receive one, without its newline: zero bytes are
 * omitted, and a line that is longer than the buffer is cut off. They fail if that takes
 * longer than LIMIT_MS (-1: no limit), and soon after a signal has arrived.
 */
int work_tell(int fd, const char *text, size_t length, int limit_ms);
int work_hear(int fd, char *line, size_t room, int limit_ms);

/*
 * Explain why one of these has failed: because of a signal, or with the given sentence;
 * returns -1.
 */
int work_failed(const char *otherwise, struct fault *fault);

/* Wait for the command, if it was started. */
void work_end(void);

/*
 * The status that a shell would report for the command NAME; if it is not 0, print it.
 * The recording is valid nevertheless.
 */
int work_status(const char *name);

/* Run a command from start to end. */
int work_run(char **argv, struct fault *fault);

#endif /* FHOOK_WORK_H */
