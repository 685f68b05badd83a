/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of events on function hooks in error_log
 *
 * For the list of all probe events, trace_probe.h, which defines C().
 */
#ifndef _TRACE_FHOOK_ERRORS_H
#define _TRACE_FHOOK_ERRORS_H

#include <linux/hook_base.h>

#define FHOOK_ERRORS							\
	HOOK_BASE_ERRORS						\
	C(FHOOK_HEAD,		"An fhook event begins with 'h' or 'h:[GRP/][EVENT]'"), \
	C(FHOOK_NO_PATTERN,	"No function or pattern is specified"),	\
	C(FHOOK_PATTERN,	"Pattern must be NAME, GLOB or [NAME|GLOB]:mod:MODULE"), \
	C(FHOOK_OFFSET,							\
	  "Functions are hooked at their entry: leave the offset out, or use a kprobe event"), \
	C(FHOOK_NO_FUNC,	"No function has this name or matches this pattern"), \
	C(FHOOK_CLONES,							\
	  "Only clones of this function exist (NAME.isra.0 and such): NAME.* takes them"), \
	C(FHOOK_REGISTER,						\
	  "Registers are not available: use $arg1, $arg2 ..., or $retval with %return"), \
	C(HOOK_SUFFIX,							\
	  "%return, %span and %exit follow the function or offset without a space"), \
	C(HOOK_CONDITION,						\
	  "A condition is not part of a definition: write it to the event's filter file"), \
	C(FHOOK_NO_SLOT,	"This function can not be hooked (notrace, noinstr or assembly)"), \
	C(FHOOK_OFF,		"fhook is switched off"),	\
	C(FHOOK_BYTES,		"The function entry was changed by somebody else"), \
	C(FHOOK_NO_MEMORY,	"Not enough memory"),			\
	C(FHOOK_NO_ROOM,	"No memory for a trampoline within reach of the function"), \
	C(FHOOK_TOO_MANY,	"Too many hooks on one function"),	\
	C(FHOOK_TAKEN,		"Another user owns the function: see the kernel log"), \
	C(FHOOK_OVERRIDE,							\
	  "override= needs a single function that debugfs lists in error_injection/list"), \
	C(FHOOK_OVERRIDE_IF,	"'if' is followed by a filter"),		\
	C(FHOOK_OVERRIDE_KIND,	"override= is for calls, not for %return and %span"), \
	C(FHOOK_OVERRIDE_NUMBER, "override= is followed by a number"),	\
	C(FHOOK_OVERRIDE_VALUE,						\
	  "debugfs' error_injection/list does not allow the function to return this"), \
	C(FHOOK_MANY_DATA,	"Too many arguments of the entry are stored"), \
	C(FHOOK_NOT_LISTED,	"This pattern is not in the list"),

#endif /* _TRACE_FHOOK_ERRORS_H */
