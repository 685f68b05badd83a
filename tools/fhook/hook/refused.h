/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of the kernel that cannot be hooked, and why */
#ifndef FHOOK_HOOK_REFUSED_H
#define FHOOK_HOOK_REFUSED_H

#include "options.h"

/**
 * refused_print - print functions that match the patterns of the options and cannot be hooked
 * @options: options of the command
 * @available: list of the functions that can be hooked, one per line
 * @named: receives the number of functions that were printed
 * @fault: receives a sentence
 *
 * Functions that are named have a line with the reason for which the kernel refuses an event.
 * Of functions that only match a glob, the number is printed on the standard error.
 */
int refused_print(const struct options *options, const char *available, size_t *named,
		  struct fault *fault);

#endif /* FHOOK_HOOK_REFUSED_H */
