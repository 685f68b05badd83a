/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of the kernel that are recorded by events
 *
 * An event accepts a name or a glob, without exceptions; and a function that matches two
 * of its patterns would be recorded twice. So a list is converted to patterns that match
 * each wanted function once: the list's own patterns if no other pattern of the list
 * matches any of their functions, otherwise the names of the functions.
 */
#ifndef FHOOK_INSTRUMENT_CHOICE_H
#define FHOOK_INSTRUMENT_CHOICE_H

#include "lib/list.h"

/**
 * struct choice - patterns without common functions
 * @patterns: patterns for fhook_events
 * @functions: number of functions that they match now
 */
struct choice {
	char **patterns;
	size_t nr_patterns, room_patterns;
	size_t functions;
};

/*
 * Convert a list, given the existing functions, one per line, as "NAME" or "NAME
 * [MODULE]"; the text is modified. A pattern without a match is an error.
 */
int choice_make(struct choice *choice, const struct list *list, char *available,
		struct fault *fault);
void choice_free(struct choice *choice);

/*
 * Does a pattern, NAME, NAME:mod:MODULE or :mod:MODULE, match a function? MODULE is NULL or
 * empty for functions of the kernel itself.
 */
bool choice_matches(const char *pattern, const char *name, const char *module);

#endif /* FHOOK_INSTRUMENT_CHOICE_H */
