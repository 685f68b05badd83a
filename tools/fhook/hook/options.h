/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options that several words of fhook share
 *
 * A word lists the options that it takes; all have the same meaning everywhere. Arguments
 * after "--" are a command, during whose run functions are hooked.
 */
#ifndef FHOOK_HOOK_OPTIONS_H
#define FHOOK_HOOK_OPTIONS_H

#include <sys/types.h>
#include "lib/base.h"

/**
 * struct options - arguments of a word
 * @functions: functions to hook
 * @command: command to run, or NULL
 * @program: file of a program or library, or NULL for the kernel
 * @pid: the process to which hooks in programs are limited, or 0
 * @interval: seconds between two outputs, 0 for one at the end
 * @duration: seconds to run, 0 for no limit
 * @by: further key of a table: "comm", "pid" or "cpu", or NULL
 * @lines: maximum number of lines of a table, 0 for no limit
 * @hist: print histograms
 * @folded: print a stack per line
 * @flame: file for a flame graph, or NULL
 * @html: the flame graph is a page of HTML, otherwise it is SVG
 * @output: file for a recording or for the calls, or NULL
 * @json: print JSON
 * @stack: print stacks
 * @mainline: use mainline's probes
 * @returns: record returns
 * @verbose: print more
 */
struct options {
	char **functions;
	size_t nr_functions, room_functions;
	char **command;
	char *program;
	pid_t pid;
	double interval, duration;
	const char *by;
	unsigned int lines;
	const char *flame, *output;
	bool hist, folded, html, json, mainline, stack, returns, verbose;
};

/**
 * struct word - a word of the command line
 * @name: "fhook WORD", for messages
 * @arguments: description of its arguments
 * @does: its help
 * @takes: letters of the options that it takes
 * @least: least number of functions
 */
struct word {
	const char *name;
	const char *arguments;
	const char *does;
	const char *takes;
	unsigned int least;
};

/* Ends the program, with a sentence, if the arguments are wrong. */
void options_parse(struct options *options, const struct word *word, int argc, char **argv);

/* End the program, with a sentence that says what is wrong with the arguments. */
void options_wrong(const struct word *word, const char *what) __attribute__((noreturn));
void options_free(struct options *options);

/* Do all patterns leave functions out? Only some words take that. */
bool options_only_exclude(const struct options *options);

#endif /* FHOOK_HOOK_OPTIONS_H */
