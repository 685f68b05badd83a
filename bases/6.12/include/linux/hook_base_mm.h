/* SPDX-License-Identifier: GPL-2.0 */
/* Entries of page tables, and limits of address spaces, for uhook. See hook_base.h. */
#ifndef _LINUX_HOOK_BASE_MM_H
#define _LINUX_HOOK_BASE_MM_H

#include <linux/mm.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#define pte_is_marker(pte)	is_pte_marker(pte)

static inline int get_sysctl_max_map_count(void)
{
	return READ_ONCE(sysctl_max_map_count);
}

static inline bool hook_base_may_expand_vm(struct mm_struct *mm, vm_flags_t vm_flags,
					   unsigned long pages)
{
	return may_expand_vm(mm, vm_flags, pages);
}

#endif /* _LINUX_HOOK_BASE_MM_H */
