// SPDX-License-Identifier: GPL-2.0
/* The functions of the kernel that are recorded by events; the header explains why. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "choice.h"

#define MODULE_MARK	":mod:"

/* The length of the kernel's longest names, with the terminating zero. */
#define MOST_GLOB	512

/**
 * struct wanted - a pattern of the list, split into parts
 * @function: name or glob; empty: any
 * @module: name of the module, or NULL
 * @matches: number of functions that it matches
 * @owns: number of functions that it represents
 */
struct wanted {
	const struct list_pattern *pattern;
	char *function, *module;
	size_t matches, owns;
};

/**
 * struct offered - an existing function
 * @module: name of its module, or NULL
 * @owner: pattern of the list that represents it, or NULL
 */
struct offered {
	const char *name, *module;
	struct wanted *owner;
};

/**
 * struct match - the matching of a list with the existing functions
 * @wanted: patterns of the list
 * @offered: existing functions
 * @order: patterns that name a function, sorted by name, then the others
 * @nr_exact: number of patterns that name a function
 */
struct match {
	struct wanted *wanted;
	struct wanted **order;
	size_t nr_exact;
	struct offered *offered;
	size_t nr_wanted, nr_offered, room_offered;
};

static bool is_exact(const struct wanted *wanted)
{
	return *wanted->function && !wanted->pattern->is_glob;
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = *(struct wanted *const *)a, *y = *(struct wanted *const *)b;

	if (is_exact(x) != is_exact(y))
		return is_exact(x) ? -1 : 1;
	return (is_exact(x) ? strcmp(x->function, y->function) : 0) ?: x < y ? -1 : x > y;
}

static int sort_wanted(struct match *match)
{
	size_t i;

	match->order = calloc(match->nr_wanted + 1, sizeof(*match->order));
	if (!match->order)
		return -1;
	for (i = 0; i < match->nr_wanted; i++) {
		match->order[i] = &match->wanted[i];
		match->nr_exact += is_exact(&match->wanted[i]);
	}
	qsort(match->order, match->nr_wanted, sizeof(*match->order), compare_wanted);
	return 0;
}

/* The first pattern of the order that names a function, or one after it. */
static size_t first_wanted(const struct match *match, const char *name)
{
	return first_index(match->nr_exact, i, strcmp(match->order[i]->function, name) < 0);
}

static int split_list(struct match *match, const struct list *list)
{
	size_t i;

	match->nr_wanted = list->nr_patterns;
	match->wanted = calloc(list->nr_patterns + 1, sizeof(*match->wanted));
	if (!match->wanted)
		return -1;
	for (i = 0; i < list->nr_patterns; i++) {
		struct wanted *wanted = &match->wanted[i];

		wanted->pattern = &list->patterns[i];
		wanted->function = strdup(list->patterns[i].text);
		if (!wanted->function)
			return -1;
		wanted->module = strstr(wanted->function, MODULE_MARK);
		if (wanted->module) {
			*wanted->module = '\0';
			wanted->module += strlen(MODULE_MARK);
		}
	}
	return sort_wanted(match);
}

static int split_functions(struct match *match, char *available)
{
	struct offered offered = { 0 };
	char *line, *module;

	while ((line = strsep(&available, "\n"))) {
		if (!*line)
			continue;
		module = strstr(line, " [");
		if (module) {
			*module = '\0';
			module += 2;
			module[strcspn(module, "]")] = '\0';
		}
		if (grow(&match->offered, &match->room_offered, match->nr_offered,
			 sizeof(offered)))
			return -1;
		offered.name = line;
		offered.module = module;
		match->offered[match->nr_offered++] = offered;
	}
	return 0;
}

bool choice_matches(const char *pattern, const char *name, const char *module)
{
	const char *mark = strstr(pattern, MODULE_MARK);
	char glob[MOST_GLOB];
	size_t length;

	if (!mark)
		return !fnmatch(pattern, name, 0);
	length = mark - pattern;
	if (!module || strcmp(mark + strlen(MODULE_MARK), module) || length >= sizeof(glob))
		return false;
	memcpy(glob, pattern, length);
	glob[length] = '\0';
	return !length || !fnmatch(glob, name, 0);
}

static void hold_against(struct wanted *wanted, struct offered *offered, bool *excluded)
{
	if (!choice_matches(wanted->pattern->text, offered->name, offered->module))
		return;
	wanted->matches++;
	if (wanted->pattern->excludes)
		*excluded = true;
	else if (!offered->owner || wanted < offered->owner)
		offered->owner = wanted;
}

/* Assign a function to the first pattern that matches it, unless a pattern excludes it. */
static void find_owner(struct match *match, struct offered *offered)
{
	bool excluded = false;
	size_t i;

	for (i = first_wanted(match, offered->name);
	     i < match->nr_exact && !strcmp(match->order[i]->function, offered->name); i++)
		hold_against(match->order[i], offered, &excluded);
	for (i = match->nr_exact; i < match->nr_wanted; i++)
		hold_against(match->order[i], offered, &excluded);
	if (excluded)
		offered->owner = NULL;
	if (offered->owner)
		offered->owner->owns++;
}

static int add(struct choice *choice, const char *name, const char *module)
{
	char *pattern;

	if (grow(&choice->patterns, &choice->room_patterns, choice->nr_patterns,
		 sizeof(*choice->patterns)) ||
	    asprintf(&pattern, "%s%s%s", name, module ? MODULE_MARK : "",
		     module ? module : "") < 0)
		return -1;
	choice->patterns[choice->nr_patterns++] = pattern;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Is the name also a pattern without its module, which includes functions of modules? */
static bool is_covered(const struct choice *choice, const char *pattern)
{
	const char *mark = strstr(pattern, MODULE_MARK);
	bool covered;
	char *name;

	if (!mark || mark == pattern)
		return false;
	name = strndup(pattern, mark - pattern);
	covered = name && bsearch(&name, choice->patterns, choice->nr_patterns, sizeof(name),
				  compare);
	free(name);
	return covered;
}

/* Keep one pattern for several functions of the same name. */
static int drop_doubles(struct choice *choice)
{
	const size_t nr = choice->nr_patterns;
	char **kept = calloc(nr + 1, sizeof(*kept));
	size_t i, nr_kept = 0, dropped = nr;

	if (!kept)
		return -1;
	if (!nr) {
		free(kept);
		return 0;
	}
	qsort(choice->patterns, nr, sizeof(*choice->patterns), compare);
	for (i = 0; i < nr; i++) {
		char *pattern = choice->patterns[i];

		if ((nr_kept && !strcmp(kept[nr_kept - 1], pattern)) ||
		    is_covered(choice, pattern))
			kept[--dropped] = pattern;
		else
			kept[nr_kept++] = pattern;
	}
	for (i = dropped; i < nr; i++)
		free(kept[i]);
	free(choice->patterns);
	choice->patterns = kept;
	choice->nr_patterns = nr_kept;
	choice->room_patterns = nr + 1;
	return 0;
}

/* The kernel's globs have no [^...], no [:class:] and no escapes of the kind that fnmatch() has. */
static bool is_kernels(const char *glob)
{
	static const char *const others[] = { "\\", "[^", "[:", "[.", "[=" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (strstr(glob, others[i]))
			return false;
	return true;
}

/* Is the pattern used instead of the functions that it represents? */
static bool stands_alone(const struct wanted *wanted)
{
	return wanted->owns && wanted->owns == wanted->matches && is_kernels(wanted->function);
}

static int make(struct choice *choice, struct match *match)
{
	size_t i;

	for (i = 0; i < match->nr_wanted; i++) {
		const struct wanted *wanted = &match->wanted[i];

		if (stands_alone(wanted) &&
		    add(choice, wanted->function, wanted->module))
			return -1;
	}
	for (i = 0; i < match->nr_offered; i++) {
		const struct offered *offered = &match->offered[i];
		const struct wanted *owner = offered->owner;

		if (!owner)
			continue;
		choice->functions++;
		if (!stands_alone(owner) &&
		    add(choice, offered->name, offered->module))
			return -1;
	}
	return drop_doubles(choice);
}

/* Entries of system calls have a prefix for the architecture: __x64_sys_read. */
static bool is_system_call(const char *name, const char *text)
{
	const char *tail = strstr(name, "64_sys_");

	return tail && !strcmp(tail + strlen("64_"), text) &&
	       (!strncmp(name, "__x64_", 6) || !strncmp(name, "__arm64_", 8));
}

/* The name that was probably meant, or NULL. */
static const char *meant(const struct match *match, const char *pattern)
{
	unsigned int best = strlen(pattern) / 3 + 2, distance;
	const char *near = NULL;
	size_t i;

	for (i = 0; i < match->nr_offered; i++) {
		const char *name = match->offered[i].name;

		if (name_has_suffix(name, pattern) || name_has_suffix(pattern, name) ||
		    is_system_call(name, pattern))
			return name;
		distance = name_distance(pattern, name);
		if (distance < best) {
			best = distance;
			near = name;
		}
	}
	return near;
}

static int check(const struct match *match, struct fault *fault)
{
	const char *near;
	size_t i;

	for (i = 0; i < match->nr_wanted; i++) {
		const struct list_pattern *pattern = match->wanted[i].pattern;

		if (match->wanted[i].matches || pattern->excludes)
			continue;
		near = pattern->is_glob ? NULL : meant(match, pattern->text);
		return fault_say(fault,
				 "no function that can be hooked is named or matches '%s'%s%s",
				 pattern->text, near ? "; the nearest name is " : "",
				 near ? near : "");
	}
	return 0;
}

int choice_make(struct choice *choice, const struct list *list, char *available,
		struct fault *fault)
{
	struct match match = { 0 };
	int result;
	size_t i;

	if (split_list(&match, list) || split_functions(&match, available)) {
		result = fault_say(fault, "there is not enough memory for the list of functions");
		goto out;
	}
	for (i = 0; i < match.nr_offered; i++)
		find_owner(&match, &match.offered[i]);
	result = check(&match, fault);
	if (!result && make(choice, &match))
		result = fault_say(fault, "there is not enough memory for the list of functions");
	if (!result && !choice->functions)
		result = fault_say(fault, "all functions of the list are left out of it again");
out:
	for (i = 0; match.wanted && i < match.nr_wanted; i++)
		free(match.wanted[i].function);
	free(match.wanted);
	free(match.order);
	free(match.offered);
	return result;
}

void choice_free(struct choice *choice)
{
	while (choice->nr_patterns)
		free(choice->patterns[--choice->nr_patterns]);
	free(choice->patterns);
}
