/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: transactions: many sites from one set to another.
 */
#ifndef _FHOOK_CHANGE_H
#define _FHOOK_CHANGE_H

#include <linux/fhook.h>
#include <linux/types.h>

#include "core.h"
#include "set.h"
#include "sites.h"

/**
 * struct fhook_change - change of one site from one set to another
 * @table: table of the site
 * @site: index of the site in @table
 * @old: current set of the site, NULL for none
 * @new: new set of the site, NULL for none
 */
struct fhook_change {
	struct fhook_table	*table;
	u32			site;
	struct fhook_set	*old;
	struct fhook_set	*new;
};

/**
 * struct fhook_txn - changes that happen together or not at all
 * @changes: changes of sites
 * @detach: whether hooks are only removed; then a site that someone else has overwritten
 *	must not make the transaction fail
 * @skip_foreign: whether to skip overwritten sites instead of failing
 * @foreign: whether an overwritten site could not be detached
 * @num: number of changes
 * @max: maximum number of changes, for which @changes has room once one is planned
 * @report: report of the error
 */
struct fhook_txn {
	struct fhook_change	*changes;
	unsigned int		num;
	unsigned int		max;
	bool			detach;
	bool			skip_foreign;
	bool			foreign;
	struct fhook_report	*report;
};

int fhook_txn_add(struct fhook_txn *txn, struct fhook_table *table, u32 site,
		  struct fhook_hook *hook);
int fhook_txn_del(struct fhook_txn *txn, struct fhook_table *table, u32 site,
		  struct fhook_hook *hook);
int fhook_txn_redirect(struct fhook_txn *txn, struct fhook_table *table,
		       u32 site, unsigned long target, const u32 *gate);
int fhook_txn_reverse(struct fhook_txn *txn, const struct fhook_txn *other);
void fhook_txn_hold(struct fhook_txn *txn);
void fhook_txn_commit_held(struct fhook_txn *txn);
void fhook_txn_abort_held(struct fhook_txn *txn);
int fhook_txn_commit(struct fhook_txn *txn);
void fhook_txn_abort(struct fhook_txn *txn);
bool fhook_table_clear(struct fhook_table *table);

#endif /* _FHOOK_CHANGE_H */
