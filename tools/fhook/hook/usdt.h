/* SPDX-License-Identifier: GPL-2.0 */
/*
 * USDT probes: places that a program declares, in notes named .note.stapsdt
 *
 * A pattern is usdt:PROVIDER:NAME or usdt:NAME, whose parts may be globs. A probe with a
 * semaphore, which makes the program prepare its arguments, is hooked with it, and the kernel
 * increments it while the probe is enabled.
 */
#ifndef FHOOK_HOOK_USDT_H
#define FHOOK_HOOK_USDT_H

#include <stdio.h>
#include "lib/list.h"
#include "program.h"

/* Does a pattern select USDT probes? */
bool usdt_is_pattern(const char *pattern);

/* Add such a pattern to a list of patterns of PROVIDER:NAME. */
int usdt_add_pattern(struct list *list, const char *pattern, struct fault *fault);

/* Add the probes that match patterns to the places of a program. */
int usdt_select(struct program *program, struct list *list, struct fault *fault);

/* The value of the probe's argument "arg1", "arg2" and so on. */
int usdt_value(const struct program *program, const struct program_function *probe,
	       const char *name, struct program_value *value, struct fault *fault);

/* Print all arguments as "argN=VALUE:TYPE"; "?" is a value that the kernel cannot fetch. */
void usdt_print(struct program *program, const struct program_function *probe, FILE *out);

#endif /* FHOOK_HOOK_USDT_H */
