/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: stubs, through which programs pass to be seen by a processor's trace.
 */
#ifndef _KERNEL_UHOOK_STUBS_H
#define _KERNEL_UHOOK_STUBS_H

#include "mm.h"

int uhook_copy_stubs(const struct uhook_mm *from, struct uhook_mm *to);
void uhook_put_stubs(struct uhook_mm *um);

#endif /* _KERNEL_UHOOK_STUBS_H */
