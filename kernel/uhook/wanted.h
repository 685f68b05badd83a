/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: requirements for a slot or body.
 */
#ifndef _KERNEL_UHOOK_WANTED_H
#define _KERNEL_UHOOK_WANTED_H

#include <linux/types.h>

#include "layout.h"
#include "sets.h"

/**
 * struct uhook_wanted - requirements for a slot or body
 * @site: address of the instruction
 * @insn: bytes of the instruction, without a breakpoint
 * @size: number of readable bytes at @insn
 * @set: set of the hooks whose handlers run before the instruction; NULL for a slot
 * @functions: address of the function or stub of each handler that has one
 */
struct uhook_wanted {
	unsigned long		site;
	const void		*insn;
	size_t			size;
	struct uhook_set	*set;
	unsigned long		functions[UHOOK_BODY_BLOCKS];
};

/* The kind of area that a slot or body belongs in. */
static inline enum uhook_area_kind uhook_area_kind_of(const struct uhook_wanted *w)
{
	if (!w->set)
		return UHOOK_SLOTS;

	return w->set->traits & UHOOK_LONG ? UHOOK_LONG_BODIES : UHOOK_BODIES;
}

#endif /* _KERNEL_UHOOK_WANTED_H */
