/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which functions of the kernel are recorded by events
 *
 * An event takes a name or a glob, and nothing that is left out of it; and a function
 * that two of its patterns match would be recorded twice. So a list is made into other
 * patterns, which match each wanted function once: those of the list, where nothing
 * else has a word about what they match, and the names of functions otherwise.
 */
#ifndef FHOOK_RECORD_CHOICE_H
#define FHOOK_RECORD_CHOICE_H

#include "instrument/list.h"

/**
 * struct choice - patterns that do not meet
 * @patterns: as fhook_events takes them
 * @functions: how many functions they match now
 */
struct choice {
	char **patterns;
	size_t nr_patterns, room_patterns;
	size_t functions;
};

/*
 * Make it of a list and of the functions that there are, one a line, as "NAME" or
 * "NAME [MODULE]"; the text is cut into pieces. A pattern that matches nothing is a fault.
 */
int choice_make(struct choice *choice, const struct list *list, char *available,
		struct fault *fault);
void choice_free(struct choice *choice);

#endif /* FHOOK_RECORD_CHOICE_H */
