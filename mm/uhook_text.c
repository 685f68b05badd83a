// SPDX-License-Identifier: GPL-2.0
/*
 * Text of processes that uhook reads and replaces: breakpoints, and the jumps that take their
 * places.
 *
 * As for breakpoints, the page is replaced by a copy, and its page table entry is cleared and
 * flushed before the new one is set: threads execute either the old page or the new one. Only
 * text that was changed before is read or written, because the mapping at the address may
 * have been replaced. The caller holds the mmap lock, for reading or writing.
 */
#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/hook_base_mm.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pagewalk.h>
#include <linux/rmap.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/uhook_hooks.h>
#include <asm/tlbflush.h>

#include "internal.h"

/* The most bytes that are replaced at once. */
#define BYTES_MAX	16

static int see_entry(pte_t *pte, unsigned long addr, unsigned long next, struct mm_walk *walk)
{
	pte_t entry = ptep_get(pte);
	bool *there = walk->private;

	/* A marker says something about a page that is not there. */
	*there = !pte_none(entry) && !pte_is_marker(entry);

	return 0;
}

static const struct mm_walk_ops see_ops = {
	.pte_entry	= see_entry,
	.walk_lock	= PGWALK_RDLOCK,
};

/* Does the process have a page there, even if swapped out or being faulted in? */
static bool has_page(struct vm_area_struct *vma, unsigned long vaddr)
{
	unsigned long addr = vaddr & PAGE_MASK;
	bool there = false;

	walk_page_range_vma(vma, addr, addr + PAGE_SIZE, &see_ops, &there);

	return there;
}

/* Can uprobes have changed text there? It may have become writable since. */
static bool is_text(const struct vm_area_struct *vma)
{
	return vma->vm_file && vma->anon_vma &&
	       (vma->vm_flags & (VM_HUGETLB | VM_MAYEXEC | VM_MAYSHARE)) == VM_MAYEXEC;
}

/*
 * The page of text that the process has changed, or whose breakpoint has. Nothing
 * else will do: whatever was put there since is not ours, and may be anything.
 * Files are not read, whose servers may take their time.
 */
static struct page *get_changed_text(struct mm_struct *mm, unsigned long vaddr,
				     struct vm_area_struct **vma)
{
	/* Pages that were swapped out may come back as a large folio: replace_text_page() */
	const unsigned int how = FOLL_FORCE | FOLL_SPLIT_PMD;
	struct page *page;
	long ret;

	mmap_assert_locked(mm);
	*vma = vma_lookup(mm, vaddr);
	if (!*vma || !is_text(*vma))
		return ERR_PTR(-ESTALE);

	ret = get_user_pages_remote(mm, vaddr, 1, how | FOLL_NOFAULT, &page, NULL);
	if (ret != 1 && has_page(*vma, vaddr))
		ret = get_user_pages_remote(mm, vaddr, 1, how, &page, NULL);
	if (ret != 1)
		return ERR_PTR(ret == -EFAULT || !ret ? -ESTALE : ret);

	if (!PageAnon(page)) {
		put_page(page);
		return ERR_PTR(-ESTALE);
	}

	return page;
}

/**
 * uhook_read_text - read text where a breakpoint may be, or what took its place
 * @mm: address space; its mmap lock is held
 * @vaddr: address of the text
 * @bytes: receives the text
 * @len: number of bytes, in one page
 *
 * Return: 0, -ESTALE if there can be neither, or another error.
 */
int uhook_read_text(struct mm_struct *mm, unsigned long vaddr, void *bytes, int len)
{
	struct vm_area_struct *vma;
	struct page *page;

	page = get_changed_text(mm, vaddr, &vma);
	if (IS_ERR(page))
		return PTR_ERR(page);

	memcpy_from_page(bytes, page, offset_in_page(vaddr), len);
	put_page(page);

	return 0;
}

/* Copy a page of text, to change the copy and replace the page by it. */
static struct page *copy_text_page(struct vm_area_struct *vma, unsigned long vaddr,
				   struct page *old_page, gfp_t how)
{
	struct page *new_page;

	/* It has an anon_vma: is_text() */
	new_page = alloc_page_vma(GFP_HIGHUSER_MOVABLE | how, vma, vaddr);
	if (!new_page)
		return NULL;

	__SetPageUptodate(new_page);
	copy_highpage(new_page, old_page);

	return new_page;
}

/* With the page table locked, and a reference to the old page. */
static void set_page(struct folio_walk *fw, struct vm_area_struct *vma, unsigned long addr,
		     struct page *old_page, struct page *new_page)
{
	struct folio *old_folio = page_folio(old_page);
	struct folio *new_folio = page_folio(new_page);

	folio_get(new_folio);
	folio_add_new_anon_rmap(new_folio, vma, addr, RMAP_EXCLUSIVE);
	folio_add_lru_vma(new_folio, vma);
	/* uprobes drop the page later only if there is no reference of a batch. */
	lru_add_drain();

	flush_cache_page(vma, addr, pte_pfn(fw->pte));
	ptep_clear_flush(vma, addr, fw->ptep);
	set_pte_at(vma->vm_mm, addr, fw->ptep, pte_mkdirty(mk_pte(new_page, vma->vm_page_prot)));

	folio_remove_rmap_pte(old_folio, old_page, vma);
	if (!folio_mapped(old_folio) && folio_test_swapcache(old_folio))
		folio_free_swap(old_folio);
	folio_put(old_folio);
}

/*
 * Replace a page of text by its changed copy. Uprobes have the fault handler copy a page
 * that is shared with a child. That invokes the OOM killer, and charges the group of the
 * mm's owner; here the caller says how to charge whom. Returns -EAGAIN if the page has been
 * replaced in the meantime.
 */
static int replace_text_page(struct vm_area_struct *vma, unsigned long addr,
			     struct page *old_page, struct page *new_page,
			     struct mm_struct *payer, gfp_t gfp)
{
	struct folio *old_folio = page_folio(old_page);
	struct mmu_notifier_range range;
	struct folio_walk fw;
	int err;

	err = mem_cgroup_charge(page_folio(new_page), payer, gfp);
	if (err)
		return err;

	mmu_notifier_range_init(&range, MMU_NOTIFY_CLEAR, 0, vma->vm_mm, addr, addr + PAGE_SIZE);
	/* For folio_free_swap() */
	folio_lock(old_folio);
	mmu_notifier_invalidate_range_start(&range);

	err = -EAGAIN;
	if (folio_walk_start(&fw, vma, addr, 0)) {
		if (fw.page == old_page && fw.level == FW_LEVEL_PTE) {
			set_page(&fw, vma, addr, old_page, new_page);
			err = 0;
		}
		folio_walk_end(&fw, vma);
	}

	mmu_notifier_invalidate_range_end(&range);
	folio_unlock(old_folio);

	return err;
}

/* Returns -EAGAIN if the page has been replaced in the meantime. */
static int try_write_text(struct mm_struct *mm, struct mm_struct *payer, unsigned long vaddr,
			  const void *expected, const void *bytes, int len, gfp_t how)
{
	struct page *old_page, *new_page;
	struct vm_area_struct *vma;
	u8 found[BYTES_MAX];
	int ret = -ENOMEM;

	old_page = get_changed_text(mm, vaddr, &vma);
	if (IS_ERR(old_page))
		return PTR_ERR(old_page);

	memcpy_from_page(found, old_page, offset_in_page(vaddr), len);
	if (memcmp(found, expected, len)) {
		put_page(old_page);
		return -ESTALE;
	}

	new_page = copy_text_page(vma, vaddr, old_page, how);
	if (new_page) {
		memcpy_to_page(new_page, offset_in_page(vaddr), bytes, len);
		ret = replace_text_page(vma, vaddr & PAGE_MASK, old_page, new_page, payer,
					how ? GFP_KERNEL | how : GFP_ATOMIC);
		put_page(new_page);
	}
	put_page(old_page);

	return ret;
}

/**
 * uhook_write_text - replace text that has a breakpoint, or what took its place
 * @mm: address space; its mmap lock is held
 * @payer: address space whose memory group pays for a new page: @mm may be that of a child
 *	which has no task in a group yet
 * @vaddr: address of the text
 * @expected: the text that must be there
 * @bytes: the new text
 * @len: number of bytes, in one page, up to BYTES_MAX
 * @how: further flags of the allocation, which may say that it is no pity if there is no
 *	memory. If it is 0, the text must be as it was before, and the page is charged beyond
 *	the group's limit: the caller, perhaps another process, does not reclaim the group's
 *	memory, and does not have its tasks killed.
 *
 * Return: 0, -ESTALE if the expected text is not there, -ENOMEM, or another error.
 */
int uhook_write_text(struct mm_struct *mm, struct mm_struct *payer, unsigned long vaddr,
		     const void *expected, const void *bytes, int len, gfp_t how)
{
	int ret;

	do {
		ret = try_write_text(mm, payer, vaddr, expected, bytes, len, how);
	} while (ret == -EAGAIN);

	return ret;
}
