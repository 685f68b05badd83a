// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: spans, which list the sites of a hook, table by table.
 *
 * Resolving a filter gives a bitmap per table, which sorts and merges the
 * matches of the patterns and drops those that the second filter excludes; a
 * span keeps an array of indices. A span belongs to its hook, and is freed with
 * its table.
 *
 * All under fhook_mutex.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "change.h"
#include "core.h"
#include "pattern.h"
#include "report.h"
#include "sites.h"
#include "span.h"

static int no_memory(struct fhook_report *report)
{
	return fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
			  "no memory to list the sites of a hook");
}

static struct fhook_span *span_from_bits(struct fhook_table *table,
					 const unsigned long *bits,
					 struct fhook_report *report)
{
	unsigned int site, i = 0, num = bitmap_weight(bits, table->num);
	struct fhook_span *span;

	if (!num)
		return NULL;

	span = kvmalloc(struct_size(span, sites, num), GFP_KERNEL);
	if (!span)
		return ERR_PTR(no_memory(report));

	span->table = table;
	span->num = num;
	for_each_set_bit(site, bits, table->num)
		span->sites[i++] = site;

	return span;
}

/**
 * fhook_span_select() - resolve the filters of a hook in one table
 * @hook: the hook
 * @table: the table
 * @report: report of the error
 *
 * Return: the span, NULL if no site matches, or an ERR_PTR.
 */
struct fhook_span *fhook_span_select(struct fhook_hook *hook,
				     struct fhook_table *table,
				     struct fhook_report *report)
{
	unsigned long *bits, *not;
	struct fhook_span *span;

	lockdep_assert_held(&fhook_mutex);
	if (!hook->filter)
		return NULL;

	bits = kvcalloc(BITS_TO_LONGS(table->num), sizeof(long), GFP_KERNEL);
	not = kvcalloc(BITS_TO_LONGS(table->num), sizeof(long), GFP_KERNEL);
	if (bits && not) {
		fhook_filter_select(hook->filter, table, bits);
		if (hook->notfilter)
			fhook_filter_select(hook->notfilter, table, not);
		bitmap_andnot(bits, bits, not, table->num);
		span = span_from_bits(table, bits, report);
	} else {
		span = ERR_PTR(no_memory(report));
	}

	kvfree(not);
	kvfree(bits);

	return span;
}

/* Add the span of a table, if there is one. On error, free all spans. */
static int add_span(struct list_head *spans, struct fhook_span *span)
{
	if (IS_ERR(span)) {
		fhook_spans_free(spans);
		return PTR_ERR(span);
	}
	if (span)
		list_add_tail(&span->list, spans);

	return 0;
}

/**
 * fhook_spans_select() - resolve the filters of a hook in all tables
 * @hook: the hook
 * @spans: list to add the spans to
 * @report: report of the error
 *
 * Return: 0, or an error, with @spans empty.
 */
int fhook_spans_select(struct fhook_hook *hook, struct list_head *spans,
		       struct fhook_report *report)
{
	struct fhook_table *table;
	struct fhook_span *span;
	int err;

	lockdep_assert_held(&fhook_mutex);
	fhook_filter_reset(hook->filter);
	list_for_each_entry(table, &fhook_tables, list) {
		span = fhook_span_select(hook, table, report);
		err = add_span(spans, span);
		if (err)
			return err;
	}

	return 0;
}

/* Set the bit of the site at an address in its table's bitmap. */
static int want_addr(unsigned long addr, struct fhook_report *report)
{
	struct fhook_table *table = fhook_table_of(addr);
	int site = table ? fhook_table_find(table, addr) : -ENOENT;

	if (site < 0)
		return fhook_fail(report, FHOOK_ERR_NO_SLOT, -ENOENT, addr,
				  "there is no slot at %pS", (void *)addr);

	if (!table->wanted)
		table->wanted = kvcalloc(BITS_TO_LONGS(table->num), sizeof(long),
					 GFP_KERNEL);
	if (!table->wanted)
		return no_memory(report);
	__set_bit(site, table->wanted);

	return 0;
}

/**
 * fhook_spans_by_addr() - look up the sites of addresses
 * @spans: list to add the spans to
 * @addrs: addresses of functions or of their slots
 * @num: number of addresses
 * @report: report of the error
 *
 * Return: 0, or an error, with @spans empty.
 */
int fhook_spans_by_addr(struct list_head *spans, const unsigned long *addrs,
			unsigned int num, struct fhook_report *report)
{
	struct fhook_table *table;
	unsigned int i;
	int err = 0;

	lockdep_assert_held(&fhook_mutex);
	for (i = 0; i < num && !err; i++) {
		err = want_addr(addrs[i], report);
		cond_resched();
	}

	list_for_each_entry(table, &fhook_tables, list) {
		if (table->wanted && !err)
			err = add_span(spans, span_from_bits(table, table->wanted, report));
		kvfree(table->wanted);
		table->wanted = NULL;
	}

	return err;
}

/**
 * fhook_spans_free() - free spans
 * @spans: list of spans, empty afterwards
 */
void fhook_spans_free(struct list_head *spans)
{
	struct fhook_span *span, *tmp;

	list_for_each_entry_safe(span, tmp, spans, list) {
		list_del(&span->list);
		kvfree(span);
	}
}

/**
 * fhook_span_find() - find the span of a table
 * @spans: list of spans
 * @table: the table
 *
 * Return: the span, or NULL.
 */
struct fhook_span *fhook_span_find(struct list_head *spans,
				   const struct fhook_table *table)
{
	struct fhook_span *span;

	list_for_each_entry(span, spans, list) {
		if (span->table == table)
			return span;
	}

	return NULL;
}

/* Plan changes for the sites that are in only one of two spans of a table. */
static int span_diff(struct fhook_txn *txn, struct fhook_hook *hook,
		     struct fhook_table *table, const struct fhook_span *old,
		     const struct fhook_span *new)
{
	u32 o, n, i = 0, j = 0;
	int err = 0;

	while (!err) {
		o = old && i < old->num ? old->sites[i] : U32_MAX;
		n = new && j < new->num ? new->sites[j] : U32_MAX;
		if (o == U32_MAX && n == U32_MAX)
			break;

		if (o < n)
			err = fhook_txn_del(txn, table, o, hook);
		else if (n < o)
			err = fhook_txn_add(txn, table, n, hook);
		i += o <= n;
		j += n <= o;
	}

	return err;
}

static unsigned int count_sites(const struct list_head *spans)
{
	const struct fhook_span *span;
	unsigned int num = 0;

	list_for_each_entry(span, spans, list)
		num += span->num;

	return num;
}

/**
 * fhook_spans_change() - move a hook from its sites to others
 * @txn: an empty transaction; it has ended afterwards
 * @hook: the hook
 * @old: list of the hook's spans
 * @new: list of its new spans
 *
 * Return: 0 or an error, which the report of @txn describes; then nothing has
 * changed.
 */
int fhook_spans_change(struct fhook_txn *txn, struct fhook_hook *hook,
		       struct list_head *old, struct list_head *new)
{
	struct fhook_table *table;
	int err;

	lockdep_assert_held(&fhook_mutex);
	txn->max = count_sites(old) + count_sites(new);
	list_for_each_entry(table, &fhook_tables, list) {
		err = span_diff(txn, hook, table, fhook_span_find(old, table),
				fhook_span_find(new, table));
		if (err) {
			fhook_txn_abort(txn);
			return err;
		}
	}

	return fhook_txn_commit(txn);
}
