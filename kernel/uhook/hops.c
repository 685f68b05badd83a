// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: hops, intermediate jumps for sites that cannot jump to their body directly.
 *
 * A jump over an instruction that is shorter than the jump takes the following bytes of
 * the text as the rest of its displacement. At the resulting address the process gets a
 * page with a hop: a jump to the body. Pages are mapped in ranges where there is room, so
 * that nearby sites find their pages mapped already, and one by one elsewhere. They are
 * special mappings, as areas are: the program may execute them, but cannot change or
 * replace them. Existing mappings stay, and room is left for heap and stack to grow.
 *
 * A hop is written before the jump to it. If there is room for only one hop, and its site
 * has another body by now, the page is replaced by a copy in which the hop leads to the
 * new body; until the replacement is complete, threads may take either hop. A child has
 * its parent's hops; a range with several owners never changes.
 *
 * Blocks are found by address without a lock, by tasks that run in the address space.
 * They are added with uhook_mm::lock and the mmap lock held, and freed when the address
 * space has no users. Replaced pages are freed after an RCU grace period.
 *
 * LiteInst introduced instruction punning; providing the targets from the kernel is new.
 */
#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/hook_base.h>
#include <linux/hook_base_mm.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "areas.h"
#include "handlers.h"
#include "hops.h"
#include "text.h"

#define HOP_RANGE_PAGES	16
#define HOP_RANGE_SIZE	(HOP_RANGE_PAGES * PAGE_SIZE)

/* Maximum number of hop pages of a process. */
#define MAX_HOP_PAGES	4096

/**
 * struct hop_page - a page of hops
 * @page: the page
 * @rcu: for freeing after a grace period
 * @used: bitmap of bytes in use
 * @starts: bitmap of the first bytes of hops
 */
struct hop_page {
	struct page	*page;
	struct rcu_head	rcu;
	DECLARE_BITMAP(used, PAGE_SIZE);
	DECLARE_BITMAP(starts, PAGE_SIZE);
};

/**
 * struct uhook_hops - a range of hop pages
 * @ref: number of address spaces that have the range
 * @vaddr: address of the range
 * @mapped: bitmap of pages that are mapped in the process
 * @pages: pages with hops; change with the mmap lock for writing held
 */
struct uhook_hops {
	refcount_t	ref;
	unsigned long	vaddr;
	unsigned long	mapped;
	struct hop_page	__rcu *pages[HOP_RANGE_PAGES];
};

static struct uhook_hops *range_at(const struct uhook_mm *um, unsigned long addr)
{
	return xa_load((struct xarray *)&um->hops, addr / HOP_RANGE_SIZE);
}

/* The caller holds the mmap lock. */
static struct hop_page *hop_page_of(const struct uhook_mm *um, const struct uhook_hops *range,
				    unsigned int i)
{
	return rcu_dereference_check(range->pages[i], lockdep_is_held(&um->mm->mmap_lock));
}

static struct page *page_at(const struct uhook_mm *um, unsigned long addr)
{
	struct uhook_hops *range = range_at(um, addr);
	struct hop_page *hp;

	if (!range)
		return NULL;
	/* The mmap lock keeps pages from being replaced. */
	hp = hop_page_of(um, range, addr % HOP_RANGE_SIZE / PAGE_SIZE);

	return hp ? hp->page : NULL;
}

static const struct uhook_text hop_text = UHOOK_TEXT(page_at);

static enum uhook_jump_blocker map_pages(struct mm_struct *mm, unsigned long start,
					 unsigned long size)
{
	if (!uhook_is_free(mm, start, size))
		return UHOOK_BLOCKER_TAKEN;
	if (!uhook_leaves_room(mm, size) || uhook_map_text(mm, &hop_text, start, size, 0))
		return UHOOK_BLOCKER_ERROR;

	return UHOOK_NO_BLOCKER;
}

static struct uhook_hops *make_range(struct uhook_mm *um, unsigned long vaddr)
{
	struct uhook_hops *range = kzalloc(sizeof(*range), GFP_UHOOK);

	if (!range)
		return NULL;

	refcount_set(&range->ref, 1);
	range->vaddr = vaddr;
	if (xa_err(xa_store(&um->hops, vaddr / HOP_RANGE_SIZE, range, GFP_UHOOK))) {
		kfree(range);
		return NULL;
	}

	return range;
}

/* Map a page, or all pages of the range if there is room. */
static enum uhook_jump_blocker map_page(struct uhook_hops *range, unsigned int i)
{
	struct mm_struct *mm = current->mm;
	enum uhook_jump_blocker blocker;

	if (test_bit(i, &range->mapped))
		return UHOOK_NO_BLOCKER;

	if (!range->mapped && !map_pages(mm, range->vaddr, HOP_RANGE_SIZE)) {
		range->mapped = GENMASK(HOP_RANGE_PAGES - 1, 0);
		return UHOOK_NO_BLOCKER;
	}

	blocker = map_pages(mm, range->vaddr + i * PAGE_SIZE, PAGE_SIZE);
	if (!blocker)
		__set_bit(i, &range->mapped);

	return blocker;
}

static int make_hop_page(struct uhook_mm *um, struct uhook_hops *range, unsigned int i)
{
	struct hop_page *hp;

	if (rcu_access_pointer(range->pages[i]))
		return 0;

	hp = kvzalloc(sizeof(*hp), GFP_UHOOK);
	if (!hp)
		return -ENOMEM;
	if (uhook_make_text_page(&hp->page)) {
		kvfree(hp);
		return -ENOMEM;
	}
	um->nr_hop_pages++;
	/* Translations read the pointer without a lock. */
	rcu_assign_pointer(range->pages[i], hp);

	return 0;
}

/* Free place for a hop between offsets FIRST and LAST of a page, or -1. */
static long find_place(const struct hop_page *hp, unsigned int first, unsigned int last)
{
	unsigned long at;

	at = bitmap_find_next_zero_area((unsigned long *)hp->used, PAGE_SIZE, first,
					UHOOK_JUMP_MAX, 0);

	return at <= last ? at : -1;
}

static void free_hop_page(struct hop_page *hp)
{
	put_page(hp->page);
	kvfree(hp);
}

static void free_hop_page_rcu(struct rcu_head *rcu)
{
	free_hop_page(container_of(rcu, struct hop_page, rcu));
}

static struct hop_page *copy_hop_page(const struct hop_page *from)
{
	struct hop_page *hp = kvmemdup(from, sizeof(*from), GFP_UHOOK);

	if (!hp)
		return NULL;

	hp->page = NULL;
	if (uhook_make_text_page(&hp->page)) {
		kvfree(hp);
		return NULL;
	}
	copy_page(page_address(hp->page), page_address(from->page));

	return hp;
}

/**
 * struct hop_want - requirements for a hop
 * @body: address of the body that the hop leads to
 * @first: lowest usable address in the page
 * @last: highest usable address in the page
 */
struct hop_want {
	unsigned long body;
	unsigned long first;
	unsigned long last;
};

/* Whether the limits allow the process another page and mapping, if needed. */
static bool has_room(const struct uhook_mm *um, const struct uhook_hops *range, unsigned int i)
{
	if (range && rcu_access_pointer(range->pages[i]))
		return true;
	if (um->nr_hop_pages == MAX_HOP_PAGES)
		return false;

	return (range && test_bit(i, &range->mapped)) ||
	       current->mm->map_count < get_sysctl_max_map_count() / 2;
}

/* Address of a usable hop that leads to any body of the same site, or 0. */
static unsigned long hop_of_site(const struct uhook_mm *um, const struct hop_page *hp,
				 const struct hop_want *want)
{
	unsigned long page = want->first & PAGE_MASK, at = offset_in_page(want->first);
	unsigned long site = uhook_site_of(um, want->body), body;

	for_each_set_bit_from(at, hp->starts, offset_in_page(want->last) + 1) {
		body = arch_uhook_jump_target(page + at, page_address(hp->page) + at);
		if (site && uhook_site_of(um, body) == site)
			return page + at;
	}

	return 0;
}

/* Redirect a hop of the same site to the new body. */
static enum uhook_jump_blocker turn_hop(struct uhook_mm *um, struct uhook_hops *range,
					const struct hop_want *want, unsigned long *hop)
{
	unsigned int i = want->first % HOP_RANGE_SIZE / PAGE_SIZE;
	struct hop_page *old = hop_page_of(um, range, i), *hp;
	unsigned long addr = hop_of_site(um, old, want);
	u8 bytes[UHOOK_JUMP_MAX];

	if (!addr || uhook_make_hop(addr, want->body, bytes))
		return UHOOK_BLOCKER_TAKEN;
	hp = copy_hop_page(old);
	if (!hp)
		return UHOOK_BLOCKER_ERROR;

	arch_uprobe_copy_ixol(hp->page, addr, bytes, sizeof(bytes));
	rcu_assign_pointer(range->pages[i], hp);
	zap_vma_range(vma_lookup(current->mm, addr), addr & PAGE_MASK, PAGE_SIZE);
	call_rcu(&old->rcu, free_hop_page_rcu);
	*hop = addr;

	return UHOOK_NO_BLOCKER;
}

static enum uhook_jump_blocker hop_in_page(struct uhook_mm *um, const struct hop_want *want,
					   unsigned long *hop)
{
	unsigned int i = want->first % HOP_RANGE_SIZE / PAGE_SIZE;
	struct uhook_hops *range = range_at(um, want->first);
	u8 bytes[UHOOK_JUMP_MAX];
	struct hop_page *hp;
	enum uhook_jump_blocker blocker;
	unsigned long addr;
	long at;

	if (!has_room(um, range, i))
		return UHOOK_BLOCKER_FULL;
	if (!range && !uhook_is_free(current->mm, want->first & PAGE_MASK, PAGE_SIZE))
		return UHOOK_BLOCKER_TAKEN;
	if (!range)
		range = make_range(um, ALIGN_DOWN(want->first, HOP_RANGE_SIZE));
	if (!range)
		return UHOOK_BLOCKER_ERROR;
	if (refcount_read(&range->ref) > 1)
		return UHOOK_BLOCKER_SHARED;

	blocker = map_page(range, i);
	if (blocker)
		return blocker;
	if (make_hop_page(um, range, i))
		return UHOOK_BLOCKER_ERROR;

	hp = hop_page_of(um, range, i);
	at = find_place(hp, offset_in_page(want->first), offset_in_page(want->last));
	if (at < 0)
		return turn_hop(um, range, want, hop);

	addr = (want->first & PAGE_MASK) + at;
	if (uhook_make_hop(addr, want->body, bytes))
		return UHOOK_BLOCKER_TAKEN;

	arch_uprobe_copy_ixol(hp->page, addr, bytes, sizeof(bytes));
	bitmap_set(hp->used, at, UHOOK_JUMP_MAX);
	/* Write the hop before setting its bit: uhook_hop_body(). */
	smp_mb__before_atomic();
	set_bit(at, hp->starts);
	*hop = addr;

	return UHOOK_NO_BLOCKER;
}

/**
 * uhook_take_hop - get a hop to a body
 * @um: state of current's address space
 * @targets: addresses that the jump can reach
 * @body: address of the body
 * @hop: address of an earlier hop to the body, or 0; receives the address of the hop,
 *	which may have led to an earlier body of the site
 *
 * Context: task, with @um->lock and the mmap lock for writing held.
 * Return: UHOOK_NO_BLOCKER; UHOOK_BLOCKER_TAKEN if the addresses are in use,
 * UHOOK_BLOCKER_SHARED if another process shares the page, UHOOK_BLOCKER_FULL if there are
 * too many pages, UHOOK_BLOCKER_ERROR if there is no memory.
 */
enum uhook_jump_blocker uhook_take_hop(struct uhook_mm *um, const struct uhook_targets *targets,
				       unsigned long body, unsigned long *hop)
{
	struct hop_want want = { .body = body, .first = targets->first };
	enum uhook_jump_blocker ret = UHOOK_BLOCKER_TAKEN, blocker;

	lockdep_assert_held(&um->lock);
	mmap_assert_write_locked(current->mm);
	if (*hop >= targets->first && *hop <= targets->last && uhook_hop_body(um, *hop) == body)
		return UHOOK_NO_BLOCKER;

	while (want.first <= targets->last) {
		unsigned long page = want.first & PAGE_MASK;

		/* A hop must not cross the end of the page. */
		want.last = min(targets->last, page + PAGE_SIZE - UHOOK_JUMP_MAX);
		blocker = want.first > want.last ? UHOOK_BLOCKER_TAKEN :
			  hop_in_page(um, &want, hop);
		if (!blocker || blocker == UHOOK_BLOCKER_ERROR)
			return blocker;
		if (ret == UHOOK_BLOCKER_TAKEN)
			ret = blocker;
		want.first = page + PAGE_SIZE;
	}

	return ret;
}

/**
 * uhook_hop_body - find the body that a hop leads to
 * @um: state of the address space
 * @ip: an address
 *
 * Context: any, also NMI, while the address space is in use.
 * Return: the address of the body, or 0 if @ip is not the start of a hop.
 */
unsigned long uhook_hop_body(const struct uhook_mm *um, unsigned long ip)
{
	struct uhook_hops *range = range_at(um, ip);
	unsigned int at = offset_in_page(ip);
	unsigned long body = 0;
	struct hop_page *hp;

	if (!range)
		return 0;

	/* turn_hop() may replace the page. */
	rcu_read_lock();
	hp = rcu_dereference(range->pages[ip % HOP_RANGE_SIZE / PAGE_SIZE]);
	if (hp && test_bit_acquire(at, hp->starts))
		body = arch_uhook_jump_target(ip, page_address(hp->page) + at);
	rcu_read_unlock();

	return body;
}

/**
 * uhook_share_hops - share the parent's hops with a child
 * @from: state of the parent's address space
 * @to: state of the child's address space, not yet visible to others
 *
 * Context: with the parent's mmap lock held for writing.
 * Return: 0 or -ENOMEM.
 */
int uhook_share_hops(struct uhook_mm *from, struct uhook_mm *to)
{
	unsigned int page;
	struct uhook_hops *range;
	unsigned long i;
	int err;

	mmap_assert_write_locked(from->mm);
	xa_for_each(&from->hops, i, range) {
		err = xa_err(xa_store(&to->hops, i, range, GFP_KERNEL_ACCOUNT));
		if (err)
			return err;
		refcount_inc(&range->ref);
		/* The child gets the jumps; between the pages may be mappings of others. */
		for_each_set_bit(page, &range->mapped, HOP_RANGE_PAGES)
			uhook_keep_in_children(from->mm, range->vaddr + page * PAGE_SIZE,
					       PAGE_SIZE);
	}
	to->nr_hop_pages = from->nr_hop_pages;

	return 0;
}

static void free_range(struct uhook_hops *range)
{
	struct hop_page *hp;
	unsigned int i;

	for (i = 0; i < HOP_RANGE_PAGES; i++) {
		/* No address space has the range any more. */
		hp = rcu_dereference_protected(range->pages[i], true);
		if (hp)
			free_hop_page(hp);
	}
	kfree(range);
}

/**
 * uhook_put_hops - drop all hops of an address space without users
 * @um: state of the address space
 */
void uhook_put_hops(struct uhook_mm *um)
{
	struct uhook_hops *range;
	unsigned long i;

	xa_for_each(&um->hops, i, range) {
		if (refcount_dec_and_test(&range->ref))
			free_range(range);
	}
	xa_destroy(&um->hops);
}
