/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: requirements for a slot or body.
 */
#ifndef _KERNEL_UHOOK_WANTED_H
#define _KERNEL_UHOOK_WANTED_H

#include <linux/types.h>

#include "layout.h"

struct uhook_set;

/**
 * struct uhook_wanted - requirements for a slot or body
 * @site: address of the instruction
 * @insn: bytes of the instruction, without a breakpoint
 * @size: number of readable bytes at @insn
 * @kind: kind of the area that contains it
 * @set: set of the hooks whose handlers run before the instruction; NULL for a slot
 * @functions: address of the function or stub of each handler that has one
 */
struct uhook_wanted {
	unsigned long		site;
	const void		*insn;
	size_t			size;
	enum uhook_area_kind	kind;
	struct uhook_set	*set;
	unsigned long		functions[UHOOK_BODY_CELLS];
};

#endif /* _KERNEL_UHOOK_WANTED_H */
