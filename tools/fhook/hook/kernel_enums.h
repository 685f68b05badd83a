/* SPDX-License-Identifier: GPL-2.0 */
/* Names of the values of arguments of the kernel's functions, from its type data */
#ifndef FHOOK_HOOK_KERNEL_ENUMS_H
#define FHOOK_HOOK_KERNEL_ENUMS_H

#include "call_event.h"
#include "kernel_types.h"

/*
 * Take the names for the arguments of an event on one function; none if the kernel has no type
 * data, or the function is named by a glob.
 */
void kernel_enums_take(struct kernel_types *types, struct call_event *event);

/*
 * The names of the values of "PARAMETER->MEMBER.MEMBER" of the function NAME; none if this has
 * another type, or does not exist. Returns 0, or -1 without memory or for too many names.
 */
int kernel_enums_find(const struct prototypes *prototypes, const char *name, const char *path,
		      struct enumeration *enumeration);

/*
 * Has a function this parameter, and these members? Returns 0, also if the function is not known,
 * or -1 and a sentence.
 */
int kernel_enums_check(const struct prototypes *prototypes, const char *name, const char *path,
		       struct fault *fault);

/* The same for a function as the user names it; a glob is not checked. */
int kernel_enums_check_name(struct kernel_types *types, const char *pattern, const char *path,
			    struct fault *fault);

#endif /* FHOOK_HOOK_KERNEL_ENUMS_H */
