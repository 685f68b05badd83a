/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the code of slots and bodies.
 */
#ifndef _KERNEL_UHOOK_COMPOSE_H
#define _KERNEL_UHOOK_COMPOSE_H

#include <linux/types.h>

#include "areas.h"
#include "wanted.h"

/**
 * struct uhook_code - the code of a slot or body
 * @bytes: the instructions
 * @insn_len: the length of the original instruction, in bytes
 * @copy_at: where the copy begins
 * @copy_end: where the jump back begins
 * @len: the length of all of it, in bytes
 */
struct uhook_code {
	u8 bytes[UHOOK_LONG_SIZE];
	u8 insn_len;
	u16 copy_at;
	u16 copy_end;
	u16 len;
};

/**
 * struct uhook_where - where a slot or body is to be
 * @base: the address of its area
 * @nr: its number there
 * @area: the area, with its lock held; NULL if there is none, and addresses in it
 *	do not matter
 */
struct uhook_where {
	unsigned long		base;
	unsigned int		nr;
	struct uhook_area	*area;
};

/* The address of a slot or body. */
static inline unsigned long uhook_where_addr(const struct uhook_where *p,
					     enum uhook_area_kind kind)
{
	return p->base + p->nr * uhook_slot_size(kind);
}

int uhook_compose(const struct uhook_wanted *w, const struct uhook_where *p,
		  struct uhook_code *code);

#endif /* _KERNEL_UHOOK_COMPOSE_H */
