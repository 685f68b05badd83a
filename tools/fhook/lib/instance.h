/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instances of tracefs that belong to a run of fhook
 *
 * The events of the run are in a group with the same name. A run that was killed leaves both
 * behind; the next run finds them, because it gets the lock of the instance, and removes them.
 */
#ifndef FHOOK_INSTANCE_H
#define FHOOK_INSTANCE_H

#include "base.h"

/* Room for a name. */
#define INSTANCE_NAME		32

/* Names begin with one of these: of words that hook functions, and of call traces. */
#define INSTANCE_HOOKS		"fhook_"
#define INSTANCE_CALLTRACE	"calltrace_"

/* Remove the instances and events of killed runs. Returns their number. */
unsigned int instance_sweep(void);

/*
 * Make an instance without events, whose name is PREFIX and the number of this process, or a
 * larger one. Returns the descriptor of its directory, which is locked until it is closed; or -1.
 */
int instance_make(const char *prefix, char name[INSTANCE_NAME], struct fault *fault);

/* Remove the events of a run, and its instance, and close the descriptor. */
void instance_remove(const char *name, int lock);

#endif /* FHOOK_INSTANCE_H */
