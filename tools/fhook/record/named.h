/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of an interpreter: they have names, and no addresses
 *
 * The recording gives each function an address of its own, which no program uses, when it is
 * called first.
 */
#ifndef FHOOK_RECORD_NAMED_H
#define FHOOK_RECORD_NAMED_H

#include <stdio.h>
#include "lib/recording.h"

/**
 * struct named - a function of an interpreter
 * @name: name in the map, a word
 * @file: path of the source file
 * @line: line of the source in which the function begins
 * @address: address of its entry in the recording
 * @recording: number of the recording that has the function in its map, from 1; 0: none
 * @failed: the function could not be added to the map of that recording
 */
struct named {
	char *name, *file;
	u32 line;
	u64 address;
	u32 recording;
	bool failed;
};

/*
 * The function with this name that begins in a line of a file, always the same one; NULL
 * without memory. The caller has a lock.
 */
struct named *named_find(const char *name, const char *file, u32 line);

/*
 * Print the lines of a map for the function: stubs of SIZE bytes at ENTRY, and after it for the
 * exit, in an object.
 */
void named_print(const struct named *named, u32 object, u64 entry, unsigned int size,
		 u64 identity, FILE *to);

/* Append the function to the map of a recording. Returns 0, or -1 and a sentence. */
int record_add_named(struct recording *recording, struct named *named, struct fault *fault);

/*
 * A program that this process executes, or that has executed it, may record itself, too, and
 * inherits the name of the recording. So the recording may be DIR-PID or DIR-PID-NUMBER instead.
 */
extern bool record_may_move;

/* The thread enters a function, with OFFSET 0, or leaves it, with OFFSET 1. */
void record_named(struct named *named, u64 offset);

#endif /* FHOOK_RECORD_NAMED_H */
