// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: hops, for jumps that cannot choose where they lead.
 *
 * A jump over an instruction that is shorter than the jump takes what follows
 * the instruction as the rest of its displacement. There, wherever that is, the
 * process gets a page, and in it a hop: a jump to the body. Pages are taken in
 * blocks where there is room, so that neighbours of a site find theirs made, and
 * alone where there is not. They are special mappings as areas are: the program
 * may execute them and not change them, nor put anything in their place. What
 * was there first stays, and room is left for what grows.
 *
 * A hop is written before anybody jumps to it. Where there is room for only one, and
 * its site has another body by now, the page is replaced by a copy in which it leads
 * there; who comes to it meanwhile goes either way. A child
 * has its parent's; nothing is added to a block that several have, or changed.
 *
 * Blocks are found by address without a lock, by tasks that run in the address
 * space; they are added with uhook_mm::lock and the mmap lock held, and go when
 * nobody uses it any more. Pages go before that when they are replaced, after a grace
 * period of RCU.
 *
 * The punning of instructions is that of LiteInst; that the kernel puts the
 * targets there is new.
 */
#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "areas.h"
#include "hops.h"
#include "text.h"

#define HOP_BLOCK_PAGES	16
#define HOP_BLOCK_SIZE	(HOP_BLOCK_PAGES * PAGE_SIZE)

/* Pages with hops of a process. */
#define MAX_HOP_PAGES	4096

/**
 * struct hop_page - what is known of a page
 * @page: it
 * @rcu: to be freed
 * @used: which bytes are taken
 * @starts: which of them begin a hop
 */
struct hop_page {
	struct page	*page;
	struct rcu_head	rcu;
	DECLARE_BITMAP(used, PAGE_SIZE);
	DECLARE_BITMAP(starts, PAGE_SIZE);
};

/**
 * struct uhook_hops - a block
 * @ref: how many address spaces have it
 * @vaddr: where it is
 * @mapped: which of its pages the process has a mapping for
 * @pages: those that have hops; they change with the mmap lock for writing held
 */
struct uhook_hops {
	refcount_t	ref;
	unsigned long	vaddr;
	unsigned long	mapped;
	struct hop_page	__rcu *pages[HOP_BLOCK_PAGES];
};

static struct uhook_hops *block_at(const struct uhook_mm *um, unsigned long addr)
{
	return xa_load((struct xarray *)&um->hops, addr / HOP_BLOCK_SIZE);
}

/* For those who hold the mmap lock. */
static struct hop_page *hop_page_of(const struct uhook_mm *um, const struct uhook_hops *block,
				    unsigned int i)
{
	return rcu_dereference_check(block->pages[i], lockdep_is_held(&um->mm->mmap_lock));
}

static struct page *page_at(const struct uhook_mm *um, unsigned long addr)
{
	struct uhook_hops *block = block_at(um, addr);
	struct hop_page *hp;

	if (!block)
		return NULL;
	/* None is replaced while the mmap lock is held. */
	hp = hop_page_of(um, block, addr % HOP_BLOCK_SIZE / PAGE_SIZE);

	return hp ? hp->page : NULL;
}

static const struct uhook_text hop_text = UHOOK_TEXT(page_at);

/* What the limit of the address space (RLIMIT_AS) still has to allow with the mapping. */
#define ROOM_LEFT	SZ_4M

static enum uhook_bar map_pages(struct mm_struct *mm, unsigned long start, unsigned long size)
{
	if (!uhook_is_free(mm, start, size))
		return UHOOK_BAR_TAKEN;
	/* It counts as the program's, which is to have some left. */
	if (!may_expand_vm(mm, VM_READ | VM_EXEC, (size + ROOM_LEFT) >> PAGE_SHIFT))
		return UHOOK_BAR_ERROR;

	return uhook_map_text(mm, &hop_text, start, size, 0) ? UHOOK_BAR_ERROR : UHOOK_NO_BAR;
}

static struct uhook_hops *make_block(struct uhook_mm *um, unsigned long vaddr)
{
	struct uhook_hops *block = kzalloc(sizeof(*block), GFP_UHOOK);

	if (!block)
		return NULL;

	refcount_set(&block->ref, 1);
	block->vaddr = vaddr;
	if (xa_err(xa_store(&um->hops, vaddr / HOP_BLOCK_SIZE, block, GFP_UHOOK))) {
		kfree(block);
		return NULL;
	}

	return block;
}

/* A mapping for a page, or for all pages when there is room for them. */
static enum uhook_bar map_page(struct uhook_hops *block, unsigned int i)
{
	struct mm_struct *mm = current->mm;
	enum uhook_bar bar;

	if (test_bit(i, &block->mapped))
		return UHOOK_NO_BAR;

	if (!block->mapped && !map_pages(mm, block->vaddr, HOP_BLOCK_SIZE)) {
		block->mapped = GENMASK(HOP_BLOCK_PAGES - 1, 0);
		return UHOOK_NO_BAR;
	}

	bar = map_pages(mm, block->vaddr + i * PAGE_SIZE, PAGE_SIZE);
	if (!bar)
		__set_bit(i, &block->mapped);

	return bar;
}

static int make_hop_page(struct uhook_mm *um, struct uhook_hops *block, unsigned int i)
{
	struct hop_page *hp;

	if (rcu_access_pointer(block->pages[i]))
		return 0;

	hp = kvzalloc(sizeof(*hp), GFP_UHOOK);
	if (!hp)
		return -ENOMEM;
	if (uhook_make_text_page(&hp->page)) {
		kvfree(hp);
		return -ENOMEM;
	}
	um->nr_hop_pages++;
	/* Translations look without a lock. */
	rcu_assign_pointer(block->pages[i], hp);

	return 0;
}

/* A place for a hop in a page, from FIRST to LAST; or -1. */
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
 * struct hop_want - what a hop is looked for
 * @body: where it leads
 * @first: the lowest address in the page in question
 * @last: the highest
 */
struct hop_want {
	unsigned long body;
	unsigned long first;
	unsigned long last;
};

/* May the process have what a page takes that is not there? */
static bool has_room(const struct uhook_mm *um, const struct uhook_hops *block, unsigned int i)
{
	if (block && rcu_access_pointer(block->pages[i]))
		return true;
	if (um->nr_hop_pages == MAX_HOP_PAGES)
		return false;

	return (block && test_bit(i, &block->mapped)) ||
	       current->mm->map_count < sysctl_max_map_count / 2;
}

/* A hop that leads to a body of the same site, or 0. */
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

/* Let that one lead to the body. */
static enum uhook_bar turn_hop(struct uhook_mm *um, struct uhook_hops *block,
			       const struct hop_want *want, unsigned long *hop)
{
	unsigned int i = want->first % HOP_BLOCK_SIZE / PAGE_SIZE;
	struct hop_page *old = hop_page_of(um, block, i), *hp;
	unsigned long addr = hop_of_site(um, old, want);
	u8 bytes[UHOOK_JUMP_MAX];

	if (!addr || uhook_make_hop(addr, want->body, bytes))
		return UHOOK_BAR_TAKEN;
	hp = copy_hop_page(old);
	if (!hp)
		return UHOOK_BAR_ERROR;

	arch_uprobe_copy_ixol(hp->page, addr, bytes, sizeof(bytes));
	rcu_assign_pointer(block->pages[i], hp);
	zap_page_range_single(vma_lookup(current->mm, addr), addr & PAGE_MASK, PAGE_SIZE, NULL);
	call_rcu(&old->rcu, free_hop_page_rcu);
	*hop = addr;

	return UHOOK_NO_BAR;
}

static enum uhook_bar hop_in_page(struct uhook_mm *um, const struct hop_want *want,
				  unsigned long *hop)
{
	unsigned int i = want->first % HOP_BLOCK_SIZE / PAGE_SIZE;
	struct uhook_hops *block = block_at(um, want->first);
	u8 bytes[UHOOK_JUMP_MAX];
	struct hop_page *hp;
	enum uhook_bar bar;
	unsigned long addr;
	long at;

	if (!has_room(um, block, i))
		return UHOOK_BAR_FULL;
	if (!block && !uhook_is_free(current->mm, want->first & PAGE_MASK, PAGE_SIZE))
		return UHOOK_BAR_TAKEN;
	if (!block)
		block = make_block(um, ALIGN_DOWN(want->first, HOP_BLOCK_SIZE));
	if (!block)
		return UHOOK_BAR_ERROR;
	if (refcount_read(&block->ref) > 1)
		return UHOOK_BAR_SHARED;

	bar = map_page(block, i);
	if (bar)
		return bar;
	if (make_hop_page(um, block, i))
		return UHOOK_BAR_ERROR;

	hp = hop_page_of(um, block, i);
	at = find_place(hp, offset_in_page(want->first), offset_in_page(want->last));
	if (at < 0)
		return turn_hop(um, block, want, hop);

	addr = (want->first & PAGE_MASK) + at;
	if (uhook_make_hop(addr, want->body, bytes))
		return UHOOK_BAR_TAKEN;

	arch_uprobe_copy_ixol(hp->page, addr, bytes, sizeof(bytes));
	bitmap_set(hp->used, at, UHOOK_JUMP_MAX);
	/* What is there is written: uhook_hop_body(). */
	smp_mb__before_atomic();
	set_bit(at, hp->starts);
	*hop = addr;

	return UHOOK_NO_BAR;
}

/**
 * uhook_take_hop - make a hop
 * @um: current's
 * @targets: where the jump can lead
 * @body: where the hop is to lead
 * @hop: the address of one that was made before, or 0; receives that of the hop, which may
 *	be one that led to an earlier body of the site
 *
 * Context: task, with @um->lock and the mmap lock for writing held.
 * Return: UHOOK_NO_BAR; UHOOK_BAR_TAKEN when other things are there, UHOOK_BAR_SHARED when
 * the page is another process's too, UHOOK_BAR_FULL when there are too many pages,
 * UHOOK_BAR_ERROR when there is no memory.
 */
enum uhook_bar uhook_take_hop(struct uhook_mm *um, const struct uhook_targets *targets,
			      unsigned long body, unsigned long *hop)
{
	struct hop_want want = { .body = body, .first = targets->first };
	enum uhook_bar ret = UHOOK_BAR_TAKEN, bar;

	lockdep_assert_held(&um->lock);
	mmap_assert_write_locked(current->mm);
	if (*hop >= targets->first && *hop <= targets->last && uhook_hop_body(um, *hop) == body)
		return UHOOK_NO_BAR;

	while (want.first <= targets->last) {
		unsigned long page = want.first & PAGE_MASK;

		/* It may not cross the end of the page. */
		want.last = min(targets->last, page + PAGE_SIZE - UHOOK_JUMP_MAX);
		bar = want.first <= want.last ? hop_in_page(um, &want, hop) : UHOOK_BAR_TAKEN;
		if (!bar || bar == UHOOK_BAR_ERROR)
			return bar;
		if (ret == UHOOK_BAR_TAKEN)
			ret = bar;
		want.first = page + PAGE_SIZE;
	}

	return ret;
}

/**
 * uhook_hop_body - where does a hop lead?
 * @um: of the address space
 * @ip: an address
 *
 * Context: any, NMI too, while somebody uses the address space.
 * Return: the address of a body, or 0 when @ip is not the beginning of a hop.
 */
unsigned long uhook_hop_body(const struct uhook_mm *um, unsigned long ip)
{
	struct uhook_hops *block = block_at(um, ip);
	unsigned int at = offset_in_page(ip);
	unsigned long body = 0;
	struct hop_page *hp;

	if (!block)
		return 0;

	/* It may be replaced: turn_hop(). */
	rcu_read_lock();
	hp = rcu_dereference(block->pages[ip % HOP_BLOCK_SIZE / PAGE_SIZE]);
	if (hp && test_bit_acquire(at, hp->starts))
		body = arch_uhook_jump_target(ip, page_address(hp->page) + at);
	rcu_read_unlock();

	return body;
}

/**
 * uhook_share_hops - give a child its parent's
 * @from: the parent's
 * @to: the child's, which nobody else knows yet
 *
 * Context: with the parent's mmap lock held for writing.
 * Return: 0 or -ENOMEM.
 */
int uhook_share_hops(struct uhook_mm *from, struct uhook_mm *to)
{
	struct uhook_hops *block;
	unsigned long i;
	int err;

	mmap_assert_write_locked(from->mm);
	xa_for_each(&from->hops, i, block) {
		err = xa_err(xa_store(&to->hops, i, block, GFP_KERNEL_ACCOUNT));
		if (err)
			return err;
		refcount_inc(&block->ref);
	}
	to->nr_hop_pages = from->nr_hop_pages;

	return 0;
}

static void free_block(struct uhook_hops *block)
{
	struct hop_page *hp;
	unsigned int i;

	for (i = 0; i < HOP_BLOCK_PAGES; i++) {
		/* No address space has the block any more. */
		hp = rcu_dereference_protected(block->pages[i], true);
		if (hp)
			free_hop_page(hp);
	}
	kfree(block);
}

/**
 * uhook_put_hops - let go of all hops of an address space that nobody uses
 * @um: its
 */
void uhook_put_hops(struct uhook_mm *um)
{
	struct uhook_hops *block;
	unsigned long i;

	xa_for_each(&um->hops, i, block) {
		if (refcount_dec_and_test(&block->ref))
			free_block(block);
	}
	xa_destroy(&um->hops);
}
