// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: transactions, which change the hook sets of many sites, all or none.
 *
 * First each change is planned: its new set is made, with its trampoline, and memory
 * to record it is reserved. Up to here nothing is visible to a running CPU, and
 * anything may fail. Then, in one go under text_mutex, every slot is compared with
 * its expected contents, and only if all of them agree are they patched; that cannot
 * fail. If someone else has written to a site, an attaching transaction fails. A
 * detaching transaction, which must not fail, leaves the site as it is and marks it,
 * so that nobody touches it again.
 *
 * All under fhook_mutex.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/err.h>
#include <linux/fhook_arch.h>
#include <linux/memory.h>
#include <linux/slab.h>

#include "change.h"
#include "core.h"
#include "report.h"
#include "set.h"
#include "sites.h"

/* Removing hooks must not fail. */
static int alloc_changes(struct fhook_txn *txn)
{
	gfp_t gfp = txn->detach ? GFP_KERNEL | __GFP_NOFAIL : GFP_KERNEL;

	txn->changes = kvmalloc_array(txn->max, sizeof(*txn->changes), gfp);
	if (txn->changes)
		return 0;

	return fhook_fail(txn->report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
			  "no memory for %u changes", txn->max);
}

/* Move to the site of a change. Neighbours are mostly in one node, so go there directly. */
static void go_to(struct xa_state *xas, const struct fhook_change *c)
{
	if (xas->xa != &c->table->used)
		*xas = (struct xa_state)__XA_STATE(&c->table->used, c->site, 0, 0);
	else if (xas_is_node(xas) && !xas->xa_node->shift &&
		 (xas->xa_index ^ c->site) <= XA_CHUNK_MASK)
		xas_advance(xas, c->site);
	else
		xas_set(xas, c->site);
}

static void store(struct xa_state *xas, const struct fhook_change *c, void *entry)
{
	go_to(xas, c);
	xas_lock(xas);
	xas_store(xas, entry);
	xas_unlock(xas);
}

/* Does recording the new set of a site need memory? */
static bool needs_entry(const struct fhook_change *c)
{
	return c->new && !c->old;
}

/* Make sure that recording the new sets will not need memory. */
static int reserve_all(struct fhook_txn *txn)
{
	XA_STATE(xas, NULL, 0);
	struct fhook_change *c;
	unsigned long func;

	for (c = txn->changes; c < txn->changes + txn->num; c++) {
		if (!needs_entry(c))
			continue;
		do {
			store(&xas, c, XA_ZERO_ENTRY);
		} while (xas_nomem(&xas, GFP_KERNEL));
		if (!xas_error(&xas))
			continue;
		func = fhook_site_func(c->table, c->site);
		return fhook_fail(txn->report, FHOOK_ERR_NO_MEMORY, xas_error(&xas), func,
				  "no memory for the state of %ps", (void *)func);
	}

	return 0;
}

static void release_all(struct fhook_txn *txn)
{
	struct fhook_change *c;

	for (c = txn->changes; c < txn->changes + txn->num; c++) {
		if (needs_entry(c))
			xa_release(&c->table->used, c->site);
	}
}

static int fail_foreign(const struct fhook_table *table, u32 site,
			struct fhook_report *report)
{
	unsigned long addr = fhook_site_addr(table, site);

	return fhook_fail(report, FHOOK_ERR_BYTES, -EFAULT, addr,
			  "the slot of %ps was overwritten by somebody else",
			  (void *)addr);
}

/* Does the slot still have someone else's bytes, or have they restored ours? */
static bool is_lost(struct fhook_table *table, u32 site,
		    const struct fhook_set *set)
{
	if (!fhook_site_marked(table, site, FHOOK_SITE_FOREIGN))
		return false;
	if (!fhook_arch_site_has(fhook_site_addr(table, site),
				 fhook_set_state(set), fhook_set_dest(set)))
		return true;

	xa_clear_mark(&table->used, site, FHOOK_SITE_FOREIGN);

	return false;
}

/*
 * The previous change, if its result for the same set is right here, too:
 * neighbouring sites mostly make the same change. One of the two may have kept a
 * redirect that the other one still has.
 */
static const struct fhook_change *same_change(const struct fhook_txn *txn,
					      const struct fhook_table *table,
					      u32 site,
					      const struct fhook_set *old)
{
	const struct fhook_change *last;

	if (!txn->num)
		return NULL;

	last = &txn->changes[txn->num - 1];

	return last->old == old && !fhook_site_stale(last->table, last->site) &&
	       !fhook_site_stale(table, site) ? last : NULL;
}

static int plan(struct fhook_txn *txn, struct fhook_table *table, u32 site,
		struct fhook_set *old, struct fhook_set *new)
{
	int err;

	if (IS_ERR(new)) {
		fhook_fail_at(txn->report, fhook_site_func(table, site));
		return PTR_ERR(new);
	}

	/* Mostly nothing changes when a module is loaded, and that must need no memory. */
	if (!txn->changes) {
		err = alloc_changes(txn);
		if (err)
			return err;
	}
	if (WARN_ON_ONCE(txn->num == txn->max))
		return -ENOSPC;
	txn->changes[txn->num++] = (struct fhook_change) {
		.table	= table,
		.site	= site,
		.old	= old,
		.new	= new,
	};

	return 0;
}

/**
 * fhook_txn_add() - plan to add a hook to a site
 * @txn: the transaction
 * @table: the table of the site
 * @site: index of the site
 * @hook: the hook; a transaction adds only one hook
 *
 * Return: 0 or an error, which the report of @txn describes.
 */
int fhook_txn_add(struct fhook_txn *txn, struct fhook_table *table, u32 site,
		  struct fhook_hook *hook)
{
	unsigned long addr = fhook_site_addr(table, site);
	struct fhook_set *old = xa_load(&table->used, site);
	const struct fhook_change *same;
	unsigned int func_offset;

	lockdep_assert_held(&fhook_mutex);
	if (fhook_set_has(old, hook))
		return 0;

	if (is_lost(table, site, old))
		return txn->skip_foreign ? 0 : fail_foreign(table, site,
							    txn->report);

	func_offset = old ? old->func_offset : fhook_arch_func_offset(addr);
	same = same_change(txn, table, site, old);
	if (same && same->new && same->new->func_offset == func_offset &&
	    fhook_arch_reaches(addr, same->new->dest))
		return plan(txn, table, site, old, same->new);

	return plan(txn, table, site, old,
		    fhook_set_with(old, !fhook_site_stale(table, site), hook,
				   addr, func_offset, txn->report));
}

/**
 * fhook_txn_del() - plan to remove a hook from a site
 * @txn: the transaction
 * @table: the table of the site
 * @site: index of the site
 * @hook: the hook; a transaction removes only one hook
 *
 * Return: 0 or an error, which the report of @txn describes.
 */
int fhook_txn_del(struct fhook_txn *txn, struct fhook_table *table, u32 site,
		  struct fhook_hook *hook)
{
	unsigned long addr = fhook_site_addr(table, site);
	struct fhook_set *old = xa_load(&table->used, site);
	const struct fhook_change *same;

	lockdep_assert_held(&fhook_mutex);
	if (!fhook_set_has(old, hook))
		return 0;

	/* A site whose bytes have been restored is left like any other. */
	is_lost(table, site, old);
	same = same_change(txn, table, site, old);
	if (same && (!same->new || fhook_arch_reaches(addr, same->new->dest)))
		return plan(txn, table, site, old, same->new);

	return plan(txn, table, site, old,
		    fhook_set_without(old, !fhook_site_stale(table, site), hook,
				      addr, txn->report));
}

/**
 * fhook_txn_redirect() - plan to let a function continue elsewhere
 * @txn: the transaction
 * @table: the table of the site
 * @site: index of the site; a transaction redirects each function only once
 * @target: address to continue at, 0 for the function itself
 * @gate: word that enables @target while it is not 0, or NULL
 *
 * Return: 0 or an error, which the report of @txn describes.
 */
int fhook_txn_redirect(struct fhook_txn *txn, struct fhook_table *table,
		       u32 site, unsigned long target, const u32 *gate)
{
	unsigned long addr = fhook_site_addr(table, site);
	struct fhook_set *old = xa_load(&table->used, site);
	unsigned int func_offset;

	lockdep_assert_held(&fhook_mutex);
	if (is_lost(table, site, old) && !txn->detach)
		return txn->skip_foreign ? 0 : fail_foreign(table, site,
							    txn->report);

	if (!fhook_site_stale(table, site) &&
	    (old ? old->target == target && old->gate == gate : !target))
		return 0;

	func_offset = old ? old->func_offset : fhook_arch_func_offset(addr);

	return plan(txn, table, site, old,
		    fhook_set_redirected(old, target, gate, addr, func_offset,
					 txn->report));
}

/* Does the slot have the bytes that fhook wrote? */
static int verify(const struct fhook_change *c, struct fhook_report *report)
{
	unsigned long addr = fhook_site_addr(c->table, c->site);

	if (fhook_arch_site_has(addr, fhook_set_state(c->old),
				fhook_set_dest(c->old)))
		return 0;

	return fhook_fail(report, FHOOK_ERR_BYTES, -EFAULT, addr,
			  "the slot of %ps (at %pS) holds %*phN: remove the foreign patch",
			  (void *)addr, (void *)addr, FHOOK_SLOT_SIZE,
			  (void *)addr);
}

static bool is_foreign(const struct fhook_change *c)
{
	return fhook_site_marked(c->table, c->site, FHOOK_SITE_FOREIGN);
}

static int verify_all(struct fhook_txn *txn)
{
	struct fhook_change *c;
	int err;

	for (c = txn->changes; c < txn->changes + txn->num; c++) {
		/* A lost site stays lost, even if its bytes have been restored. */
		err = is_foreign(c) ? fail_foreign(c->table, c->site,
						   txn->report) :
				      verify(c, txn->report);
		if (!err)
			continue;
		if (!txn->detach)
			return err;

		if (!is_foreign(c))
			pr_err("%s; fhook leaves it unchanged\n", txn->report->text);
		xa_set_mark(&c->table->used, c->site, FHOOK_SITE_FOREIGN);
		txn->foreign = true;
	}

	return 0;
}

/**
 * fhook_table_clear() - write no-ops to the used slots of a table
 * @table: the table; the sets of its sites are not changed
 *
 * Needs no memory and cannot fail. If someone else has written to a slot, it is not
 * changed, and the site is marked.
 *
 * Return: true if there was no such slot.
 */
bool fhook_table_clear(struct fhook_table *table)
{
	struct fhook_set *set;
	unsigned long site, addr;
	bool all = true;

	lockdep_assert_held(&fhook_mutex);
	mutex_lock(&text_mutex);
	xa_for_each(&table->used, site, set) {
		addr = fhook_site_addr(table, site);
		if (fhook_arch_site_has(addr, fhook_set_state(set),
					fhook_set_dest(set))) {
			xa_clear_mark(&table->used, site, FHOOK_SITE_FOREIGN);
			fhook_arch_site_queue(addr, FHOOK_NOP, NULL);
			continue;
		}
		xa_set_mark(&table->used, site, FHOOK_SITE_FOREIGN);
		all = false;
	}
	fhook_arch_site_flush();
	mutex_unlock(&text_mutex);

	return all;
}

static void patch_all(struct fhook_txn *txn)
{
	struct fhook_change *c;

	for (c = txn->changes; c < txn->changes + txn->num; c++) {
		if (!is_foreign(c))
			fhook_arch_site_queue(fhook_site_addr(c->table,
							      c->site),
					      fhook_set_state(c->new),
					      fhook_set_dest(c->new));
	}
	fhook_arch_site_flush();
}

/*
 * A foreign site keeps its set, because its trampoline may be called forever. Only if
 * it has no trampoline, and is to have no set, nothing has to be kept.
 */
static bool keeps_set(const struct fhook_change *c)
{
	return is_foreign(c) && c->old && (c->new || c->old->text);
}

/*
 * Drop sets only after all sites have taken theirs: a site may take the set that
 * another leaves.
 */
static void remember_all(struct fhook_txn *txn)
{
	XA_STATE(xas, NULL, 0);
	struct fhook_change *c;

	for (c = txn->changes; c < txn->changes + txn->num; c++) {
		if (keeps_set(c)) {
			if (c->old->target && !(c->new && c->new->target))
				xa_set_mark(&c->table->used, c->site, FHOOK_SITE_STALE);
			continue;
		}

		fhook_set_get(c->new);
		if (c->new)
			store(&xas, c, c->new);
		if (fhook_site_stale(c->table, c->site))
			xa_clear_mark(&c->table->used, c->site, FHOOK_SITE_STALE);
	}

	for (c = txn->changes; c < txn->changes + txn->num; c++) {
		if (keeps_set(c))
			continue;

		if (!c->new)
			store(&xas, c, NULL);
		fhook_set_put(c->old);
	}
}

/**
 * fhook_txn_abort() - discard the planned changes
 * @txn: the transaction; it has ended afterwards
 */
void fhook_txn_abort(struct fhook_txn *txn)
{
	lockdep_assert_held(&fhook_mutex);
	fhook_set_drop_unused();
	kvfree(txn->changes);
	txn->changes = NULL;
	txn->num = 0;
	txn->max = 0;
}

/**
 * fhook_txn_commit() - make the planned changes
 * @txn: the transaction; it has ended in any case
 *
 * Return: 0 or an error, in which case nothing has changed.
 */
int fhook_txn_commit(struct fhook_txn *txn)
{
	int err;

	lockdep_assert_held(&fhook_mutex);
	err = reserve_all(txn);
	if (!err) {
		mutex_lock(&text_mutex);
		err = verify_all(txn);
		if (!err)
			patch_all(txn);
		mutex_unlock(&text_mutex);
	}

	if (err)
		release_all(txn);
	else
		remember_all(txn);
	fhook_txn_abort(txn);

	return err;
}

/**
 * fhook_txn_reverse() - plan to undo another transaction
 * @txn: an empty transaction
 * @other: the transaction to undo, planned and not committed
 *
 * Return: 0, or -ENOMEM, which the report of @txn describes.
 */
int fhook_txn_reverse(struct fhook_txn *txn, const struct fhook_txn *other)
{
	unsigned int i;
	int err;

	lockdep_assert_held(&fhook_mutex);
	txn->max = other->num;
	err = alloc_changes(txn);
	if (err)
		return err;

	for (i = 0; i < other->num; i++) {
		txn->changes[i] = other->changes[i];
		txn->changes[i].new = other->changes[i].old;
	}
	txn->num = other->num;

	return 0;
}

/**
 * fhook_txn_hold() - keep planned changes while other transactions run
 * @txn: the transaction, which only detaches and so cannot fail
 *
 * All memory that it needs has been allocated. It ends by fhook_txn_commit_held() or
 * fhook_txn_abort_held(), under the same hold of fhook_mutex.
 */
void fhook_txn_hold(struct fhook_txn *txn)
{
	unsigned int i;

	lockdep_assert_held(&fhook_mutex);
	for (i = 0; i < txn->num; i++)
		fhook_set_get(txn->changes[i].new);
}

/**
 * fhook_txn_commit_held() - make the planned changes to the present sets
 * @txn: the transaction; it has ended afterwards
 *
 * Needs no memory: each of its sites either has a set, or will have none, or had none
 * when memory was reserved.
 */
void fhook_txn_commit_held(struct fhook_txn *txn)
{
	struct fhook_change *c;
	unsigned int i;

	lockdep_assert_held(&fhook_mutex);
	for (i = 0; i < txn->num; i++) {
		c = &txn->changes[i];
		c->old = xa_load(&c->table->used, c->site);
	}

	mutex_lock(&text_mutex);
	WARN_ON_ONCE(verify_all(txn));
	patch_all(txn);
	mutex_unlock(&text_mutex);

	remember_all(txn);
	fhook_txn_abort_held(txn);
}

/**
 * fhook_txn_abort_held() - discard the planned changes
 * @txn: the transaction; it has ended afterwards
 */
void fhook_txn_abort_held(struct fhook_txn *txn)
{
	unsigned int i;

	lockdep_assert_held(&fhook_mutex);
	for (i = 0; i < txn->num; i++)
		fhook_set_put(txn->changes[i].new);
	fhook_txn_abort(txn);
}
