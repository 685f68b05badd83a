/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the counting code of a body.
 */
#ifndef _KERNEL_UHOOK_COUNT_H
#define _KERNEL_UHOOK_COUNT_H

#include "compose.h"

enum uhook_verdict uhook_emit_count(const struct uhook_wanted *w, const struct uhook_where *p,
				    struct uhook_code *code);

#endif /* _KERNEL_UHOOK_COUNT_H */
