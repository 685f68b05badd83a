/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The list of functions to instrument
 *
 * A pattern is a name or a glob; with a leading `!' it excludes all functions that it
 * matches, in any position of the list. It is matched against the symbol of a function
 * and, for C++ and Rust, also against the demangled name, with its parameters and without
 * them, and without the suffix of a clone, unless the clone is a part of the function. A
 * pattern such as 0x1139 is the address of a function of a file.
 */
#ifndef FHOOK_LIST_H
#define FHOOK_LIST_H

#include "lib/base.h"

/**
 * struct list_pattern - one line of a list
 * @text: pattern without `!'
 * @excludes: there was a `!'
 * @is_glob: it may match several functions
 * @is_address: it is an address
 * @matched: it has matched a function
 */
struct list_pattern {
	char *text;
	bool excludes;
	bool is_glob;
	bool is_address;
	bool matched;
};

/**
 * struct list - all patterns, and all known names
 * @patterns: patterns in the order of the list
 * @order: indexes of the patterns: names in alphabetical order, then globs
 * @nr_ordered: number of elements of @order
 * @nr_exact: number of names among these
 * @names: names for suggestions, as those that were passed to list_wants()
 */
struct list {
	struct list_pattern *patterns;
	size_t *order, nr_ordered, nr_exact;
	char **names;
	size_t nr_patterns, nr_names;
	size_t room_patterns, room_names;
};

/* Does the list select a function, and by its name? */
enum list_answer { LIST_NO, LIST_BY_GLOB, LIST_BY_NAME };

/* Add the patterns of a file, one per line; `#' begins a comment. */
int list_read(struct list *list, const char *path, struct fault *fault);

/* Is a pattern neither empty nor, after a '!', an exclude again? */
int list_check_pattern(const char *text, struct fault *fault);
int list_add(struct list *list, const char *pattern, struct fault *fault);

/* Fails if the list selects no function. */
int list_check(const struct list *list, struct fault *fault);

/**
 * list_wants - check whether to instrument a function
 * @list: the list
 * @symbol: symbol of the function
 */
enum list_answer list_wants(struct list *list, const char *symbol);

/* The same for a function at an address. */
enum list_answer list_wants_at(struct list *list, const char *symbol, u64 address);

/* The same for a function that has only an address. */
enum list_answer list_wants_address(struct list *list, u64 address);

/* Are there addresses among the patterns? */
bool list_has_addresses(const struct list *list);
/* Are there globs that do not exclude functions? */
bool list_has_globs(const struct list *list);

/* Add a name for suggestions. */
void list_remember(struct list *list, const char *symbol);

/* Is this the name with a suffix of the compiler, as "NAME.isra.0"? */
bool name_has_suffix(const char *name, const char *text);

/*
 * A known name that is this one with a suffix of the compiler or with the namespaces and classes
 * around it, else the most similar one, or NULL if none is similar.
 */
const char *list_near(const struct list *list, const char *text);

/* The number of letters that must be changed, added or removed; large for long names. */
unsigned int name_distance(const char *a, const char *b);

void list_free(struct list *list);

#endif /* FHOOK_LIST_H */
