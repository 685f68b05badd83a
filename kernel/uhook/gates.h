/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: what is called from bodies, in their area.
 */
#ifndef _KERNEL_UHOOK_GATES_H
#define _KERNEL_UHOOK_GATES_H

#include <linux/types.h>

#include "areas.h"

int uhook_gate_of(struct uhook_area *area, bool vectors, bool make, unsigned long *addr);
int uhook_code_of(struct uhook_area *area, struct uhook_counter *counter, bool make,
		  unsigned long *addr);

#endif /* _KERNEL_UHOOK_GATES_H */
