// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the code of bodies.
 *
 * A body runs the handlers of a set of hooks before the copy of an instruction: a
 * breakpoint if a hook wants it there, jumps to stubs, the counter, the other handlers in
 * the order of their hooks, the copy, and the jump back.
 */
#include <linux/string.h>
#include <linux/uprobes.h>

#include "count.h"
#include "handlers.h"
#include "sets.h"

/* IPCOM000199322: the trampoline is "breakpoint, original, jump". */
static void add_breakpoint(struct uhook_code *code)
{
	const uprobe_opcode_t insn = UPROBE_SWBP_INSN;

	memcpy(code->bytes, &insn, UPROBE_SWBP_INSN_SIZE);
	code->len = UPROBE_SWBP_INSN_SIZE;
}

/* Add the handlers that run before hits are counted (FIRST), or those that run after. */
static enum uhook_verdict add_handlers(const struct uhook_wanted *w, const struct uhook_where *p,
				       bool first, struct uhook_code *code)
{
	enum uhook_verdict verdict = UHOOK_GRANTED;
	unsigned int i;

	for (i = 0; i < w->set->nr && !verdict; i++) {
		const struct uhook_kind *kind = w->set->counters[i]->kind;

		if (kind->emit && !(kind->traits & UHOOK_FIRST) == !first)
			verdict = kind->emit(w, i, p, code);
	}

	return verdict;
}

static enum uhook_verdict add_all(const struct uhook_wanted *w, const struct uhook_where *p,
				  struct uhook_code *code)
{
	enum uhook_verdict verdict = add_handlers(w, p, true, code);

	if (!verdict && (w->set->traits & UHOOK_COUNTS))
		verdict = uhook_emit_count(w, p, code);

	return verdict ?: add_handlers(w, p, false, code);
}

/**
 * uhook_compose_body - generate the code of a body
 * @w: the body
 * @p: location of the code
 * @code: receives the code
 *
 * The form of US9336001 and IPCOM000199350: handlers, original instruction, jump.
 *
 * Return: the verdict, as uhook_compose().
 */
enum uhook_verdict uhook_compose_body(const struct uhook_wanted *w, const struct uhook_where *p,
				      struct uhook_code *code)
{
	unsigned int size = uhook_slot_size(w->kind);
	unsigned long addr = uhook_where_addr(p, w->kind);
	enum uhook_verdict verdict;
	struct uhook_copy copy;
	int err;

	code->len = 0;
	if (w->set->traits & UHOOK_BREAKS)
		add_breakpoint(code);
	verdict = add_all(w, p, code);
	if (verdict)
		return verdict;

	err = uhook_relocate_branch(w->insn, w->size, w->site, addr + code->len, &copy);
	if (err)
		return uhook_code_verdict(err);
	if (code->len + copy.len > size)
		return UHOOK_TOO_LONG;

	memcpy(code->bytes + code->len, copy.bytes, copy.len);
	code->insn_len = copy.insn_len;
	code->copy_at = code->len;
	code->copy_end = code->len + copy.copy_len;
	code->len += copy.len;

	return UHOOK_GRANTED;
}
