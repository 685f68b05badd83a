// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: finding and making the slot or the body of a site.
 *
 * Slots and bodies are written before their addresses are published, and never change
 * afterwards, because a task may stay in one for any time. If the instruction or the
 * hooks of a site change, the site gets another slot or body. The hooks that a body
 * serves are in its set, and a counter of the body counts its runs for all of them.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uprobes.h>

#include "compose.h"
#include "handlers.h"
#include "slots.h"

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
 * A slot or body with the wanted code, of an earlier uprobe or, for bodies, of the
 * parent; or 0.
 */
static unsigned long find_slot(struct uhook_mm *um, struct uhook_area *area,
			       const struct uhook_wanted *w)
{
	unsigned int i = area->buckets[hash_long(w->site, UHOOK_BUCKET_BITS)];
	struct uhook_where where = { .base = area->vaddr, .area = area };
	struct uhook_code code;

	for (; i; i = uhook_slot_nr(area, i - 1)->next) {
		const struct uhook_slot *slot = uhook_slot_nr(area, i - 1);

		if (slot->site != w->site)
			continue;
		if (w->set && !uhook_may_adopt(um, area, i - 1, w->set))
			continue;
		/* The code may be of another instruction that was at the address earlier. */
		where.nr = i - 1;
		if (uhook_compose(w, &where, &code) ||
		    memcmp(slot_text(area, i - 1), code.bytes, code.len))
			continue;
		if (w->set && !uhook_has_before(uhook_body_nr(area, i - 1), w, code.insn_len))
			continue;
		if (w->set)
			uhook_adopt_body(um, area, i - 1, w->set);
		return slot_addr(area, i - 1);
	}

	return 0;
}

static void enter_slot(struct uhook_area *area, const struct uhook_wanted *w, unsigned int nr,
		       const struct uhook_code *code)
{
	u16 *bucket = &area->buckets[hash_long(w->site, UHOOK_BUCKET_BITS)];
	struct uhook_slot *slot = uhook_slot_nr(area, nr);

	if (w->set)
		uhook_fill_body(uhook_body_nr(area, nr), w, code->insn_len);
	slot->insn_len = code->insn_len;
	slot->copy_at = code->copy_at;
	slot->copy_end = code->copy_end;
	slot->next = *bucket;
	*bucket = nr + 1;
	/* Readers may look before a task can be in the slot: uhook_translate(). */
	smp_store_release(&slot->site, w->site);
	/* Readers walk all slots up to this number. */
	smp_store_release(&area->used, nr + 1);
}

static enum uhook_verdict new_slot(struct uhook_area *area, const struct uhook_wanted *w,
				   unsigned long *addr)
{
	struct uhook_where where = { .base = area->vaddr, .area = area };
	enum uhook_verdict verdict;
	struct uhook_code code;
	unsigned int i;

	lockdep_assert_held(&area->lock);
	/*
	 * Allocate nothing with the lock of a shared area, whose other owners would wait for
	 * the memory. The mmap lock, see uhook_take_slot(), keeps a sole owner from sharing.
	 */
	if (refcount_read(&area->ref) > 1)
		return UHOOK_FULL;

	verdict = w->set ? uhook_prepare_handlers(area, w->set) : UHOOK_GRANTED;
	if (verdict)
		return verdict;

	where.nr = area->used;
	if (where.nr == uhook_area_slots(area->kind))
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

static enum uhook_verdict take_slot(struct uhook_mm *um, unsigned int i,
				    const struct uhook_wanted *w, unsigned long *addr)
{
	struct uhook_area *area = um->areas[i];
	enum uhook_verdict verdict;

	/*
	 * @counts protects the set of a body. Drop it before allocating: a process that
	 *	waits for memory, perhaps at its limit, must not block readers of its
	 *	counts.
	 */
	if (w->set)
		mutex_lock(&um->counts);
	mutex_lock(&area->lock);
	*addr = find_slot(um, area, w);
	if (w->set)
		mutex_unlock(&um->counts);
	verdict = *addr ? UHOOK_GRANTED : new_slot(area, w, addr);
	mutex_unlock(&area->lock);
	if (verdict == UHOOK_GRANTED && w->set)
		uhook_grant_body(um, i, (*addr - area->vaddr) / uhook_slot_size(area->kind));

	return verdict;
}

/* Whether an area at an address could hold the wanted code in its first and in its last slot. */
static bool fits(unsigned long area, const void *data)
{
	const struct uhook_wanted *w = data;
	struct uhook_where first = { .base = area };
	struct uhook_where last = {
		.base	= area,
		.nr	= uhook_area_slots(w->kind) - 1,
	};
	struct uhook_code code;

	return !uhook_compose(w, &first, &code) && !uhook_compose(w, &last, &code);
}

/**
 * uhook_take_slot - get a slot or body for an instruction
 * @um: state of current's address space
 * @w: requirements for the slot or body
 * @addr: receives the address
 *
 * Context: task, with @um->lock held; for a body also with the mmap lock held for
 * writing, for a slot with the mmap lock not held; sleeps.
 * Return: the verdict.
 */
enum uhook_verdict uhook_take_slot(struct uhook_mm *um, const struct uhook_wanted *w,
				   unsigned long *addr)
{
	struct mm_struct *mm = current->mm;
	struct uhook_where here = { .base = w->site & ~(UHOOK_CODE_SIZE - 1) };
	const struct uhook_near near = { .site = w->site, .fits = fits, .data = w };
	enum uhook_verdict verdict;
	struct uhook_code code;
	unsigned int i;

	lockdep_assert_held(&um->lock);
	if (w->set)
		mmap_assert_write_locked(mm);
	/* Give up early if the code could not be generated even next to the instruction. */
	verdict = uhook_compose(w, &here, &code);
	if (verdict)
		return verdict;

	for (i = 0; i < um->nr_areas; i++) {
		if (um->areas[i]->kind != w->kind)
			continue;
		verdict = take_slot(um, i, w, addr);
		if (verdict != UHOOK_NO_GAP && verdict != UHOOK_FULL)
			return verdict;
	}

	if (!w->set && mmap_write_lock_killable(mm))
		return UHOOK_UNDECIDED;
	verdict = uhook_add_area(um, w->kind, &near);
	if (!w->set)
		mmap_write_unlock(mm);

	return verdict ?: take_slot(um, um->nr_areas - 1, w, addr);
}
