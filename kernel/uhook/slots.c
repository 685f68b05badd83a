// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: slots and bodies, the code in areas.
 *
 * A slot is code for an address and the instruction there: the copy of the
 * instruction and a jump to the next one. A body runs the handlers of a hook set
 * before that.
 *
 * Both are written before anybody learns of their address, and never change
 * after that: no task can be parked in one that becomes another one. What a
 * site needs when its instruction or its hooks have changed is another slot or
 * body. What a body is to do ends up in a set, and a counter of the body says
 * how often it has run for all of them.
 */
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/uprobes.h>

#include "internal.h"

/**
 * struct code - what is written
 * @bytes: it
 * @insn_len: the length of the original instruction, in bytes
 * @copy_at: where the copy begins
 * @copy_end: where the jump back begins
 * @len: all of it
 */
struct code {
	u8 bytes[UHOOK_LONG_SIZE];
	u8 insn_len;
	u16 copy_at;
	u16 copy_end;
	u16 len;
};

static int compose_slot(const struct uhook_wanted *w, unsigned long addr, struct code *code)
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

static enum uhook_area_kind kind_of(const struct uhook_wanted *w)
{
	if (!w->set)
		return UHOOK_SLOTS;

	return w->set->records || w->set->calls ? UHOOK_LONG_BODIES : UHOOK_BODIES;
}

/**
 * struct place - where a slot or body is to be
 * @base: the address of its area
 * @nr: its number there
 * @area: the area, with its lock held; NULL if there is none, and addresses in it
 *	do not matter
 */
struct place {
	unsigned long		base;
	unsigned int		nr;
	struct uhook_area	*area;
};

static unsigned long place_addr(const struct place *p, enum uhook_area_kind kind)
{
	return p->base + p->nr * uhook_slot_size(kind);
}

static unsigned long block_of(const struct place *p, unsigned int i)
{
	return p->base + UHOOK_CODE_SIZE + UHOOK_BLOCKS_AT +
	       (p->nr * UHOOK_BODY_BLOCKS + i) * sizeof(struct uhook_block);
}

static int add_recorder(const struct uhook_counter *counter, const struct place *p, unsigned int i,
			struct code *code)
{
	struct uhook_recorder recorder = counter->recorder;
	unsigned long at = place_addr(p, UHOOK_LONG_BODIES) + code->len;

	recorder.ring = p->base + UHOOK_CODE_SIZE + UHOOK_RING_AT;
	recorder.lost = block_of(p, i) + offsetof(struct uhook_block, lost);
	recorder.id = UHOOK_RECORDER_ID(p->nr, i);

	return uhook_record_code(code->bytes + code->len, UHOOK_LONG_SIZE - code->len, at,
				 &recorder);
}

static int add_call(const struct uhook_wanted *w, const struct place *p, unsigned int i,
		    struct code *code)
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
			       place_addr(p, UHOOK_LONG_BODIES) + code->len, &call);
}

/* The handlers of a set, but for counting, which the body does for all. */
static int add_handlers(const struct uhook_wanted *w, const struct place *p, struct code *code)
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
static void add_breakpoint(struct code *code)
{
	const uprobe_opcode_t insn = UPROBE_SWBP_INSN;

	memcpy(code->bytes, &insn, UPROBE_SWBP_INSN_SIZE);
	code->len = UPROBE_SWBP_INSN_SIZE;
}

/* First, so that they are aligned; each leads behind the jump to it: uhook_take_stubs(). */
static int add_stubs(const struct uhook_wanted *w, struct code *code)
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

static int add_count(const struct uhook_wanted *w, const struct place *p, struct code *code)
{
	unsigned int size = uhook_slot_size(kind_of(w));
	int len;

	if (!w->set->counts)
		return 0;

	len = uhook_count_code(code->bytes + code->len, size - code->len,
			       place_addr(p, kind_of(w)) + code->len,
			       p->base + UHOOK_CODE_SIZE + p->nr * sizeof(u64));
	if (len < 0)
		return len == -ENOSPC ? -EMFILE : len;
	code->len += len;

	return 0;
}

/* The form of US9336001 and IPCOM000199350: handlers, original instruction, jump. */
static int compose_body(const struct uhook_wanted *w, const struct place *p, struct code *code)
{
	unsigned int size = uhook_slot_size(kind_of(w));
	unsigned long addr = place_addr(p, kind_of(w));
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

/* What a slot or body has to be there. */
static int compose(const struct uhook_wanted *w, const struct place *p, struct code *code)
{
	if (!w->set)
		return compose_slot(w, place_addr(p, UHOOK_SLOTS), code);

	return compose_body(w, p, code);
}

/**
 * uhook_try_slot - could it be in an area there?
 * @w: what is wanted
 * @area: the address of the area
 *
 * Return: 0, -ERANGE or -EOPNOTSUPP.
 */
int uhook_try_slot(const struct uhook_wanted *w, unsigned long area)
{
	struct place first = { .base = area };
	struct place last = { .base = area, .nr = uhook_area_slots(kind_of(w)) - 1 };
	struct code code;

	return compose(w, &first, &code) ?: compose(w, &last, &code);
}

static unsigned long slot_addr(const struct uhook_area *area, unsigned int nr)
{
	return area->vaddr + nr * uhook_slot_size(area->kind);
}

static void *slot_text(const struct uhook_area *area, unsigned int nr)
{
	unsigned long addr = slot_addr(area, nr);

	return page_address(area->pages[(addr - area->vaddr) >> PAGE_SHIFT]) +
	       offset_in_page(addr);
}

/*
 * A body of other hooks does the same as the one that is wanted: it counts for the
 * new ones from now on. (A task that is on its way into it does so already.) Only
 * one process has it, so that the others are not wanted any more.
 */
static void adopt(struct uhook_mm *um, struct uhook_area *area, unsigned int nr,
		  struct uhook_set *set)
{
	struct uhook_body *body = uhook_body_nr(area, nr);
	struct uhook_set *old = body->set;

	uhook_fold_body(um, area, nr);
	refcount_inc(&set->ref);
	WRITE_ONCE(body->set, set);
	uhook_put_set(old);
}

/* One that holds this already, of an earlier uprobe or, a body, of a parent; or 0. */
static unsigned long find_slot(struct uhook_mm *um, struct uhook_area *area,
			       const struct uhook_wanted *w)
{
	unsigned int i = area->buckets[hash_long(w->site, UHOOK_BUCKET_BITS)];
	struct place place = { .base = area->vaddr, .area = area };
	struct code code;

	for (; i; i = uhook_slot_nr(area, i - 1)->next) {
		const struct uhook_slot *slot = uhook_slot_nr(area, i - 1);

		if (slot->site != w->site)
			continue;
		if (w->set && refcount_read(&area->ref) > 1 &&
		    !uhook_same_set(uhook_body_nr(area, i - 1)->set, w->set))
			continue;
		/* It may be that of another instruction, which was there once. */
		place.nr = i - 1;
		if (compose(w, &place, &code) ||
		    memcmp(slot_text(area, i - 1), code.bytes, code.len))
			continue;
		if (w->set && !uhook_same_set(uhook_body_nr(area, i - 1)->set, w->set))
			adopt(um, area, i - 1, w->set);
		return slot_addr(area, i - 1);
	}

	return 0;
}

/* What a jump replaces depends on what the file has behind the instruction. */
static void fill_body(struct uhook_body *body, const struct uhook_wanted *w, u8 insn_len)
{
	struct uhook_targets targets;

	refcount_inc(&w->set->ref);
	body->set = w->set;
	memcpy(body->before, w->insn, UHOOK_JUMP_MAX);
	body->fetched = false;
	body->before_len = UHOOK_JUMP_MAX;
	if (uhook_jump_targets(w->site, w->insn, insn_len, &targets) || targets.forced)
		body->before_len = min_t(u8, insn_len, UHOOK_JUMP_MAX);
}

static void enter_slot(struct uhook_area *area, const struct uhook_wanted *w, unsigned int nr,
		       const struct code *code)
{
	u16 *bucket = &area->buckets[hash_long(w->site, UHOOK_BUCKET_BITS)];
	struct uhook_slot *slot = uhook_slot_nr(area, nr);

	if (w->set)
		fill_body(uhook_body_nr(area, nr), w, code->insn_len);
	slot->insn_len = code->insn_len;
	slot->copy_at = code->copy_at;
	slot->copy_end = code->copy_end;
	slot->next = *bucket;
	*bucket = nr + 1;
	/* Others may look before anybody can be there: uhook_translate(). */
	smp_store_release(&slot->site, w->site);
	/* And go through all there are. */
	smp_store_release(&area->used, nr + 1);
}

static long new_slot(struct uhook_area *area, const struct uhook_wanted *w)
{
	struct place place = { .base = area->vaddr, .area = area };
	struct code code;
	unsigned int i;
	int ret;

	ret = w->set && w->set->calls ? uhook_prepare_calls(area, w) : 0;
	if (ret)
		return ret;

	place.nr = area->used;
	if (place.nr == uhook_area_slots(area->kind) || refcount_read(&area->ref) > 1)
		return -ENOSPC;

	i = place.nr / uhook_page_slots(area->kind);
	ret = compose(w, &place, &code) ?: uhook_make_page(area, i);
	if (ret)
		return ret;

	arch_uprobe_copy_ixol(area->pages[i], place_addr(&place, area->kind), code.bytes, code.len);
	enter_slot(area, w, place.nr, &code);

	return place_addr(&place, area->kind);
}

static long take_slot(struct uhook_mm *um, struct uhook_area *area, const struct uhook_wanted *w)
{
	long ret;

	/*
	 * Whom a body counts for changes with it. But a process that waits for memory,
	 * of which it may have no more, does not let those wait who read its counts.
	 */
	if (w->set)
		mutex_lock(&um->counts);
	mutex_lock(&area->lock);
	ret = find_slot(um, area, w);
	if (w->set)
		mutex_unlock(&um->counts);
	ret = ret ?: new_slot(area, w);
	mutex_unlock(&area->lock);

	return ret;
}

/**
 * uhook_take_slot - get a slot or body for an instruction
 * @um: current's
 * @w: what is wanted
 *
 * Context: task, with @um->lock held, and the mmap lock for writing when a body
 * is wanted, or not held otherwise; sleeps.
 * Return: its address; -EMFILE when there are too many handlers, -EOPNOTSUPP when
 * the instruction can only run in its place, -ERANGE when there is no gap within
 * reach, -ENOSPC when the process has all the areas that it may have, -ENOMEM,
 * -EINTR.
 */
long uhook_take_slot(struct uhook_mm *um, const struct uhook_wanted *w)
{
	enum uhook_area_kind kind = kind_of(w);
	struct mm_struct *mm = current->mm;
	struct uhook_area *area;
	struct place here = { .base = w->site & ~(UHOOK_CODE_SIZE - 1) };
	struct code code;
	unsigned int i;
	long ret;

	/* No area helps an instruction that does not even run where it is. */
	ret = compose(w, &here, &code);
	if (ret)
		return ret;

	for (i = 0; i < um->nr_areas; i++) {
		if (um->areas[i]->kind != kind)
			continue;
		ret = take_slot(um, um->areas[i], w);
		if (ret != -ERANGE && ret != -ENOSPC)
			return ret;
	}

	if (!w->set && mmap_write_lock_killable(mm))
		return -EINTR;
	area = uhook_add_area(um, kind, w);
	if (!w->set)
		mmap_write_unlock(mm);

	return IS_ERR(area) ? PTR_ERR(area) : take_slot(um, area, w);
}

static unsigned int number_at(const struct uhook_area *area, unsigned long addr)
{
	return (addr - area->vaddr) / uhook_slot_size(area->kind);
}

/* What is known of the code at an address of an area, or NULL; lockless. */
static const struct uhook_slot *slot_at(const struct uhook_area *area, unsigned long addr)
{
	unsigned long i = array_index_nospec((addr - area->vaddr) >> PAGE_SHIFT,
					     ARRAY_SIZE(area->slots));
	const struct uhook_slot *slots;

	/* Pairs with uhook_make_page(). */
	slots = smp_load_acquire(&area->slots[i]);

	return slots ? &slots[offset_in_page(addr) / uhook_slot_size(area->kind)] : NULL;
}

/**
 * uhook_body_at - what is known of a body
 * @um: of the address space
 * @addr: the body's address
 * @slot: receives its place and instruction
 *
 * Context: any, while somebody uses the address space; &uhook_body.set changes with
 * &uhook_mm.counts held, and is freed after a grace period of RCU.
 * Return: it.
 */
struct uhook_body *uhook_body_at(const struct uhook_mm *um, unsigned long addr,
				 const struct uhook_slot **slot)
{
	struct uhook_area *area = uhook_area_at(um, addr);
	unsigned int nr = number_at(area, addr);

	*slot = uhook_slot_nr(area, nr);

	return uhook_body_nr(area, nr);
}

static enum uhook_place place_in(const struct uhook_slot *slot, unsigned long at)
{
	if (!at && slot->copy_at)
		return UHOOK_BEFORE;
	if (at < slot->copy_at)
		return UHOOK_INSIDE;

	return at < slot->copy_end ? UHOOK_AT_COPY : UHOOK_BEHIND;
}

/**
 * uhook_translate - where a program is that is in code of uhook
 * @um: of the address space
 * @ip: an address
 * @addr: receives the program's address, if @ip is in a slot, body or hop
 *
 * Context: any, NMI too, while somebody uses the address space.
 * Return: where it is there.
 */
enum uhook_place uhook_translate(const struct uhook_mm *um, unsigned long ip,
				 unsigned long *addr)
{
	struct uhook_area *area = uhook_area_at(um, ip);
	const struct uhook_slot *slot;
	enum uhook_place place;
	unsigned long site;

	if (!area) {
		/* From there it is as far as from the beginning of the body. */
		unsigned long body = uhook_hop_body(um, ip);

		area = body ? uhook_area_at(um, body) : NULL;
		ip = area ? body : ip;
	}

	if (!area) {
		*addr = uhook_stub_site(um, ip);
		return *addr ? UHOOK_INSIDE : UHOOK_ELSEWHERE;
	}

	slot = slot_at(area, ip);
	/* Pairs with enter_slot(). */
	site = slot ? smp_load_acquire(&slot->site) : 0;
	if (!site)
		return UHOOK_ELSEWHERE;

	place = place_in(slot, (ip - area->vaddr) % uhook_slot_size(area->kind));
	*addr = place == UHOOK_BEHIND ? site + slot->insn_len : site;

	return place;
}
