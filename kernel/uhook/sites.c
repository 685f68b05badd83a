// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the sites of a process.
 *
 * A table in each address space maps an address to its uprobe and slot, so that a hit
 * takes no lock of the address space and writes no shared data. It is a cache: a site is
 * added by a hit that took the lock, and becomes stale when
 * - its uprobe is removed, or another uprobe whose address has the same hash: a removed
 *   uprobe is freed after the RCU tasks trace sections of all tasks that may have found it; or
 * - probed text is unmapped from this address space, because another file may be mapped at
 *   the address next.
 * Nothing else changes the file and offset of an address, or its uprobe. A hit that adds
 * a site reads the counter of unmappings before it looks the uprobe up, and the counter
 * of removals before it checks whether the uprobe is being removed.
 *
 * Sites are replaced with uhook_mm::lock held, and freed after a grace period of RCU
 * tasks trace, which implies one of RCU.
 */
#include <linux/hash.h>
#include <linux/mm_types.h>
#include <linux/mmap_lock.h>
#include <linux/rcupdate.h>
#include <linux/rcupdate_trace.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uhook_hooks.h>

#include "sites.h"

static const struct rhashtable_params site_params = {
	.key_len		= sizeof_field(struct uhook_site, vaddr),
	.key_offset		= offsetof(struct uhook_site, vaddr),
	.head_offset		= offsetof(struct uhook_site, node),
	.automatic_shrinking	= true,
	/*
	 * A program may map probed text any number of times: limit the table (to twice
	 * max_size).
	 */
	.max_size		= 32768,
};

/* If false, no site is cached, and hits are handled as without uhook. */
bool uhook_boost_enabled __read_mostly = true;

/* Numbers of removed uprobes, by hash of their address. */
#define GONE_BITS	10
static atomic_long_t uprobes_gone[1 << GONE_BITS];

static atomic_long_t *gone_of(const struct uprobe *uprobe)
{
	return &uprobes_gone[hash_ptr(uprobe, GONE_BITS)];
}

/**
 * uhook_uprobe_gone - invalidate the sites of a uprobe that is going to be freed
 * @uprobe: the uprobe, to which no references remain
 *
 * Also invalidates sites of uprobes whose address has the same hash.
 *
 * To be called before call_rcu_tasks_trace(): a task that still reads the old count is in
 * a section that the grace period waits for.
 */
void uhook_uprobe_gone(const struct uprobe *uprobe)
{
	atomic_long_inc_return(gone_of(uprobe));
}

/**
 * uhook_munmap - invalidate sites when probed text is unmapped
 * @mm: address space
 *
 * Context: if the mapping is removed, with the mmap lock held after the mapping
 * can no longer be found. If only its pages are removed, no lock is needed, even if the
 * address space has no users.
 */
void uhook_munmap(struct mm_struct *mm)
{
	atomic_long_inc_return(&mm->uprobes_state.unmapped);
}

static bool is_current(const struct uhook_site *site, const struct mm_struct *mm)
{
	return site->gone == atomic_long_read(gone_of(site->uprobe)) &&
	       READ_ONCE(site->unmapped) == atomic_long_read(&mm->uprobes_state.unmapped);
}

static struct uhook_site *lookup_site(struct uhook_mm *um, unsigned long vaddr)
{
	return rhashtable_lookup_fast(&um->sites, &vaddr, site_params);
}

/* Whether the table takes no more sites; stable with um->lock held. */
static bool is_full(const struct uhook_mm *um)
{
	return atomic_read(&um->sites.nelems) >= um->sites.max_elems;
}

/* Create an empty table of sites. Return 0 or -ENOMEM. */
int uhook_init_sites(struct uhook_mm *um)
{
	return rhashtable_init(&um->sites, &site_params);
}

static void free_site(void *site, void *unused)
{
	kfree(site);
}

/* Free the sites of an address space without users. */
void uhook_free_sites(struct uhook_mm *um)
{
	rhashtable_free_and_destroy(&um->sites, free_site, NULL);
}

/**
 * uhook_find_site - find the site that current hit
 * @vaddr: address of the breakpoint
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace(), until which site
 * and uprobe remain valid.
 * Return: the site, with its current uprobe; NULL if the uprobe has to be looked up.
 */
struct uhook_site *uhook_find_site(unsigned long vaddr)
{
	struct uhook_mm *um = uhook_mm_of(current->mm);
	struct uhook_site *site;

	if (!um || !READ_ONCE(uhook_boost_enabled))
		return NULL;

	site = lookup_site(um, vaddr);
	if (!site || !is_current(site, current->mm))
		return NULL;

	return site;
}

/* The uprobe of a site that was just found. */
struct uprobe *uhook_site_uprobe(const struct uhook_site *site)
{
	return site->uprobe;
}

/**
 * uhook_end_lookup - finish the look-up of a uprobe
 * @lookup: state from uhook_begin_lookup()
 * @uprobe: uprobe that was found; check afterwards whether it is being removed
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace().
 */
void uhook_end_lookup(struct uhook_lookup *lookup, const struct uprobe *uprobe)
{
	lookup->gone = atomic_long_read(gone_of(uprobe));
	/* Pairs with uhook_uprobe_gone(): read the count before checking the uprobe. */
	smp_rmb();
}

static void free_site_rcu(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct uhook_site, rcu));
}

static struct uhook_site *make_site(unsigned long vaddr, struct uprobe *uprobe,
				    const struct uhook_lookup *lookup)
{
	struct uhook_site *site = kzalloc(sizeof(*site), GFP_UHOOK);

	if (!site)
		return NULL;

	site->vaddr = vaddr;
	site->uprobe = uprobe;
	site->gone = lookup->gone;
	site->unmapped = lookup->unmapped;
	site->verdict = UHOOK_UNDECIDED;
	site->body_verdict = UHOOK_UNDECIDED;
	site->again = jiffies;

	return site;
}

/* With um->lock held. */
static struct uhook_site *enter_site(struct uhook_mm *um, unsigned long vaddr,
				     struct uprobe *uprobe, const struct uhook_lookup *lookup)
{
	struct uhook_site *old = lookup_site(um, vaddr), *site;

	lockdep_assert_held(&um->lock);
	/* No uprobe with this hash was removed: it is the same uprobe. */
	if (old && old->uprobe == uprobe && old->gone == lookup->gone) {
		WRITE_ONCE(old->unmapped, lookup->unmapped);
		return old;
	}

	site = make_site(vaddr, uprobe, lookup);
	if (!site)
		return NULL;

	if (old ? rhashtable_replace_fast(&um->sites, &old->node, &site->node, site_params) :
		  rhashtable_insert_fast(&um->sites, &site->node, site_params)) {
		kfree(site);
		return NULL;
	}
	if (old)
		call_rcu_tasks_trace(&old->rcu, free_site_rcu);

	return site;
}

/**
 * uhook_add_site - cache the uprobe of an address
 * @vaddr: address in current's address space
 * @uprobe: the uprobe
 * @lookup: state from uhook_begin_lookup() and uhook_end_lookup()
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace(); sleeps.
 * Return: the site, or NULL if there is no memory, if there are too many sites, or if
 * boost is disabled.
 */
struct uhook_site *uhook_add_site(unsigned long vaddr, struct uprobe *uprobe,
				  const struct uhook_lookup *lookup)
{
	struct uhook_mm *um = uhook_mm_of(current->mm);
	struct uhook_site *site;

	if (!lookup->valid)
		return NULL;

	/* Each later hit at this address comes here as well: do not let them contend. */
	if (is_full(um) && !lookup_site(um, vaddr)) {
		atomic_long_inc(&um->unkept);
		return NULL;
	}

	if (mutex_lock_killable(&um->lock))
		return NULL;

	site = enter_site(um, vaddr, uprobe, lookup);
	mutex_unlock(&um->lock);

	return site;
}

/**
 * uhook_is_known - check whether a site is still valid and in the table
 * @um: state of current's address space
 * @site: the site
 *
 * Another site may have replaced it since the hit, and only that one is updated by
 * changes.
 *
 * Context: task, with the mmap lock held.
 * Return: whether the site is valid.
 */
bool uhook_is_known(struct uhook_mm *um, const struct uhook_site *site)
{
	bool known;

	mmap_assert_locked(um->mm);
	rcu_read_lock();
	known = lookup_site(um, site->vaddr) == site && is_current(site, um->mm);
	rcu_read_unlock();

	return known;
}

/**
 * uhook_forget_body - make a site look for its body again
 * @um: state of the address space
 * @vaddr: address of the site
 *
 * Context: task, with the mmap lock held.
 */
void uhook_forget_body(const struct uhook_mm *um, unsigned long vaddr)
{
	struct uhook_site *site;

	mmap_assert_locked(um->mm);
	rcu_read_lock();
	site = lookup_site((struct uhook_mm *)um, vaddr);
	if (site) {
		WRITE_ONCE(site->body_verdict, UHOOK_UNDECIDED);
		WRITE_ONCE(site->again, jiffies);
		WRITE_ONCE(site->tries, 0);
		WRITE_ONCE(site->body, 0);
	}
	rcu_read_unlock();
}
