/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of the kernel, and events on them */
#ifndef FHOOK_HOOK_KERNEL_H
#define FHOOK_HOOK_KERNEL_H

#include "session.h"

/* Room for the name of a function; and for that with its module, "NAME [MODULE]". */
#define KERNEL_NAME	512
#define KERNEL_FUNCTION	(KERNEL_NAME + 132)

/*
 * Make tracefs accessible; the sentence of a failure says what is missing.
 */
int kernel_open(struct fault *fault);

/*
 * The functions that can be hooked, or for MAINLINE those that mainline's probes take, one per
 * line; the other list on kernels that have only that. To be freed, or NULL and a sentence.
 */
char *kernel_functions(bool mainline, struct fault *fault);

/* Fails, with a sentence, if a pattern cannot be one of functions of the kernel. */
int kernel_check_pattern(const char *pattern, struct fault *fault);

/*
 * Say that none of the functions that kernel_functions() returned, which are changed, matches, and
 * which one may be meant. Returns -1.
 */
int kernel_say_unknown(char **patterns, size_t nr, char *available, struct fault *fault);

/* Do the patterns, some of which may be excludes, select "NAME" or "NAME [MODULE]"? */
bool kernel_wants(char **patterns, size_t nr, const char *line);

/*
 * Define an event on all functions that match any of the patterns, each once. SUFFIX is
 * "%span", "%return" or "", followed by arguments. Receives the number of functions.
 */
int kernel_define(const struct session *session, const char *event, char **patterns, size_t nr,
		  const char *suffix, size_t *functions, struct fault *fault);

/* Define an event on the entry of one function. */
int kernel_define_one(const struct session *session, const char *event, const char *name,
		      struct fault *fault);

/* Fails, with a sentence, if hooks are switched off: none can be added then. */
int kernel_check_enabled(struct fault *fault);

#endif /* FHOOK_HOOK_KERNEL_H */
