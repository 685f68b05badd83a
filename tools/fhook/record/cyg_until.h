/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conditions that end the recording of a program which records itself
 *
 * A condition is true when its function is entered, or returns after it took longer than a
 * time. Of recursive calls, the outermost one is measured. It is known by its stack address, so
 * a call that longjmp() or an exception leaves is forgotten at the next call from there.
 */
#ifndef FHOOK_RECORD_CYG_UNTIL_H
#define FHOOK_RECORD_CYG_UNTIL_H

#include "lib/recording.h"

#define UNTIL_CONDITIONS	8

/**
 * struct until_call - the running call of a function that a thread measures
 * @frame: stack address of the call; NULL if there is none
 * @entered: time of its entry
 * @deeper: number of running calls of the function within it
 */
struct until_call {
	char *frame;
	u64 entered;
	u32 deeper;
};

/**
 * struct until_calls - the calls that a thread measures
 * @of: the call for each condition
 */
struct until_calls {
	struct until_call of[UNTIL_CONDITIONS];
};

/* Replace the conditions by those of TEXT, one on each line; NULL for none. None is matched. */
int until_set(struct recording *recording, const char *text, struct fault *fault);

/* A function has been added to the recording; its entry event has this address. */
void until_add_function(struct recording *recording, const char *name, u64 address);

/*
 * An event has been recorded. Returns the number of the condition that is true, from 1, or 0.
 * FRAME is a stack address of the recorder.
 */
u32 until_event(struct until_calls *calls, u64 address, u64 time, char *frame);

#endif /* FHOOK_RECORD_CYG_UNTIL_H */
