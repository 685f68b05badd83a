/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Running until the end of a time, of a command, or Ctrl-C
 */
#ifndef FHOOK_HOOK_LIVE_H
#define FHOOK_HOOK_LIVE_H

#include "options.h"

/**
 * struct live - callbacks of a run; each returns 0, or -1 and a sentence, which ends it
 * @show: print, after an interval or at the end
 * @input: read from @fd, or NULL
 * @fd: descriptor to read from when it is ready
 * @data: passed to the callbacks
 */
struct live {
	int (*show)(void *data, bool last, struct fault *fault);
	int (*input)(void *data, struct fault *fault);
	int fd;
	void *data;
};

/*
 * Run the command of the options, or wait. To be called between work_begin() and live_end(),
 * which waits for the command, and returns RESULT or, if that is 0, the command's status.
 */
int live_run(const struct live *live, const struct options *options, struct fault *fault);
int live_end(const struct options *options, int result);

/* Is the output a terminal on which tables are drawn in place? */
bool live_terminal(const struct options *options);

/* The number of lines of a table that fit, or all that the options want. */
unsigned int live_lines(const struct options *options);

/* Begin to draw anew. */
void live_clear(void);

#endif /* FHOOK_HOOK_LIVE_H */
