/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Words that hook functions until the end of a time, of a command, or Ctrl-C
 */
#ifndef FHOOK_HOOK_LIVE_H
#define FHOOK_HOOK_LIVE_H

#include "options.h"

/**
 * struct live - a word, and its callbacks, which return 0, or -1 and a sentence
 * @word: the word
 * @open: hook the functions; may change the options, which stay until @close
 * @show: print, after an interval or at the end
 * @input: read from @fd when it is ready, or NULL; may also return 1, which ends the run
 * @close: remove the hooks; called in any case
 * @fd: descriptor to read from, set by @open, or NULL
 * @data: passed to the callbacks
 */
struct live {
	const struct word *word;
	int (*open)(void *data, struct options *options, struct fault *fault);
	int (*show)(void *data, bool last, struct fault *fault);
	int (*input)(void *data, struct fault *fault);
	void (*close)(void *data);
	const int *fd;
	void *data;
};

/* Run a word. Returns the exit status, that of the command if there is one; or -1. */
int live_run(const struct live *live, int argc, char **argv, struct fault *fault);

/* Is the output a terminal on which tables are drawn in place? */
bool live_terminal(const struct options *options);

/* The number of lines that the options want, or that fit if the table is drawn in place. */
unsigned int live_lines(const struct options *options, bool last);

/* Say how many rows there are, if some are not shown. */
void live_more(const struct options *options, unsigned int shown, unsigned int all);

/*
 * Print the first line of a table, without newline: reversed on a terminal, unless the
 * environment has NO_COLOR, or TERM=dumb.
 */
void __printf(1, 2) live_header(const char *format, ...);

/*
 * Print a line of a table. Where tables are drawn in place, it is cut off at the width of the
 * terminal: lines that go on in the next one would push the first lines out.
 */
void __printf(2, 3) live_line(const struct options *options, const char *format, ...);

/*
 * Write a time with three digits and its unit, from 1000 seconds on with all digits of the
 * seconds. Returns the text.
 */
const char *live_time(u64 ns, char text[16]);

/* Begin to draw anew. */
void live_clear(void);

/* Warn if the kernel had no room for some calls. */
void live_dropped(u64 calls);

#endif /* FHOOK_HOOK_LIVE_H */
