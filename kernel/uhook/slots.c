// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: finding and making the slot or the body of a site.
 *
 * Slots and bodies are written before anybody learns of their address, and never change
 * after that: no task can be parked in one that becomes another one. What a
 * site needs when its instruction or its hooks have changed is another slot or
 * body. What a body is to do ends up in a set, and a counter of the body says
 * how often it has run for all of them.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uprobes.h>

#include "compose.h"
#include "slots.h"
#include "sums.h"

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
	struct uhook_set *old = uhook_set_of(um, body);

	uhook_fold_body(um, area, nr);
	refcount_inc(&set->ref);
	rcu_assign_pointer(body->set, set);
	uhook_put_set(old);
}

/* One that holds this already, of an earlier uprobe or, a body, of a parent; or 0. */
static unsigned long find_slot(struct uhook_mm *um, struct uhook_area *area,
			       const struct uhook_wanted *w)
{
	unsigned int i = area->buckets[hash_long(w->site, UHOOK_BUCKET_BITS)];
	struct uhook_where where = { .base = area->vaddr, .area = area };
	struct uhook_code code;
	bool same;

	for (; i; i = uhook_slot_nr(area, i - 1)->next) {
		const struct uhook_slot *slot = uhook_slot_nr(area, i - 1);

		if (slot->site != w->site)
			continue;
		same = !w->set || uhook_same_set(uhook_set_of(um, uhook_body_nr(area, i - 1)),
						 w->set);
		if (!same && refcount_read(&area->ref) > 1)
			continue;
		/* It may be that of another instruction, which was there once. */
		where.nr = i - 1;
		if (uhook_compose(w, &where, &code) ||
		    memcmp(slot_text(area, i - 1), code.bytes, code.len))
			continue;
		if (!same)
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
	rcu_assign_pointer(body->set, w->set);
	memcpy(body->before, w->insn, UHOOK_JUMP_MAX);
	body->fetched = false;
	body->before_len = UHOOK_JUMP_MAX;
	if (uhook_jump_targets(w->site, w->insn, insn_len, &targets) || targets.forced)
		body->before_len = min_t(u8, insn_len, UHOOK_JUMP_MAX);
}

static void enter_slot(struct uhook_area *area, const struct uhook_wanted *w, unsigned int nr,
		       const struct uhook_code *code)
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

/* What is in the area already stays, and will do for the next body. */
static enum uhook_verdict prepare_handlers(struct uhook_area *area, const struct uhook_set *set)
{
	enum uhook_verdict verdict = UHOOK_GRANTED;
	unsigned int i;

	for (i = 0; i < set->nr && !verdict; i++) {
		struct uhook_counter *counter = set->counters[i];

		if (counter->kind->prepare)
			verdict = counter->kind->prepare(area, counter);
	}

	return verdict;
}

static enum uhook_verdict new_slot(struct uhook_area *area, const struct uhook_wanted *w,
				   unsigned long *addr)
{
	struct uhook_where where = { .base = area->vaddr, .area = area };
	enum uhook_verdict verdict;
	struct uhook_code code;
	unsigned int i;

	verdict = w->set ? prepare_handlers(area, w->set) : UHOOK_GRANTED;
	if (verdict)
		return verdict;

	where.nr = area->used;
	if (where.nr == uhook_area_slots(area->kind) || refcount_read(&area->ref) > 1)
		return UHOOK_FULL;

	i = where.nr / uhook_page_slots(area->kind);
	verdict = uhook_compose(w, &where, &code);
	if (verdict)
		return verdict;
	if (uhook_make_page(area, i))
		return UHOOK_NO_MEMORY;

	*addr = uhook_where_addr(&where, area->kind);
	arch_uprobe_copy_ixol(area->pages[i], *addr, code.bytes, code.len);
	enter_slot(area, w, where.nr, &code);

	return UHOOK_GRANTED;
}

static enum uhook_verdict take_slot(struct uhook_mm *um, struct uhook_area *area,
				    const struct uhook_wanted *w, unsigned long *addr)
{
	enum uhook_verdict verdict;

	/*
	 * Whom a body counts for changes with it. But a process that waits for memory,
	 * of which it may have no more, does not let those wait who read its counts.
	 */
	if (w->set)
		mutex_lock(&um->counts);
	mutex_lock(&area->lock);
	*addr = find_slot(um, area, w);
	if (w->set)
		mutex_unlock(&um->counts);
	verdict = *addr ? UHOOK_GRANTED : new_slot(area, w, addr);
	mutex_unlock(&area->lock);

	return verdict;
}

/* Can the first and the last slot of an area be where it is asked for? */
static bool fits(unsigned long area, const void *data)
{
	const struct uhook_wanted *w = data;
	struct uhook_where first = { .base = area };
	struct uhook_where last = {
		.base	= area,
		.nr	= uhook_area_slots(uhook_area_kind_of(w)) - 1,
	};
	struct uhook_code code;

	return !uhook_compose(w, &first, &code) && !uhook_compose(w, &last, &code);
}

/**
 * uhook_take_slot - get a slot or body for an instruction
 * @um: current's
 * @w: what is wanted
 * @addr: receives its address
 *
 * Context: task, with @um->lock held, and the mmap lock for writing when a body
 * is wanted, or not held otherwise; sleeps.
 * Return: the verdict.
 */
enum uhook_verdict uhook_take_slot(struct uhook_mm *um, const struct uhook_wanted *w,
				   unsigned long *addr)
{
	enum uhook_area_kind kind = uhook_area_kind_of(w);
	struct mm_struct *mm = current->mm;
	struct uhook_area *area;
	struct uhook_where here = { .base = w->site & ~(UHOOK_CODE_SIZE - 1) };
	const struct uhook_near near = { .site = w->site, .fits = fits, .data = w };
	enum uhook_verdict verdict;
	struct uhook_code code;
	unsigned int i;

	lockdep_assert_held(&um->lock);
	if (w->set)
		mmap_assert_write_locked(mm);
	/* No area helps an instruction that does not even run where it is. */
	verdict = uhook_compose(w, &here, &code);
	if (verdict)
		return verdict;

	for (i = 0; i < um->nr_areas; i++) {
		if (um->areas[i]->kind != kind)
			continue;
		verdict = take_slot(um, um->areas[i], w, addr);
		if (verdict != UHOOK_NO_GAP && verdict != UHOOK_FULL)
			return verdict;
	}

	if (!w->set && mmap_write_lock_killable(mm))
		return UHOOK_UNDECIDED;
	verdict = uhook_add_area(um, kind, &near, &area);
	if (!w->set)
		mmap_write_unlock(mm);

	return verdict ?: take_slot(um, area, w, addr);
}
