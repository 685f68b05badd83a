/* SPDX-License-Identifier: GPL-2.0 */
/* The software recorder for programs compiled with -finstrument-functions. */
#ifndef FHOOK_RECORD_CYG_H
#define FHOOK_RECORD_CYG_H

#include "recording.h"

/*
 * Write the map of the objects in this process that call the recorder, and note in
 * the recording where they are. A function's first byte stands for its entry, its
 * second one for its exit: so a map is the same as with stubs.
 */
int record_write_map(struct recording *recording, struct fault *fault);

#endif /* FHOOK_RECORD_CYG_H */
