// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: stubs, through which programs pass to be seen by a processor's trace.
 *
 * A processor's trace can be restricted to a range of addresses. Sites with a stub in
 * such a range pass through it: a body jumps to its stub, and the stub jumps back to the
 * code after that jump. The stubs of a hook form a block, which has the same address in
 * all processes, so that one range suffices; site and block may be any distance apart.
 *
 * A stub belongs to one site of a process until nothing is mapped at the site's address,
 * because a task may stay in the stub for any time. It can be redirected to another body
 * of its site: this changes only the address that the stub jumps to, by one store. A site
 * that cannot have its stub is not traced, and its hits are counted.
 *
 * Blocks are sealed special mappings, as areas are, and found in the same way. A child
 * gets copies. Blocks change with uhook_mm::lock and the mmap lock for writing held.
 *
 * This is the block of jumps whose source calltrace.h names, for running programs.
 */
#include <linux/hook_base_mm.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uprobes.h>

#include "compose.h"
#include "consumers.h"
#include "handlers.h"
#include "report.h"
#include "sets.h"
#include "stubs.h"
#include "text.h"
#include "users.h"

/* Number of stubs in a page. */
#define PAGE_STUBS	(PAGE_SIZE / UHOOK_STUB_SIZE)

/* The target address of a stub is its second half. */
#define TARGET_AT	(UHOOK_STUB_SIZE - sizeof(u64))

/**
 * struct uhook_stubs - a block of stubs in a process
 * @vaddr: address of the block
 * @nr: number of stubs
 * @sites: site that owns each stub, or 0
 * @pages: pages of stubs; each is allocated with the first stub in it
 */
struct uhook_stubs {
	unsigned long	vaddr;
	unsigned int	nr;
	unsigned long	*sites;
	struct page	*pages[];
};

static unsigned int nr_pages(unsigned int nr)
{
	return DIV_ROUND_UP(nr, PAGE_STUBS);
}

static unsigned long block_size(const struct uhook_stubs *block)
{
	return nr_pages(block->nr) * PAGE_SIZE;
}

/* The block that an address is in, or NULL; lockless. */
static struct uhook_stubs *cells_at(const struct uhook_mm *um, unsigned long addr)
{
	/* Pairs with enter_block(). */
	unsigned int i, nr = smp_load_acquire(&um->nr_blocks);

	for (i = 0; i < nr; i++) {
		if (addr - um->blocks[i]->vaddr < block_size(um->blocks[i]))
			return um->blocks[i];
	}

	return NULL;
}

static struct page *page_at(const struct uhook_mm *um, unsigned long addr)
{
	const struct uhook_stubs *block = cells_at(um, addr);

	/* Pairs with uhook_make_text_page(). */
	return block ? smp_load_acquire(&block->pages[(addr - block->vaddr) >> PAGE_SHIFT]) : NULL;
}

static const struct uhook_text stub_text = UHOOK_TEXT(page_at);

static struct uhook_stubs *alloc_block(unsigned long vaddr, unsigned int nr, gfp_t gfp)
{
	struct uhook_stubs *block = kvzalloc(struct_size(block, pages, nr_pages(nr)), gfp);

	if (!block)
		return NULL;

	block->vaddr = vaddr;
	block->nr = nr;
	block->sites = kvcalloc(nr, sizeof(*block->sites), gfp);
	if (!block->sites) {
		kvfree(block);
		return NULL;
	}

	return block;
}

static void free_block(struct uhook_stubs *block)
{
	unsigned int i;

	for (i = 0; i < nr_pages(block->nr); i++) {
		if (block->pages[i])
			put_page(block->pages[i]);
	}
	kvfree(block->sites);
	kvfree(block);
}

static void enter_block(struct uhook_mm *um, struct uhook_stubs *block)
{
	um->blocks[um->nr_blocks] = block;
	/* Publish the block before the number: cells_at(). */
	smp_store_release(&um->nr_blocks, um->nr_blocks + 1);
}

static enum uhook_verdict map_block(struct mm_struct *mm, const struct uhook_stubs *block)
{
	if (mm->map_count >= get_sysctl_max_map_count() ||
	    !uhook_leaves_room(mm, block_size(block)))
		return UHOOK_NO_MEMORY;
	if (!uhook_is_free(mm, block->vaddr, block_size(block)))
		return UHOOK_NO_STUB;
	if (uhook_map_text(mm, &stub_text, block->vaddr, block_size(block), 0))
		return UHOOK_NO_MEMORY;

	return UHOOK_GRANTED;
}

static enum uhook_verdict make_block(struct uhook_mm *um, const struct uhook_counter *counter,
				     struct uhook_stubs **made)
{
	enum uhook_verdict verdict;
	struct uhook_stubs *block;

	if (um->nr_blocks == UHOOK_MAX_BLOCKS)
		return UHOOK_STUBS_FULL;

	block = alloc_block(counter->stubs, counter->nr_stubs, GFP_UHOOK);
	if (!block)
		return UHOOK_NO_MEMORY;
	verdict = map_block(current->mm, block);
	if (verdict) {
		free_block(block);
		return verdict;
	}
	enter_block(um, block);
	*made = block;

	return UHOOK_GRANTED;
}

static enum uhook_verdict block_of(struct uhook_mm *um, const struct uhook_counter *counter,
				   struct uhook_stubs **block)
{
	*block = cells_at(um, counter->stubs);
	if (!*block)
		return make_block(um, counter, block);
	/* The block of an earlier hook. */
	if ((*block)->vaddr != counter->stubs || (*block)->nr != counter->nr_stubs)
		return UHOOK_NO_STUB;

	return UHOOK_GRANTED;
}

static int check(struct uhook_counter *counter, const struct uhook_ops *ops, unsigned int nr)
{
	if (nr > UHOOK_STUBS_MAX || !ops->stubs || offset_in_page(ops->stubs) ||
	    ops->stubs >= TASK_SIZE_MAX - UHOOK_STUBS_MAX * UHOOK_STUB_SIZE) {
		uhook_fail(ops, UHOOK_ERR_STUBS, "%u stubs cannot be at 0x%lx", nr, ops->stubs);
		return -EINVAL;
	}

	counter->stubs = ops->stubs;
	counter->nr_stubs = nr;

	return 0;
}

/*
 * A stub is taken while anything is mapped at the site of its owner, whatever its
 * protection: it may be the owner's text, because a file may be mapped twice, and another
 * hook may have used this block.
 */
static bool is_taken(unsigned long owner, unsigned long site)
{
	return owner && owner != site && vma_lookup(current->mm, owner);
}

/* Find the stub of a body: the one of its point. */
static enum uhook_verdict find(struct uhook_mm *um, struct uhook_wanted *w, unsigned int i,
			       struct uprobe *uprobe)
{
	const struct uhook_counter *counter = w->set->counters[i];
	int number;

	/* After a breakpoint, the addresses that jumps read would not be aligned. */
	if ((w->set->traits & UHOOK_BREAKS) || i >= UHOOK_BODY_CELLS)
		return UHOOK_TOO_LONG;
	number = uhook_point_number(uprobe, counter);
	/* The hook has been unregistered meanwhile. */
	if (number < 0)
		return UHOOK_UNDECIDED;
	w->functions[i] = counter->stubs + number * UHOOK_STUB_SIZE;

	return UHOOK_GRANTED;
}

/*
 * Comes first in a body, for alignment. finish() makes the stub lead to the code after
 * this jump.
 */
static enum uhook_verdict emit(const struct uhook_wanted *w, unsigned int i,
			       const struct uhook_where *p, struct uhook_code *code)
{
	if (code->len + UHOOK_STUB_SIZE > UHOOK_BODY_SIZE)
		return UHOOK_TOO_LONG;
	if (uhook_stub_code(code->bytes + code->len, w->insn, w->functions[i]))
		return UHOOK_STUB_REGISTER;

	return uhook_append(code, UHOOK_STUB_SIZE);
}

static enum uhook_verdict write_stub(const struct uhook_stubs *block, unsigned long addr,
				     const void *insn, unsigned long target)
{
	struct page *page = block->pages[(addr - block->vaddr) >> PAGE_SHIFT];
	void *text = page_address(page) + offset_in_page(addr);
	u8 code[UHOOK_STUB_SIZE];

	if (uhook_stub_code(code, insn, target))
		return UHOOK_STUB_REGISTER;

	if (memcmp(text, code, TARGET_AT)) {
		arch_uprobe_copy_ixol(page, addr, code, sizeof(code));
	} else if (memcmp(text, code, sizeof(code))) {
		/* A task in the stub may continue in a new body: its CPU must see that code. */
		uhook_sync_code();
		WRITE_ONCE(*(u64 *)(text + TARGET_AT), target);
	}

	return UHOOK_GRANTED;
}

/*
 * Make the stub lead back to the body, to the code after the jump to it, which follows
 * the jumps to the @nr stubs before. With several stubs, a task that is coming from an
 * earlier body of the site may pass through a stub twice, or miss it.
 */
static enum uhook_verdict finish(struct uhook_mm *um, const struct uhook_wanted *w, unsigned int i,
				 unsigned long addr, unsigned int nr)
{
	enum uhook_verdict verdict;
	struct uhook_stubs *block;
	unsigned int number;

	lockdep_assert_held(&um->lock);
	mmap_assert_write_locked(current->mm);
	verdict = block_of(um, w->set->counters[i], &block);
	if (verdict)
		return verdict;
	number = (w->functions[i] - block->vaddr) / UHOOK_STUB_SIZE;
	if (is_taken(block->sites[number], w->site))
		return UHOOK_NO_STUB;
	if (uhook_make_text_page(&block->pages[number / PAGE_STUBS]))
		return UHOOK_NO_MEMORY;
	verdict = write_stub(block, w->functions[i], w->insn, addr + (nr + 1) * UHOOK_STUB_SIZE);
	if (!verdict)
		WRITE_ONCE(block->sites[number], w->site);

	return verdict;
}

/**
 * uhook_stub_site - the site that a stub belongs to
 * @um: state of the address space
 * @ip: any address
 *
 * Context: any, also NMI, while the address space is in use.
 * Return: the address of the site, or 0 if @ip is not in a stub that belongs to one.
 */
unsigned long uhook_stub_site(const struct uhook_mm *um, unsigned long ip)
{
	const struct uhook_stubs *block = cells_at(um, ip);
	unsigned long number;

	if (!block)
		return 0;
	number = (ip - block->vaddr) / UHOOK_STUB_SIZE;

	if (number >= block->nr)
		return 0;

	return READ_ONCE(block->sites[array_index_nospec(number, block->nr)]);
}

static int copy_pages(const struct uhook_stubs *from, struct uhook_stubs *to)
{
	unsigned int i;

	for (i = 0; i < nr_pages(from->nr); i++) {
		if (!from->pages[i])
			continue;
		to->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT);
		if (!to->pages[i])
			return -ENOMEM;
		arch_uprobe_copy_ixol(to->pages[i], to->vaddr + i * PAGE_SIZE,
				      page_address(from->pages[i]), PAGE_SIZE);
	}

	return 0;
}

/**
 * uhook_copy_stubs - copy the parent's stubs for a child
 * @from: state of the parent's address space
 * @to: state of the child's address space, not yet visible to others
 *
 * Context: with the parent's mmap lock held for writing.
 * Return: 0 or -ENOMEM.
 */
int uhook_copy_stubs(const struct uhook_mm *from, struct uhook_mm *to)
{
	unsigned int i;

	mmap_assert_write_locked(from->mm);
	for (i = 0; i < from->nr_blocks; i++) {
		const struct uhook_stubs *block = from->blocks[i];
		struct uhook_stubs *copy = alloc_block(block->vaddr, block->nr,
						       GFP_KERNEL_ACCOUNT);

		if (!copy)
			return -ENOMEM;
		enter_block(to, copy);
		uhook_keep_in_children(from->mm, block->vaddr, block_size(block));
		memcpy(copy->sites, block->sites, block->nr * sizeof(*copy->sites));
		if (copy_pages(block, copy))
			return -ENOMEM;
	}

	return 0;
}

/**
 * uhook_put_stubs - drop all stub blocks of an address space without users
 * @um: state of the address space
 */
void uhook_put_stubs(struct uhook_mm *um)
{
	unsigned int i;

	for (i = 0; i < um->nr_blocks; i++)
		free_block(um->blocks[i]);
}

const struct uhook_kind uhook_stub_kind = {
	.traits	= UHOOK_FIRST,
	.check	= check,
	.find	= find,
	.emit	= emit,
	.finish	= finish,
};
