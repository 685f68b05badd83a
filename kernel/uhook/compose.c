// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the code of slots and bodies.
 *
 * A slot is the copy of an instruction and a jump to the next one. A body runs the
 * handlers of a set of hooks before that: a breakpoint if a hook wants it there, jumps to
 * stubs, the counter, the other handlers in the order of their hooks, the copy, and the
 * jump back.
 *
 * Code depends on nothing but the instruction, its address, the set and the place that it
 * is for, so that what is in an area is found by composing it again.
 */
#include <linux/string.h>
#include <linux/uprobes.h>

#include "compose.h"
#include "count.h"

static int compose_slot(const struct uhook_wanted *w, unsigned long addr, struct uhook_code *code)
{
	struct uhook_copy copy;
	int ret;

	ret = uhook_relocate(w->insn, w->size, w->site, addr, &copy);
	if (ret)
		return ret;

	memcpy(code->bytes, copy.bytes, copy.len);
	code->insn_len = copy.insn_len;
	code->copy_at = 0;
	code->copy_end = copy.copy_len;
	code->len = copy.len;

	return 0;
}

/* IPCOM000199322: the trampoline is "breakpoint, original, jump". */
static void add_breakpoint(struct uhook_code *code)
{
	const uprobe_opcode_t insn = UPROBE_SWBP_INSN;

	memcpy(code->bytes, &insn, UPROBE_SWBP_INSN_SIZE);
	code->len = UPROBE_SWBP_INSN_SIZE;
}

/* The handlers that come before hits are counted, or those that come after that. */
static int add_handlers(const struct uhook_wanted *w, const struct uhook_where *p, bool first,
			struct uhook_code *code)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < w->set->nr && !err; i++) {
		const struct uhook_kind *kind = w->set->counters[i]->kind;

		if (kind->emit && !(kind->traits & UHOOK_FIRST) == !first)
			err = kind->emit(w, i, p, code);
	}

	return err;
}

static int add_all(const struct uhook_wanted *w, const struct uhook_where *p,
		   struct uhook_code *code)
{
	int err = add_handlers(w, p, true, code);

	if (!err && (w->set->traits & UHOOK_COUNTS))
		err = uhook_emit_count(w, p, code);

	return err ?: add_handlers(w, p, false, code);
}

/* The form of US9336001 and IPCOM000199350: handlers, original instruction, jump. */
static int compose_body(const struct uhook_wanted *w, const struct uhook_where *p,
			struct uhook_code *code)
{
	unsigned int size = uhook_slot_size(uhook_area_kind_of(w));
	unsigned long addr = uhook_where_addr(p, uhook_area_kind_of(w));
	struct uhook_copy copy;
	int ret;

	code->len = 0;
	if (w->set->traits & UHOOK_BREAKS)
		add_breakpoint(code);
	ret = add_all(w, p, code);
	if (ret)
		return ret;

	ret = uhook_relocate_branch(w->insn, w->size, w->site, addr + code->len, &copy);
	if (ret)
		return ret;
	if (code->len + copy.len > size)
		return -EMFILE;

	memcpy(code->bytes + code->len, copy.bytes, copy.len);
	code->insn_len = copy.insn_len;
	code->copy_at = code->len;
	code->copy_end = code->len + copy.copy_len;
	code->len += copy.len;

	return 0;
}

/**
 * uhook_compose - make the code of a slot or body
 * @w: the slot or body
 * @p: where it is to be
 * @code: receives its code there
 *
 * Return: 0; -EMFILE if the handlers do not fit, -EOPNOTSUPP if the instruction can only
 * run in its place, -ERANGE if it is too far away, -ENOENT if the area lacks a gate or
 * the code of a handler.
 */
int uhook_compose(const struct uhook_wanted *w, const struct uhook_where *p,
		  struct uhook_code *code)
{
	if (!w->set)
		return compose_slot(w, uhook_where_addr(p, UHOOK_SLOTS), code);

	return compose_body(w, p, code);
}
