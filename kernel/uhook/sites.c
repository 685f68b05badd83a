// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the sites of a process.
 *
 * A table of each address space says which uprobe is at an address and where
 * its slot is, so that a hit takes no lock of the address space and writes
 * nothing that others read. It is a cache: a site was made by a hit that took
 * the lock, and counts for nothing once
 *  - its uprobe has gone, or one whose address has the same hash: the memory of one stays
 *    until everybody who may have found it has left his RCU tasks trace section, and not
 *    longer; or
 *  - probed text was unmapped in this address space: what is at the address may
 *    be another file's next time.
 * Nothing else changes which file, and which place in it, an address belongs
 * to, or which uprobe is there. Whoever makes a site has read the latter counter before
 * looking, and the former before asking whether what was found has gone.
 *
 * Sites are replaced and freed after a grace period of RCU tasks trace, which
 * is one of RCU as well. Changes are made with uhook_mm::lock held.
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
	/* A program may map probed text anew without end: twice as many sites. */
	.max_size		= 32768,
};

/* Otherwise no site is remembered, and every hit is dealt with as without uhook. */
bool uhook_boost_enabled __read_mostly = true;

/* How many uprobes have gone, of those whose address has one hash. */
#define GONE_BITS	10
static atomic_long_t uprobes_gone[1 << GONE_BITS];

static atomic_long_t *gone_of(const struct uprobe *uprobe)
{
	return &uprobes_gone[hash_ptr(uprobe, GONE_BITS)];
}

/**
 * uhook_uprobe_gone - no site may lead to a uprobe that is going to be freed
 * @uprobe: it, of which there is no reference any more
 *
 * Sites of a few others, whose address has the same hash, are looked up anew.
 *
 * To be called before call_rcu_tasks_trace(): whoever still reads the old
 * generation is in a section that the grace period waits for.
 */
void uhook_uprobe_gone(const struct uprobe *uprobe)
{
	atomic_long_inc_return(gone_of(uprobe));
}

/**
 * uhook_munmap - probed text is being unmapped
 * @mm: where
 *
 * Context: with the mmap lock held and the mapping out of reach, if it goes for
 * good. Or with neither, even while nobody uses the address space any more, if
 * only its pages go.
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

/* No sites so far; 0 or -ENOMEM. */
int uhook_init_sites(struct uhook_mm *um)
{
	return rhashtable_init(&um->sites, &site_params);
}

static void free_site(void *site, void *unused)
{
	kfree(site);
}

/* Nobody looks for sites in the address space any more. */
void uhook_free_sites(struct uhook_mm *um)
{
	rhashtable_free_and_destroy(&um->sites, free_site, NULL);
}

/**
 * uhook_find_site - find the site that current hit
 * @vaddr: the address of the breakpoint
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace(), during
 * which site and uprobe stay.
 * Return: the site, with the uprobe that is there now; NULL when it has to be
 * looked for.
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
 * uhook_end_lookup - a uprobe was found
 * @lookup: of the time before
 * @uprobe: it; whether it is going has to be asked after this
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace().
 */
void uhook_end_lookup(struct uhook_lookup *lookup, const struct uprobe *uprobe)
{
	lookup->gone = atomic_long_read(gone_of(uprobe));
	/* Pairs with the barrier of uhook_uprobe_gone(): read before asking. */
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
	/* No uprobe has gone: this is the one that it was. */
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
 * uhook_add_site - remember which uprobe is at an address
 * @vaddr: the address, of current's address space
 * @uprobe: the uprobe
 * @lookup: from uhook_begin_lookup() and uhook_end_lookup(), around the looking
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace(); sleeps.
 * Return: the site, or NULL for want of memory, when there are too many, or when
 * nothing is to be boosted.
 */
struct uhook_site *uhook_add_site(unsigned long vaddr, struct uprobe *uprobe,
				  const struct uhook_lookup *lookup)
{
	struct uhook_mm *um = uhook_mm_of(current->mm);
	struct uhook_site *site;

	if (!lookup->valid || mutex_lock_killable(&um->lock))
		return NULL;

	site = enter_site(um, vaddr, uprobe, lookup);
	mutex_unlock(&um->lock);

	return site;
}

/**
 * uhook_is_known - is a site what will be found at its address?
 * @um: of current's address space
 * @site: it
 *
 * Another one may have taken its place since it was hit, which is told of changes.
 *
 * Context: task, with the mmap lock held.
 * Return: whether it is.
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
 * uhook_forget_body - a site has to look for its body again
 * @um: of the address space
 * @vaddr: the site
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
