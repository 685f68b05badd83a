/* SPDX-License-Identifier: GPL-2.0 */
/* Reading histograms of tracefs (Documentation/trace/histogram.rst) */
#ifndef FHOOK_HOOK_HIST_H
#define FHOOK_HOOK_HIST_H

#include "lib/base.h"

#define HIST_KEYS	3

/**
 * struct hist_row - an entry of a histogram
 * @keys: values of the keys, in their order, without blanks at the ends
 * @hits: number of hits
 * @sum: sum of the only value besides the hits, or 0
 * @max: value of the action onmax(), or 0
 * @saved: fields that it has saved, in the order of hist->saves, or NULL
 */
struct hist_row {
	char *keys[HIST_KEYS];
	u64 hits;
	u64 sum;
	u64 max;
	char **saved;
};

/**
 * struct hist - a histogram
 * @rows: its entries
 * @dropped: hits that found no room
 * @missing: number of entries that could not be read, because a string looks like others
 * @forged: a string looks like an entry, so that some rows may be made up
 * @number: last key, if it is a number, or NULL: the name of a task before it may contain its
 *	name; set before parsing
 * @saves: names of the fields that onmax() saves; set before parsing
 * @nr_saves: number of these names, 0 without onmax()
 */
struct hist {
	struct hist_row *rows;
	size_t nr, room;
	u64 dropped, missing;
	bool forged;
	const char *number;
	const char **saves;
	size_t nr_saves;
};

/* The size of a histogram for this number of entries, which is at least LEAST, a power of two. */
size_t hist_size(size_t entries, size_t least);

/*
 * The histogram of the first or of the second trigger in the text of a file "hist", or NULL if
 * there is none; the text is modified.
 */
char *hist_of_trigger(char *text, bool second);

/*
 * Parse a histogram whose keys are NAMES, of which the last is NULL; adds to HIST, and modifies
 * the text.
 */
int hist_parse(struct hist *hist, char *text, const char *const *names, struct fault *fault);
void hist_free(struct hist *hist);

/* The name of a symbol printed as "[address] name". */
const char *hist_symbol(const char *key);

#endif /* FHOOK_HOOK_HIST_H */
