// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: hooks that count.
 *
 * A body has one counter for all hooks of its set, so it contains the code to count once,
 * not once for each hook. A hook without work in the program, but with its breakpoint in
 * the body, is counted in the same way.
 */
#include <linux/uhook_code.h>

#include "count.h"
#include "kinds.h"

/**
 * uhook_emit_count - append the counting code to a body
 * @w: the body
 * @p: location of the body
 * @code: code of the body so far
 *
 * Return: the verdict, as for uhook_compose().
 */
enum uhook_verdict uhook_emit_count(const struct uhook_wanted *w, const struct uhook_where *p,
				    struct uhook_code *code)
{
	unsigned long cell = p->base + UHOOK_CODE_SIZE + p->nr * sizeof(u64);

	return uhook_append(code, uhook_count_code(code->bytes + code->len,
						   uhook_slot_size(w->kind) - code->len,
						   uhook_where_addr(p, w->kind) + code->len, cell));
}

const struct uhook_kind uhook_no_kind = {
	.traits	= UHOOK_COUNTS,
};

const struct uhook_kind uhook_count_kind = {
	.name	= "count",
	.traits	= UHOOK_COUNTS,
};
