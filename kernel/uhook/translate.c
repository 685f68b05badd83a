// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: translating addresses in uhook's code to addresses of the program.
 *
 * Areas contain code, and hops and stubs lead to it. For every address in them the
 * program has an address: that of the site, or of the instruction after the site.
 */
#include <linux/compiler.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/uhook_hooks.h>

#include "areas.h"
#include "handlers.h"
#include "translate.h"

static enum uhook_place place_in(const struct uhook_slot *slot, unsigned long at)
{
	if (!at && slot->copy_at)
		return UHOOK_BEFORE;
	if (at < slot->copy_at)
		return UHOOK_INSIDE;

	return at < slot->copy_end ? UHOOK_AT_COPY : UHOOK_BEHIND;
}

/**
 * uhook_translate - translate an address in uhook's code to the program's address
 * @um: state of the address space
 * @ip: an address
 * @addr: receives the program's address, if @ip is in a slot, body, hop or stub
 *
 * Context: any, also NMI, while the address space is in use.
 * Return: the place of @ip.
 */
enum uhook_place uhook_translate(const struct uhook_mm *um, unsigned long ip,
				 unsigned long *addr)
{
	struct uhook_area *area = uhook_area_at(um, ip);
	const struct uhook_slot *slot;
	enum uhook_place place;
	unsigned long site;

	if (!area) {
		/* A hop is equivalent to the start of its body. */
		unsigned long body = uhook_hop_body(um, ip);

		area = body ? uhook_area_at(um, body) : NULL;
		ip = area ? body : ip;
	}

	if (!area) {
		*addr = uhook_stub_site(um, ip);
		return *addr ? UHOOK_INSIDE : UHOOK_ELSEWHERE;
	}

	slot = uhook_slot_at(area, ip);
	/* Pairs with enter_slot(). */
	site = slot ? smp_load_acquire(&slot->site) : 0;
	if (!site)
		return UHOOK_ELSEWHERE;

	place = place_in(slot, (ip - area->vaddr) % uhook_slot_size(area->kind));
	*addr = place == UHOOK_BEHIND ? site + slot->insn_len : site;

	return place;
}
