// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: hooks that count.
 *
 * A body counts for all hooks of its set, and one counter will do: so there is code for
 * them only once, and none for each of them. A hook that does nothing in the program but
 * has its breakpoint in the body is counted likewise.
 */
#include <linux/uhook_code.h>

#include "count.h"
#include "kinds.h"

/**
 * uhook_emit_count - append the code that counts to that of a body
 * @w: the body
 * @p: where it is to be
 * @code: its code so far
 *
 * Return: the verdict, as uhook_compose().
 */
enum uhook_verdict uhook_emit_count(const struct uhook_wanted *w, const struct uhook_where *p,
				    struct uhook_code *code)
{
	enum uhook_area_kind kind = uhook_area_kind_of(w);
	unsigned long cell = p->base + UHOOK_CODE_SIZE + p->nr * sizeof(u64);

	return uhook_append(code, uhook_count_code(code->bytes + code->len,
						   uhook_slot_size(kind) - code->len,
						   uhook_where_addr(p, kind) + code->len, cell));
}

const struct uhook_kind uhook_no_kind = {
	.traits	= UHOOK_COUNTS,
};

const struct uhook_kind uhook_count_kind = {
	.name	= "count",
	.traits	= UHOOK_COUNTS,
};
