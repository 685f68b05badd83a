/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slowest call of each function, with its arguments
 *
 * The kernel saves them, with the action onmax() of a histogram that has an entry for each
 * function. It takes no lock: if two calls that are slower than all before end at the same
 * time, the fields saved may be of both.
 */
#ifndef FHOOK_HOOK_SLOWEST_H
#define FHOOK_HOOK_SLOWEST_H

#include <sys/types.h>
#include "lib/spec.h"
#include "session.h"

/* The argument of events that has the name of the task at the hit. */
#define SLOWEST_COMM	"current_comm"

/* A key that is the same for all hits of an event. */
#define SLOWEST_ONLY	"common_type"

/* The number of arguments that the kernel can save, besides the time, the process and its name. */
#define SLOWEST_ARGUMENTS	11

enum value_kind { VALUE_UNSIGNED, VALUE_SIGNED, VALUE_HEX, VALUE_STRING };

/**
 * struct slow_call - the slowest call of a function
 * @function: name of the function
 * @ns: its duration
 * @ended: when it ended, in nanoseconds of CLOCK_BOOTTIME
 * @pid: number of the thread
 * @comm: name of the thread
 * @spec: the arguments
 * @values: value of each argument, as the kernel prints it
 * @kinds: kind of each value
 */
struct slow_call {
	char *function;
	u64 ns, ended;
	pid_t pid;
	char *comm;
	const struct spec *spec;
	char *values[SLOWEST_ARGUMENTS];
	enum value_kind kinds[SLOWEST_ARGUMENTS];
};

/**
 * struct slowest - the slowest calls
 * @calls: a call of each function
 */
struct slowest {
	struct slow_call *calls;
	size_t nr, room;
};

/* The arguments with names for fields of events; nothing of it is to be freed. */
struct spec slowest_fields(const struct spec *spec);

/*
 * Let the kernel save the slowest call of an event by this key, for this number of FUNCTIONS.
 * CONDITION is that of the trigger, or empty.
 */
int slowest_begin(const struct session *session, const char *event, const char *key,
		  size_t functions, const struct spec *spec, const char *condition,
		  struct fault *fault);

/*
 * Add the slowest calls of an event on FUNCTION, or, if it is NULL, on the functions that the key
 * names. SPEC must stay.
 */
int slowest_read(struct slowest *slowest, const struct session *session, const char *event,
		 const char *function, const struct spec *spec, struct fault *fault);

/* Print LINES lines, the slowest call first, or all as JSON. */
void slowest_print(struct slowest *slowest, unsigned int lines);
void slowest_print_json(struct slowest *slowest);
void slowest_free(struct slowest *slowest);

#endif /* FHOOK_HOOK_SLOWEST_H */
