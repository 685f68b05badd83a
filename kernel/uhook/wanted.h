/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the slot or body that is looked for.
 */
#ifndef _KERNEL_UHOOK_WANTED_H
#define _KERNEL_UHOOK_WANTED_H

#include <linux/types.h>

#include "layout.h"
#include "sets.h"

/**
 * struct uhook_wanted - what a slot or body is looked for
 * @site: the address of the instruction
 * @insn: its bytes, without a breakpoint
 * @size: how many may be read there, in bytes
 * @set: whose handlers run before it; NULL for a slot
 * @functions: where those of them are that are functions of files, and the stubs of
 *	others
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
