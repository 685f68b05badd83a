/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the instrumenters: options, refusals, and writing a file
 *
 * A named function that cannot be instrumented is a refusal, with a sentence of its own.
 * Refusals are collected; if there is any, nothing is written, unless the user has asked
 * to skip such functions. Functions that only match a glob are left out, and counted by
 * reason: every program has some. Only instrument_finish() prints, and
 * instrument_progress() in long runs.
 */
#ifndef FHOOK_INSTRUMENT_H
#define FHOOK_INSTRUMENT_H

#include "lib/base.h"
#include "lib/list.h"

struct argp_child;

/**
 * struct left_out - functions left out for the same reason
 * @why: the reason, a sentence without a full stop
 * @example: name of the first such function
 * @count: number of such functions
 */
struct left_out {
	char *why;
	char *example;
	size_t count;
};

/**
 * struct instrument - one run of an instrumenter
 * @list: functions to instrument
 * @input: path of the input file
 * @output: path of the output file; NULL for the standard output
 * @skip: continue without the refused functions
 * @binary: do not write the result to a terminal
 * @notes: sentences that concern the whole file
 * @refusals: sentences of the refusals
 * @left_out: functions left out, by reason
 * @instrumented: number of instrumented functions
 * @stubs: number of their stubs
 */
struct instrument {
	struct list list;
	const char *input;
	const char *output;
	bool skip;
	bool binary;
	char **notes;
	size_t nr_notes, room_notes;
	char **refusals;
	size_t nr_refusals, room_refusals;
	struct left_out *left_out;
	size_t nr_left_out, room_left_out;
	size_t instrumented, stubs;
};

/**
 * instrument_parse - parse the command line: -f, -F, -o, --skip, and the input
 * @run: receives the options
 * @argc: argument of main()
 * @argv: argument of main()
 * @words: names of the arguments for the help, the input first
 * @does: description of the program for the help, a sentence
 * @more: additional options, which store their values themselves; or NULL
 *
 * Ends the program if the command line is wrong.
 */
void instrument_parse(struct instrument *run, int argc, char **argv, const char *words,
		      const char *does, const struct argp_child *more);

/* Add a note, a sentence. Returns 0, or -1 and a fault if there is no memory. */
int __printf(3, 4) instrument_note(struct instrument *run, struct fault *fault,
				   const char *format, ...);

/* Record a refusal. Returns -1 if there is no memory. */
int __printf(2, 3) instrument_refuse(struct instrument *run, const char *format, ...);

/**
 * instrument_cannot - record that a function cannot be instrumented
 * @run: the run
 * @by_name: the list names the function, so it is refused; otherwise a glob matches it
 * @name: symbol of the function
 * @why: the reason, without names and addresses
 * @format: the sentence for a refusal
 *
 * Returns -1 if there is no memory.
 */
int __printf(5, 6) instrument_cannot(struct instrument *run, bool by_name, const char *name,
				     const char *why, const char *format, ...);

/* Print the progress of a long operation from time to time. */
void instrument_progress(const char *what, size_t done, size_t all);

/**
 * instrument_unmatched - refuse names of the list that no function has
 * @run: the run, whose list has been asked about all functions
 * @declared: describes a name that is not a function of the input: returns a sentence
 *	without its subject, or NULL. May be NULL itself.
 * @data: argument for @declared
 */
int instrument_unmatched(struct instrument *run,
			 const char *(*declared)(const char *name, void *data), void *data);

/* Check whether the result may be written; otherwise the fault has the reason. */
int instrument_may_write(const struct instrument *run, struct fault *fault);

/* Check, without changing anything, that instrument_write() can write a file, or NULL. */
int instrument_check(const char *path, struct fault *fault);

/**
 * instrument_write - write the result, all or nothing
 * @path: path of the file, or NULL for the standard output
 * @data: contents
 * @size: size of @data in bytes
 * @mode: permissions of the file, before applying the umask
 * @fault: receives a sentence
 */
int instrument_write(const char *path, const void *data, size_t size, unsigned int mode,
		     struct fault *fault);

/* Print all messages; returns the exit status. */
int instrument_finish(struct instrument *run, int ret, const struct fault *fault);

#endif /* FHOOK_INSTRUMENT_H */
