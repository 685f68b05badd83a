/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: mappings of code that the kernel writes and the program executes.
 */
#ifndef _KERNEL_UHOOK_TEXT_H
#define _KERNEL_UHOOK_TEXT_H

#include <linux/mm_types.h>

#include "mm.h"

/**
 * struct uhook_text - a kind of code mappings
 * @mapping: special mapping; initialised by UHOOK_TEXT()
 * @page_at: returns the page at an address of such a mapping, or NULL if it does not
 *	exist yet; called with the mmap lock held
 *
 * Shared by all processes and never freed, because mappings outlive uhook's state of an
 * address space.
 */
struct uhook_text {
	struct vm_special_mapping	mapping;
	struct page			*(*page_at)(const struct uhook_mm *um, unsigned long addr);
};

vm_fault_t uhook_text_fault(const struct vm_special_mapping *sm, struct vm_area_struct *vma,
			    struct vm_fault *vmf);

/* Initialiser for a kind of mappings, with a function that finds their pages. */
#define UHOOK_TEXT(find_page) {				\
	.mapping = {					\
		.name	= "[uhook]",			\
		.fault	= uhook_text_fault,		\
	},						\
	.page_at = (find_page),				\
}

int uhook_map_text(struct mm_struct *mm, const struct uhook_text *text, unsigned long start,
		   unsigned long size, vm_flags_t more);
int uhook_make_text_page(struct page **slot);

#endif /* _KERNEL_UHOOK_TEXT_H */
