/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the slot or the body of a site.
 */
#ifndef _KERNEL_UHOOK_SLOTS_H
#define _KERNEL_UHOOK_SLOTS_H

#include "mm.h"
#include "verdict.h"
#include "wanted.h"

enum uhook_verdict uhook_take_slot(struct uhook_mm *um, const struct uhook_wanted *w,
				   unsigned long *addr);

#endif /* _KERNEL_UHOOK_SLOTS_H */
