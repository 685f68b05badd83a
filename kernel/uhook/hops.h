/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: hops, intermediate jumps for sites that cannot jump to their body directly.
 */
#ifndef _KERNEL_UHOOK_HOPS_H
#define _KERNEL_UHOOK_HOPS_H

#include <linux/uhook_code.h>

#include "mm.h"
#include "verdict.h"

enum uhook_jump_blocker uhook_take_hop(struct uhook_mm *um, const struct uhook_targets *targets,
				       unsigned long body, unsigned long *hop);
int uhook_share_hops(struct uhook_mm *from, struct uhook_mm *to);
void uhook_put_hops(struct uhook_mm *um);

#endif /* _KERNEL_UHOOK_HOPS_H */
