/* SPDX-License-Identifier: GPL-2.0 */
/* Sums of calls, and of their durations, by function and by one more key */
#ifndef FHOOK_HOOK_TALLY_H
#define FHOOK_HOOK_TALLY_H

#include "lib/base.h"

#define TALLY_BUCKETS	64

/**
 * struct tally_row - sums of a function
 * @name: name of the function
 * @by: the other key, or ""
 * @calls: number of calls
 * @ns: sum of their durations, in nanoseconds
 * @buckets: number of calls of more than 2^(N-1) nanoseconds, up to 2^N, as the kernel has
 *	them
 * @old_calls: @calls at the last output
 * @old_ns: @ns at the last output
 * @old_buckets: @buckets at the last output
 */
struct tally_row {
	char *name, *by;
	u64 calls, ns;
	u64 buckets[TALLY_BUCKETS];
	u64 old_calls, old_ns;
	u64 old_buckets[TALLY_BUCKETS];
};

/**
 * struct tally - sums of all functions
 * @rows: sums, in the order in which they were first seen
 * @order: indexes of @rows, sorted by name and the other key
 * @dropped: calls for which the kernel had no room
 * @missing: entries of the kernel's histograms that could not be read
 */
struct tally {
	struct tally_row *rows;
	size_t *order;
	size_t nr, room, room_order;
	u64 dropped, missing;
};

/* Set all sums to 0, and remember them as the old ones. */
void tally_begin(struct tally *tally);

/* The row of a function, or NULL without memory; valid until the next call. */
struct tally_row *tally_row(struct tally *tally, const char *name, const char *by);

/* The rows, those with most calls (or time) first; to be freed, or NULL. */
struct tally_row **tally_sorted(const struct tally *tally, bool by_time, bool since_last);

/* What was added since the last output: a row without old sums, whose names are borrowed. */
struct tally_row tally_since(const struct tally_row *row);

/* The duration that this share of the calls (0.5: the median) does not exceed, from buckets. */
u64 tally_quantile(const struct tally_row *row, double share);

void tally_free(struct tally *tally);

#endif /* FHOOK_HOOK_TALLY_H */
