/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: replacing breakpoints by jumps.
 */
#ifndef _KERNEL_UHOOK_JUMP_H
#define _KERNEL_UHOOK_JUMP_H

#include "mm.h"
#include "verdict.h"

struct mm_struct;
struct uprobe;
struct vm_area_struct;

enum uhook_jump_blocker uhook_jump_to(struct uhook_mm *um, struct uprobe *uprobe,
				      struct vm_area_struct *vma, unsigned long addr);
int uhook_demote_site(struct mm_struct *mm, const struct uhook_mm *um, unsigned long site);
bool uhook_jump_stays(struct mm_struct *mm, const struct uhook_mm *um, struct uprobe *uprobe,
		      unsigned long site);
int uhook_demote_around(struct mm_struct *mm, const struct uhook_mm *um, unsigned long vaddr);

#endif /* _KERNEL_UHOOK_JUMP_H */
