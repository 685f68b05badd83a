/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Patterns of functions, by the arguments that events on the functions have
 *
 * PATTERN(ARGUMENT, ...) is a group of its own; all patterns without brackets are the last
 * group. A function that patterns of several groups match belongs to the first one.
 */
#ifndef FHOOK_HOOK_GROUPS_H
#define FHOOK_HOOK_GROUPS_H

#include "lib/list.h"
#include "lib/spec.h"

/**
 * struct group - functions whose events have the same arguments
 * @spec: pattern and arguments; without pattern in the group of patterns without brackets
 * @patterns: patterns of the group, and excludes of the functions of groups before it
 * @list: the pattern of @spec
 */
struct group {
	struct spec spec;
	char **patterns;
	size_t nr, room;
	struct list list;
};

/**
 * struct groups - all patterns
 * @groups: the groups
 */
struct groups {
	struct group *groups;
	size_t nr, room;
};

/* Sort patterns into groups. groups_free() may be called in any case if GROUPS was zero. */
int groups_parse(struct groups *groups, char *const *texts, size_t nr, struct fault *fault);

/* The patterns without arguments and other groups' excludes: an array to be freed, or NULL. */
char **groups_patterns(const struct groups *groups, char *const *texts, size_t nr);

/* The arguments of the event on a function of a program, by its symbol; NULL without brackets. */
const struct spec *groups_spec(struct groups *groups, const char *symbol);
void groups_free(struct groups *groups);

#endif /* FHOOK_HOOK_GROUPS_H */
