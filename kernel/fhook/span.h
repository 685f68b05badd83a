/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: the sites of a hook.
 */
#ifndef _FHOOK_SPAN_H
#define _FHOOK_SPAN_H

#include <linux/fhook.h>
#include <linux/list.h>

#include "change.h"
#include "core.h"
#include "sites.h"

/**
 * struct fhook_span - the sites of one hook in one table
 * @list: link in &fhook_hook.spans
 * @table: the table
 * @num: number of sites
 * @sites: indices of the sites, ascending
 */
struct fhook_span {
	struct list_head	list;
	struct fhook_table	*table;
	unsigned int		num;
	u32			sites[] __counted_by(num);
};

struct fhook_span *fhook_span_select(struct fhook_hook *hook,
				     struct fhook_table *table,
				     struct fhook_report *report);
struct fhook_span *fhook_span_find(struct list_head *spans,
				   const struct fhook_table *table);
int fhook_spans_by_addr(struct list_head *spans, const unsigned long *addrs,
			unsigned int num, struct fhook_report *report);
int fhook_spans_select(struct fhook_hook *hook, struct list_head *spans,
		       struct fhook_report *report);
void fhook_spans_free(struct list_head *spans);
int fhook_spans_change(struct fhook_txn *txn, struct fhook_hook *hook,
		       struct list_head *old, struct list_head *new);

#endif /* _FHOOK_SPAN_H */
