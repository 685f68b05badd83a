// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: gates and copies of handlers' code in an area.
 *
 * Bodies call handlers that are functions through a gate in their area; see uhook_gate.h.
 * The code of a handler is copied into the area of the bodies that call it. Gates and
 * code take slots of the area, are made when the first body needs them, and never change.
 *
 * US8832666 also copies the user handler into the page of the trampoline, on request.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uhook_hooks.h>
#include <linux/uprobes.h>
#include <asm/uhook.h>

#include "counters.h"
#include "data_layout.h"
#include "gates.h"
#include "wanted.h"

static_assert(UHOOK_GATE_SIZE <= UHOOK_CODE_MAX);
static_assert(UHOOK_CODE_MAX <= PAGE_SIZE);

/* Allocate slots for LEN bytes in one page. */
static enum uhook_verdict reserve(struct uhook_area *area, size_t len, unsigned int *number)
{
	unsigned int per_page = uhook_page_slots(area->kind);
	unsigned int nr = DIV_ROUND_UP(len, uhook_slot_size(area->kind));
	unsigned int first = area->used;

	if (first % per_page + nr > per_page)
		first = round_up(first, per_page);
	if (first + nr > uhook_area_slots(area->kind))
		return UHOOK_FULL;

	/* Skipped slots have no site, but need a page, too. */
	if ((first && uhook_make_page(area, (first - 1) / per_page)) ||
	    uhook_make_page(area, first / per_page))
		return UHOOK_NO_MEMORY;
	/* Publish the pages before the number of slots. */
	smp_store_release(&area->used, first + nr);
	*number = first;

	return UHOOK_GRANTED;
}

static unsigned long write_at(struct uhook_area *area, unsigned int nr, const void *bytes,
			      size_t len)
{
	unsigned long addr = area->vaddr + nr * uhook_slot_size(area->kind);

	arch_uprobe_copy_ixol(area->pages[(addr - area->vaddr) >> PAGE_SHIFT], addr,
			      (void *)bytes, len);

	return addr;
}

/**
 * uhook_gate_of - the gate of an area
 * @area: the area, with its lock held
 * @vectors: true for the gate that saves vector registers
 * @make: true to make a missing gate
 * @addr: receives the address of the gate
 *
 * Return: the verdict: UHOOK_UNDECIDED if there is no gate, UHOOK_FULL or
 * UHOOK_NO_MEMORY.
 */
enum uhook_verdict uhook_gate_of(struct uhook_area *area, bool vectors, bool make,
				 unsigned long *addr)
{
	struct uhook_gate gate = {
		.pool		= area->vaddr + UHOOK_CODE_SIZE + UHOOK_POOL_AT,
		.page_size	= PAGE_SIZE,
		.vectors	= vectors,
	};
	enum uhook_verdict verdict;
	unsigned int first;
	u8 *code;
	int len;

	lockdep_assert_held(&area->lock);
	*addr = area->gates[vectors];
	if (*addr || !make)
		return *addr ? UHOOK_GRANTED : UHOOK_UNDECIDED;

	code = kmalloc(UHOOK_GATE_SIZE, GFP_UHOOK);
	if (!code)
		return UHOOK_NO_MEMORY;

	arch_uhook_vectors(&gate);
	verdict = reserve(area, UHOOK_GATE_SIZE, &first);
	if (!verdict) {
		len = uhook_gate_code(code, UHOOK_GATE_SIZE,
				      area->vaddr + first * uhook_slot_size(area->kind), &gate);
		if (len > 0)
			*addr = write_at(area, first, code, len);
		else
			verdict = uhook_code_verdict(len);
	}
	kfree(code);
	WRITE_ONCE(area->gates[vectors], *addr);

	return verdict;
}

/**
 * uhook_code_of - the code of a handler in an area
 * @area: the area, with its lock held
 * @counter: counter of the hook
 * @make: true to copy the code into the area if it is missing
 * @addr: receives the address of the code
 *
 * Return: the verdict: UHOOK_UNDECIDED if the code is missing, UHOOK_FULL or
 * UHOOK_NO_MEMORY.
 */
enum uhook_verdict uhook_code_of(struct uhook_area *area, struct uhook_counter *counter, bool make,
				 unsigned long *addr)
{
	enum uhook_verdict verdict;
	struct uhook_code_at *at;
	unsigned int i, first;

	lockdep_assert_held(&area->lock);
	for (i = 0; i < area->nr_codes; i++) {
		if (area->codes[i].counter == counter) {
			*addr = area->vaddr + area->codes[i].nr * uhook_slot_size(area->kind);
			return UHOOK_GRANTED;
		}
	}
	if (!make)
		return UHOOK_UNDECIDED;
	if (i == UHOOK_AREA_CODES)
		return UHOOK_FULL;

	verdict = reserve(area, counter->code_size, &first);
	if (verdict)
		return verdict;

	*addr = write_at(area, first, counter->code, counter->code_size);
	at = &area->codes[i];
	at->nr = first;
	at->counter = counter;
	refcount_inc(&counter->ref);
	area->nr_codes++;

	return UHOOK_GRANTED;
}

/* The gate of an area that contains an address, or 0. */
static unsigned long gate_at(const struct uhook_area *area, unsigned long addr)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(area->gates); i++) {
		unsigned long gate = READ_ONCE(area->gates[i]);

		if (gate && addr - gate < UHOOK_GATE_SIZE)
			return gate;
	}

	return 0;
}

/**
 * uhook_fixup_gate_fault - fix up a gate's fault on an unmapped mark
 * @regs: user registers of current, which is about to get a signal for a memory fault
 *
 * A gate that finds a stack in use looks for the mark of the handler on it. If a handler
 * was left for good, by longjmp() or because a task of the same address space died in it,
 * the memory that holds the mark may have been unmapped.
 *
 * Context: any but NMI.
 * Return: true if that was the cause: the gate continues without the mark, and the signal
 * is suppressed.
 */
bool uhook_fixup_gate_fault(struct pt_regs *regs)
{
	struct uhook_mm *um = current->mm ? uhook_mm_of(current->mm) : NULL;
	unsigned long ip = instruction_pointer(regs), gate;
	struct uhook_area *area;
	unsigned int by;
	u8 *code;

	if (likely(!um))
		return false;

	area = uhook_area_at(um, ip);
	gate = area ? gate_at(area, ip) : 0;
	if (!gate)
		return false;

	code = page_address(area->pages[(ip - area->vaddr) >> PAGE_SHIFT]) + offset_in_page(ip);
	by = uhook_gate_no_mark(code, gate + UHOOK_GATE_SIZE - ip);
	instruction_pointer_set(regs, ip + by);

	return by;
}
