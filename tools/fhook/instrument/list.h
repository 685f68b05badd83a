/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The list of functions that are to be instrumented
 *
 * A pattern is a name or a glob; with a `!' before it, what it matches is left out,
 * wherever it stands. It is held against the symbol of a function, and for C++
 * also against what that means, with its parameters and without them.
 */
#ifndef FHOOK_INSTRUMENT_LIST_H
#define FHOOK_INSTRUMENT_LIST_H

#include "lib/base.h"

/**
 * struct list_pattern - one line of a list
 * @text: without `!'
 * @excludes: there was one
 * @is_glob: it may match several
 * @matched: it has matched something
 */
struct list_pattern {
	char *text;
	bool excludes;
	bool is_glob;
	bool matched;
};

/**
 * struct list - all patterns, and all names that there are
 * @patterns: in the order of the list
 * @order: indexes of the patterns: names in their order, and then globs
 * @nr_ordered: how many patterns it has
 * @nr_exact: how many of these are names
 * @names: what list_wants() was asked about, for guessing what was meant
 */
struct list {
	struct list_pattern *patterns;
	size_t *order, nr_ordered, nr_exact;
	char **names;
	size_t nr_patterns, nr_names;
	size_t room_patterns, room_names;
};

/* Does the list want a function, and by its name? */
enum list_answer { LIST_NO, LIST_BY_GLOB, LIST_BY_NAME };

/* Add the patterns of a file, one a line; `#' begins a comment. */
int list_read(struct list *list, const char *path, struct fault *fault);

int list_add(struct list *list, const char *pattern, struct fault *fault);

/* Fails when the list has nothing that could be instrumented. */
int list_check(const struct list *list, struct fault *fault);

/**
 * list_wants - is a function to be instrumented?
 * @list: the list
 * @symbol: the function's symbol
 */
enum list_answer list_wants(struct list *list, const char *symbol);

/* The name nearest to TEXT of those that were asked about, or NULL if none is near. */
const char *list_near(const struct list *list, const char *text);

void list_free(struct list *list);

#endif /* FHOOK_INSTRUMENT_LIST_H */
