/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: functions of files that are handlers.
 */
#ifndef _KERNEL_UHOOK_FUNCTIONS_H
#define _KERNEL_UHOOK_FUNCTIONS_H

#include "wanted.h"

int uhook_find_functions(struct uhook_wanted *w);

#endif /* _KERNEL_UHOOK_FUNCTIONS_H */
