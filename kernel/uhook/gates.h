/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: gates and copies of handlers' code in an area.
 */
#ifndef _KERNEL_UHOOK_GATES_H
#define _KERNEL_UHOOK_GATES_H

#include <linux/types.h>

#include "areas.h"
#include "verdict.h"

enum uhook_verdict uhook_gate_of(struct uhook_area *area, bool vectors, bool make,
				 unsigned long *addr);
enum uhook_verdict uhook_code_of(struct uhook_area *area, struct uhook_counter *counter, bool make,
				 unsigned long *addr);

#endif /* _KERNEL_UHOOK_GATES_H */
