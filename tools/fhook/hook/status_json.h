/* SPDX-License-Identifier: GPL-2.0 */
/* Files of tracefs about hooks, and live patches, as objects of JSON, one a line */
#ifndef FHOOK_HOOK_STATUS_JSON_H
#define FHOOK_HOOK_STATUS_JSON_H

#include "lib/base.h"

/* Print the lines of a file, by its path in tracefs, of which this is the text. It is changed. */
void status_json(const char *path, char *text);

void status_json_enabled(bool enabled);
void status_json_patch(const char *name, bool enabled, bool in_transition);

#endif /* FHOOK_HOOK_STATUS_JSON_H */
