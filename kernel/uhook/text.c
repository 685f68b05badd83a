// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: mappings of code that the kernel writes and the program executes.
 *
 * Areas, hops and stubs are special mappings named [uhook]. The program may read and
 * execute them, and they are sealed: they cannot be moved, unmapped or changed. The
 * kernel writes them through its own mapping. Each page is allocated with the first code
 * in it.
 */
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>

#include "text.h"

/* The fault handler of all mappings of code. */
vm_fault_t uhook_text_fault(const struct vm_special_mapping *sm, struct vm_area_struct *vma,
			    struct vm_fault *vmf)
{
	const struct uhook_text *text = container_of(sm, struct uhook_text, mapping);
	const struct uhook_mm *um = uhook_mm_of(vma->vm_mm);
	struct page *page;

	mmap_assert_locked(vma->vm_mm);
	page = um ? text->page_at(um, vmf->address) : NULL;
	if (!page)
		return VM_FAULT_SIGBUS;

	get_page(page);
	vmf->page = page;

	return 0;
}

/**
 * uhook_map_text - map code
 * @mm: current's address space, whose mmap lock is held for writing
 * @text: kind of the mapping
 * @start: address of the mapping
 * @size: length of the mapping, in bytes
 * @more: additional flags of the mapping
 *
 * Return: 0 or an error.
 */
int uhook_map_text(struct mm_struct *mm, const struct uhook_text *text, unsigned long start,
		   unsigned long size, vm_flags_t more)
{
	mmap_assert_write_locked(mm);

	return PTR_ERR_OR_ZERO(_install_special_mapping(mm, start, size, VM_READ | VM_EXEC |
							VM_MAYREAD | VM_MAYEXEC | VM_SEALED |
							more, &text->mapping));
}

/**
 * uhook_make_text_page - allocate a page of code
 * @slot: pointer to the page, which faults and translations read without a lock
 *
 * Return: 0, also if the page exists already, or -ENOMEM.
 */
int uhook_make_text_page(struct page **slot)
{
	struct page *page;

	if (*slot)
		return 0;

	page = alloc_page(GFP_UHOOK | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	/* Pairs with the readers of @slot, such as &uhook_text.page_at. */
	smp_store_release(slot, page);

	return 0;
}
