/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entries of page tables, and limits of address spaces, which the kernel has in
 * mm/internal.h, for uhook. See hook_base.h.
 */
#ifndef _LINUX_HOOK_BASE_MM_H
#define _LINUX_HOOK_BASE_MM_H

#include <linux/leafops.h>
#include <linux/mm.h>

#include "../../mm/internal.h"

static inline bool hook_base_may_expand_vm(struct mm_struct *mm, vm_flags_t vm_flags,
					   unsigned long pages)
{
	const vma_flags_t vma_flags = legacy_to_vma_flags(vm_flags);

	return may_expand_vm(mm, &vma_flags, pages);
}

#endif /* _LINUX_HOOK_BASE_MM_H */
