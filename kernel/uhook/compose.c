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
#include "gates.h"

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

static unsigned long block_of(const struct uhook_where *p, unsigned int i)
{
	return p->base + UHOOK_CODE_SIZE + UHOOK_BLOCKS_AT +
	       (p->nr * UHOOK_BODY_BLOCKS + i) * sizeof(struct uhook_block);
}

static int add_recorder(const struct uhook_counter *counter, const struct uhook_where *p,
			unsigned int i, struct uhook_code *code)
{
	struct uhook_recorder recorder = counter->recorder;
	unsigned long at = uhook_where_addr(p, UHOOK_LONG_BODIES) + code->len;

	recorder.ring = p->base + UHOOK_CODE_SIZE + UHOOK_RING_AT;
	recorder.lost = block_of(p, i) + offsetof(struct uhook_block, lost);
	recorder.id = UHOOK_RECORDER_ID(p->nr, i);

	return uhook_record_code(code->bytes + code->len, UHOOK_LONG_SIZE - code->len, at,
				 &recorder);
}

static int add_call(const struct uhook_wanted *w, const struct uhook_where *p, unsigned int i,
		    struct uhook_code *code)
{
	struct uhook_counter *counter = w->set->counters[i];
	struct uhook_call call = {
		.gate		= p->base,
		.handler	= w->functions[i] ?: p->base,
		.data		= block_of(p, i),
		.missed		= block_of(p, i) + offsetof(struct uhook_block, missed),
		.site		= w->site,
	};
	int err;

	if (p->area) {
		err = uhook_gate_of(p->area, !counter->no_vectors, false, &call.gate);
		if (!err && counter->user == UHOOK_USER_CODE)
			err = uhook_code_of(p->area, counter, false, &call.handler);
		if (err)
			return err;
	}

	return uhook_call_code(code->bytes + code->len, UHOOK_LONG_SIZE - code->len,
			       uhook_where_addr(p, UHOOK_LONG_BODIES) + code->len, &call);
}

/* The handlers of a set, but for counting, which the body does for all. */
static int add_handlers(const struct uhook_wanted *w, const struct uhook_where *p,
			struct uhook_code *code)
{
	unsigned int i;
	int len;

	for (i = 0; i < w->set->nr; i++) {
		struct uhook_counter *counter = w->set->counters[i];

		len = 0;
		if (counter->user == UHOOK_USER_RECORD)
			len = add_recorder(counter, p, i, code);
		else if (uhook_calls(counter->user))
			len = add_call(w, p, i, code);
		if (len < 0)
			return len == -ENOSPC ? -EMFILE : len;
		code->len += len;
	}

	return 0;
}

/* IPCOM000199322: the trampoline is "breakpoint, original, jump". */
static void add_breakpoint(struct uhook_code *code)
{
	const uprobe_opcode_t insn = UPROBE_SWBP_INSN;

	memcpy(code->bytes, &insn, UPROBE_SWBP_INSN_SIZE);
	code->len = UPROBE_SWBP_INSN_SIZE;
}

/* First, so that they are aligned; each leads behind the jump to it: uhook_take_stubs(). */
static int add_stubs(const struct uhook_wanted *w, struct uhook_code *code)
{
	unsigned int i;
	int err = 0;

	for (i = 0; w->set->stubs && i < w->set->nr && !err; i++) {
		if (w->set->counters[i]->user != UHOOK_USER_STUB)
			continue;
		if (code->len + UHOOK_STUB_SIZE > UHOOK_BODY_SIZE)
			return -EMFILE;
		err = uhook_stub_code(code->bytes + code->len, w->insn, w->functions[i]);
		code->len += UHOOK_STUB_SIZE;
	}

	return err;
}

static int add_count(const struct uhook_wanted *w, const struct uhook_where *p,
		     struct uhook_code *code)
{
	unsigned int size = uhook_slot_size(uhook_area_kind_of(w));
	int len;

	if (!w->set->counts)
		return 0;

	len = uhook_count_code(code->bytes + code->len, size - code->len,
			       uhook_where_addr(p, uhook_area_kind_of(w)) + code->len,
			       p->base + UHOOK_CODE_SIZE + p->nr * sizeof(u64));
	if (len < 0)
		return len == -ENOSPC ? -EMFILE : len;
	code->len += len;

	return 0;
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
	if (w->set->breaks)
		add_breakpoint(code);
	ret = add_stubs(w, code) ?: add_count(w, p, code) ?: add_handlers(w, p, code);
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
