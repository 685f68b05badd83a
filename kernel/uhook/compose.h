/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the code of slots and bodies.
 */
#ifndef _KERNEL_UHOOK_COMPOSE_H
#define _KERNEL_UHOOK_COMPOSE_H

#include <linux/types.h>

#include "areas.h"
#include "verdict.h"
#include "wanted.h"

/**
 * struct uhook_code - the code of a slot or body
 * @bytes: the instructions
 * @insn_len: length of the original instruction, in bytes
 * @copy_at: offset of the copied instruction
 * @copy_end: offset of the jump back
 * @len: length of the code, in bytes
 */
struct uhook_code {
	u8 bytes[UHOOK_LONG_SIZE];
	u8 insn_len;
	u16 copy_at;
	u16 copy_end;
	u16 len;
};

/**
 * struct uhook_where - location of a slot or body
 * @base: address of the area
 * @nr: number of the slot or body in the area
 * @area: the area, with its lock held; NULL if there is none yet, and addresses of code
 *	in it do not matter
 */
struct uhook_where {
	unsigned long		base;
	unsigned int		nr;
	struct uhook_area	*area;
};

/**
 * uhook_append - account for code that was written to the end of a body
 * @code: code of the body
 * @len: number of bytes written, or an error
 *
 * Return: the verdict.
 */
static inline enum uhook_verdict uhook_append(struct uhook_code *code, int len)
{
	if (len < 0)
		return uhook_code_verdict(len);
	code->len += len;

	return UHOOK_GRANTED;
}

/* The address of a slot or body. */
static inline unsigned long uhook_where_addr(const struct uhook_where *p,
					     enum uhook_area_kind kind)
{
	return p->base + p->nr * uhook_slot_size(kind);
}

enum uhook_verdict uhook_compose(const struct uhook_wanted *w, const struct uhook_where *p,
				 struct uhook_code *code);

#endif /* _KERNEL_UHOOK_COMPOSE_H */
