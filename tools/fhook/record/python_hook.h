/* SPDX-License-Identifier: GPL-2.0 */
/* The audit hook, which CPython calls before it is initialized, and frees at its end. */
#ifndef FHOOK_RECORD_PYTHON_HOOK_H
#define FHOOK_RECORD_PYTHON_HOOK_H

#include "python_api.h"

/* Add an audit hook, once in a process. Returns 0, or -1 and a sentence. */
int python_add_hook(const struct python *python,
		    void (*on_event)(const char *event, void *arguments), struct fault *fault);

#endif /* FHOOK_RECORD_PYTHON_HOOK_H */
