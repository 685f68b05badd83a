/* SPDX-License-Identifier: GPL-2.0 */
/* Recording programs that are linked with libfhook-record. */
#ifndef FHOOK_RECORD_LINKED_H
#define FHOOK_RECORD_LINKED_H

#include "record.h"

/* Run the program, and let it record itself. */
int record_linked(struct record *record, struct fault *fault);

/* Record a running process from now on, until it ends, a condition is true or a signal comes. */
int record_attached(struct record *record, struct fault *fault);

#endif /* FHOOK_RECORD_LINKED_H */
