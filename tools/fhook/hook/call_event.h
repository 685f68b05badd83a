/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An event on calls, as the user has specified it, and the names of its arguments' values
 *
 * The kernel records numbers, also of arguments of enum types. Their names are written where
 * calls are printed, and conditions may compare arguments with them.
 */
#ifndef FHOOK_HOOK_CALL_EVENT_H
#define FHOOK_HOOK_CALL_EVENT_H

#include "enumeration.h"
#include "lib/spec.h"

#define CALL_EVENT_NAME	64

/* The label of the return address, which the kernel's stack of a program lacks. */
#define CALL_EVENT_CALLER	"caller"

/**
 * struct call_event - an event
 * @name: name of the event
 * @spec: functions, arguments and condition
 * @enumerations: names of the values of each argument, where it has an enum type
 * @seen: whether the type of the argument is known
 * @names_functions: the first argument is the number of the function, by its name
 * @has_caller: there is an argument CALL_EVENT_CALLER, which the user has not named
 */
struct call_event {
	char name[CALL_EVENT_NAME];
	struct spec spec;
	struct enumeration enumerations[SPEC_ARGUMENTS];
	bool seen[SPEC_ARGUMENTS];
	bool names_functions, has_caller;
};

/*
 * Take the names of the values of an argument, at one of the places of the event. If its types
 * differ between places, values have no names.
 */
void call_event_take(struct call_event *event, unsigned int argument,
		     struct enumeration *enumeration);

/*
 * The event's filter, in which the names of values are replaced by numbers. To be freed, and
 * empty if there is none; or NULL and a sentence.
 */
char *call_event_filter(const struct call_event *event, struct fault *fault);

void call_event_free(struct call_event *event);

#endif /* FHOOK_HOOK_CALL_EVENT_H */
