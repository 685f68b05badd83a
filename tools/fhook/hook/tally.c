// SPDX-License-Identifier: GPL-2.0
/* Sums of calls; the header describes the functions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tally.h"

void tally_begin(struct tally *tally)
{
	size_t i;

	for (i = 0; i < tally->nr; i++) {
		struct tally_row *row = tally->rows + i;

		row->old_calls = row->calls;
		row->old_ns = row->ns;
		row->calls = 0;
		row->ns = 0;
		memcpy(row->old_buckets, row->buckets, sizeof(row->buckets));
		memset(row->buckets, 0, sizeof(row->buckets));
	}
	tally->dropped = 0;
	tally->missing = 0;
}

static int compare(const struct tally_row *row, const char *name, const char *by)
{
	return strcmp(row->name, name) ?: strcmp(row->by, by);
}

static int insert(struct tally *tally, size_t at, const char *name, const char *by)
{
	struct tally_row row = { .name = strdup(name), .by = strdup(by) };

	if (!row.name || !row.by ||
	    grow(&tally->rows, &tally->room, tally->nr, sizeof(row)) ||
	    grow(&tally->order, &tally->room_order, tally->nr, sizeof(*tally->order))) {
		free(row.name);
		free(row.by);
		return -1;
	}
	memmove(tally->order + at + 1, tally->order + at, (tally->nr - at) * sizeof(*tally->order));
	tally->order[at] = tally->nr;
	tally->rows[tally->nr++] = row;
	return 0;
}

struct tally_row *tally_row(struct tally *tally, const char *name, const char *by)
{
	const size_t at = first_index(tally->nr, i,
				      compare(tally->rows + tally->order[i], name, by) < 0);

	if (at == tally->nr || compare(tally->rows + tally->order[at], name, by)) {
		if (insert(tally, at, name, by))
			return NULL;
	}
	return tally->rows + tally->order[at];
}

/* Which sum decides about the order. */
struct sorting {
	bool by_time, since_last;
};

static u64 weight(const struct tally_row *row, const struct sorting *sorting)
{
	if (sorting->by_time)
		return row->ns - (sorting->since_last ? row->old_ns : 0);
	return row->calls - (sorting->since_last ? row->old_calls : 0);
}

static int compare_weights(const void *a, const void *b, void *sorting)
{
	const struct tally_row *x = *(struct tally_row *const *)a;
	const struct tally_row *y = *(struct tally_row *const *)b;
	const u64 of_x = weight(x, sorting), of_y = weight(y, sorting);

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	return strcmp(x->name, y->name) ?: strcmp(x->by, y->by);
}

struct tally_row **tally_sorted(const struct tally *tally, bool by_time, bool since_last)
{
	struct tally_row **rows = calloc(tally->nr + 1, sizeof(*rows));
	struct sorting sorting = { by_time, since_last };
	size_t i;

	for (i = 0; rows && i < tally->nr; i++)
		rows[i] = tally->rows + i;
	if (rows)
		qsort_r(rows, tally->nr, sizeof(*rows), compare_weights, &sorting);
	return rows;
}

u64 tally_quantile(const struct tally_row *row, double share)
{
	u64 wanted = ceil(row->calls * share), seen = 0;
	unsigned int i;

	for (i = 0; i < TALLY_BUCKETS - 1; i++) {
		seen += row->buckets[i];
		if (seen && seen >= wanted)
			break;
	}
	return 1ULL << i;
}

struct tally_row tally_since(const struct tally_row *row)
{
	struct tally_row since = *row;
	unsigned int i;

	since.calls -= since.old_calls;
	since.ns -= since.old_ns;
	for (i = 0; i < TALLY_BUCKETS; i++)
		since.buckets[i] -= since.old_buckets[i];
	return since;
}

void tally_free(struct tally *tally)
{
	size_t i;

	for (i = 0; i < tally->nr; i++) {
		free(tally->rows[i].name);
		free(tally->rows[i].by);
	}
	free(tally->rows);
	free(tally->order);
	memset(tally, 0, sizeof(*tally));
}
