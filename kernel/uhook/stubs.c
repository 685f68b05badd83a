// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: stubs, by way of which programs go to be seen there.
 *
 * A processor's trace can be restricted to a range of addresses. Sites that have a stub
 * in such a range go by way of it: a body jumps to its stub, and the stub jumps back
 * behind that. The stubs of a hook are a block, which has the same address in all
 * processes, so that one range will do; site and block may be any distance apart.
 *
 * A stub belongs to one site of a process and stays its own until nothing is mapped
 * there any more, since a task may be in it for as long as it likes. It may lead
 * to another body of its site: only the address that it jumps to changes then, at once.
 * What cannot have its stub is not seen, and counted.
 *
 * Blocks are sealed special mappings, as areas are, and found in the same way. A child
 * gets copies. They change with uhook_mm::lock and the mmap lock for writing held.
 *
 * The block of jumps that calltrace.h names the source of, for programs that run.
 */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uprobes.h>

#include "compose.h"
#include "consumers.h"
#include "report.h"
#include "stubs.h"
#include "text.h"
#include "users.h"

/* How many stubs are in a page. */
#define PAGE_STUBS	(PAGE_SIZE / UHOOK_STUB_SIZE)

/* The address that a stub jumps to is the latter half. */
#define TARGET_AT	(UHOOK_STUB_SIZE - sizeof(u64))

/**
 * struct uhook_stubs - a block of stubs in a process
 * @vaddr: where it is
 * @nr: how many stubs it has
 * @sites: the sites that they belong to; 0 for none
 * @pages: the memory; a page is made when the first stub in it is taken
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
static struct uhook_stubs *block_at(const struct uhook_mm *um, unsigned long addr)
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
	const struct uhook_stubs *block = block_at(um, addr);

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
	/* Whoever sees the number sees the block: block_at(). */
	smp_store_release(&um->nr_blocks, um->nr_blocks + 1);
}

static enum uhook_verdict map_block(struct mm_struct *mm, const struct uhook_stubs *block)
{
	if (mm->map_count >= sysctl_max_map_count)
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
	*block = block_at(um, counter->stubs);
	if (!*block)
		return make_block(um, counter, block);
	/* Another hook's, which was here before. */
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
 * Whatever is mapped where its owner is may still be the owner's text, however it is
 * protected now: the file may be mapped twice, and another hook may have been here.
 */
static bool is_taken(unsigned long owner, unsigned long site)
{
	return owner && owner != site && vma_lookup(current->mm, owner);
}

/* The address of the stub that a body goes by way of: that of its point. */
static enum uhook_verdict find(struct uhook_mm *um, struct uhook_wanted *w, unsigned int i,
			       struct uprobe *uprobe)
{
	const struct uhook_counter *counter = w->set->counters[i];
	int number;

	/* Addresses that jumps read would not be aligned behind a breakpoint. */
	if ((w->set->traits & UHOOK_BREAKS) || i >= UHOOK_BODY_BLOCKS)
		return UHOOK_TOO_LONG;
	number = uhook_point_number(uprobe, counter);
	/* The hook has gone meanwhile. */
	if (number < 0)
		return UHOOK_UNDECIDED;
	w->functions[i] = counter->stubs + number * UHOOK_STUB_SIZE;

	return UHOOK_GRANTED;
}

/* First, so that it is aligned; it leads behind the jump to it: finish(). */
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
		/* A task in it may come to a new body: its CPU has to know that code. */
		uhook_sync_code();
		WRITE_ONCE(*(u64 *)(text + TARGET_AT), target);
	}

	return UHOOK_GRANTED;
}

/*
 * Let the stub lead back to the body: behind the jump to it, which comes after those to the
 * @nr stubs before it. With several of them, a task that is on its way from an earlier body
 * of the site may go by way of one twice, or of none.
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
 * @um: of the address space
 * @ip: any address
 *
 * Context: any, NMI too, while somebody uses the address space.
 * Return: its address, or 0 if there is no stub.
 */
unsigned long uhook_stub_site(const struct uhook_mm *um, unsigned long ip)
{
	const struct uhook_stubs *block = block_at(um, ip);
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
 * uhook_copy_stubs - give a child what its parent has
 * @from: the parent's
 * @to: the child's, which nobody else knows yet
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
		uhook_keep_in_children(from->mm, block->vaddr, block_size(block), true);
		memcpy(copy->sites, block->sites, block->nr * sizeof(*copy->sites));
		if (copy_pages(block, copy))
			return -ENOMEM;
	}

	return 0;
}

/**
 * uhook_put_stubs - let go of all blocks of an address space that nobody uses
 * @um: its
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
