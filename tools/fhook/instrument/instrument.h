/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the instrumenters share: options, refusals, and writing a file
 *
 * A function that the list names and that cannot be instrumented is a refusal, with a
 * sentence of its own. They are collected; if there is one, nothing is written, unless
 * the user has said that they are to be skipped. Those that a glob matches are left out,
 * and counted by reason: every program has some. Only instrument_finish() prints, and
 * instrument_progress() where it takes long.
 */
#ifndef FHOOK_INSTRUMENT_H
#define FHOOK_INSTRUMENT_H

#include "lib/base.h"
#include "list.h"

struct argp_child;

/**
 * struct left_out - functions that are left out for one reason
 * @why: the reason, a sentence without its end
 * @example: the name of the first one
 * @count: how many there are
 */
struct left_out {
	char *why;
	char *example;
	size_t count;
};

/**
 * struct instrument - one run of an instrumenter
 * @list: the functions
 * @input: the file that is read
 * @output: the file that is written; NULL for the standard output
 * @skip: go on without what is refused
 * @binary: the result is nothing for a terminal
 * @refusals: one sentence each
 * @left_out: one for each reason
 * @instrumented: how many functions have been done
 * @stubs: how many stubs they have
 */
struct instrument {
	struct list list;
	const char *input;
	const char *output;
	bool skip;
	bool binary;
	char **refusals;
	size_t nr_refusals, room_refusals;
	struct left_out *left_out;
	size_t nr_left_out, room_left_out;
	size_t instrumented, stubs;
};

/**
 * instrument_parse - read the command line: -f, -F, -o, --skip, and the input
 * @run: receives it
 * @argc: of main()
 * @argv: of main()
 * @words: what the help calls the arguments, the input first
 * @does: what the program does, a sentence
 * @more: options of its own, which have nowhere to go but what they know; or NULL
 *
 * Ends the program where that is not understood.
 */
void instrument_parse(struct instrument *run, int argc, char **argv, const char *words,
		      const char *does, const struct argp_child *more);

/* Remember that something is not done. Returns -1 when there is no memory. */
int __printf(2, 3) instrument_refuse(struct instrument *run, const char *format, ...);

/**
 * instrument_cannot - remember that a function cannot be done
 * @run: the run
 * @by_name: the list names it: it is refused. Otherwise a glob matches it
 * @name: its symbol
 * @why: the reason, without names and addresses
 * @format: the sentence of a refusal
 *
 * Returns -1 when there is no memory.
 */
int __printf(5, 6) instrument_cannot(struct instrument *run, bool by_name, const char *name,
				     const char *why, const char *format, ...);

/* So much of something has been done: said from time to time, where it takes long. */
void instrument_progress(const char *what, size_t done, size_t all);

/**
 * instrument_unmatched - refuse what the list names and nobody has
 * @run: whose list has been asked about all functions
 * @declared: tells what is known of a name that is no function here: a sentence
 *	without its subject, or NULL. It may be NULL itself.
 * @data: for it
 */
int instrument_unmatched(struct instrument *run,
			 const char *(*declared)(const char *name, void *data), void *data);

/* May the result be written? If not, the fault says why. */
int instrument_may_write(const struct instrument *run, struct fault *fault);

/**
 * instrument_write - write the result, wholly or not at all
 * @path: the file, or NULL for the standard output
 * @data: what
 * @size: how many bytes
 * @mode: the permissions of the file, less what the umask takes
 * @fault: receives a sentence
 */
int instrument_write(const char *path, const void *data, size_t size, unsigned int mode,
		     struct fault *fault);

/* Print what there is to say; returns the exit status. */
int instrument_finish(struct instrument *run, int ret, const struct fault *fault);

#endif /* FHOOK_INSTRUMENT_H */
