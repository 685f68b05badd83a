/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the state of an address space, made and freed.
 */
#ifndef _KERNEL_UHOOK_LIFE_H
#define _KERNEL_UHOOK_LIFE_H

#include "mm.h"

struct uhook_mm *uhook_make_mm(struct mm_struct *mm, gfp_t gfp);
void uhook_discard_mm(struct uhook_mm *um);
struct uhook_mm *uhook_get_mm(void);

#endif /* _KERNEL_UHOOK_LIFE_H */
