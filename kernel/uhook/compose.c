// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the code of slots and bodies.
 *
 * A slot is a copy of an instruction and a jump to the next one. A body runs the handlers
 * of a set of hooks first; body_code.c composes it.
 *
 * The code depends only on the instruction, its address, the set and the location of the
 * code. So a slot or body in an area is recognized by composing its code again.
 */
#include <linux/string.h>
#include <linux/uhook_relocate.h>

#include "compose.h"
#include "handlers.h"

static enum uhook_verdict compose_slot(const struct uhook_wanted *w, unsigned long addr,
				       struct uhook_code *code)
{
	struct uhook_copy copy;
	int err;

	err = uhook_relocate(w->insn, w->size, w->site, addr, &copy);
	if (err)
		return uhook_code_verdict(err);

	memcpy(code->bytes, copy.bytes, copy.len);
	code->insn_len = copy.insn_len;
	code->copy_at = 0;
	code->copy_end = copy.copy_len;
	code->len = copy.len;

	return UHOOK_GRANTED;
}

/**
 * uhook_compose - generate the code of a slot or body
 * @w: the slot or body
 * @p: location of the code
 * @code: receives the code
 *
 * Return: the verdict: UHOOK_TOO_LONG if the handlers do not fit, UHOOK_NO_GAP if the
 * instruction is too far away, UHOOK_UNDECIDED if the area lacks a gate or the code of a
 * handler.
 */
enum uhook_verdict uhook_compose(const struct uhook_wanted *w, const struct uhook_where *p,
				 struct uhook_code *code)
{
	if (!w->set)
		return compose_slot(w, uhook_where_addr(p, UHOOK_SLOTS), code);

	return uhook_compose_body(w, p, code);
}
