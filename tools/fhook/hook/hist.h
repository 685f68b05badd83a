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
 */
struct hist_row {
	char *keys[HIST_KEYS];
	u64 hits;
	u64 sum;
};

/**
 * struct hist - a histogram
 * @rows: its entries
 * @dropped: hits that found no room
 */
struct hist {
	struct hist_row *rows;
	size_t nr, room;
	u64 dropped;
};

/*
 * Parse the text of a file "hist" whose keys are NAMES, of which the last is NULL; adds to
 * HIST, and modifies the text.
 */
int hist_parse(struct hist *hist, char *text, const char *const *names, struct fault *fault);
void hist_free(struct hist *hist);

/* The name of a symbol printed as "[address] name". */
const char *hist_symbol(const char *key);

#endif /* FHOOK_HOOK_HIST_H */
