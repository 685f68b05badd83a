/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: areas, the mappings of slots and bodies, and their tables.
 */
#ifndef _KERNEL_UHOOK_AREAS_H
#define _KERNEL_UHOOK_AREAS_H

#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "mm.h"
#include "verdict.h"

struct page;
struct uhook_counter;
struct uhook_set;

/**
 * struct uhook_body - a body; struct uhook_slot has its site and instruction
 * @set: set of handlers that the body runs; changes with &uhook_mm.counts and the mmap
 *	lock for writing held
 * @before: bytes of the file at the site
 * @before_len: number of bytes that the jump replaces
 * @hop: address of the last hop to the body, in any of the processes that share it; or 0
 */
struct uhook_body {
	struct uhook_set __rcu	*set;
	u8			before[UHOOK_JUMP_MAX];
	u8			before_len;
	unsigned long		hop;
};

/**
 * struct uhook_slot - a slot or body
 * @site: address of the original instruction; 0 if the slot is free
 * @next: number of the next slot in the same bucket plus 1, or 0 at the end
 * @insn_len: length of the original instruction, in bytes
 * @copy_at: offset of the copied instruction
 * @copy_end: offset of the end of the copy
 */
struct uhook_slot {
	unsigned long		site;
	u16			next;
	u8			insn_len;
	u16			copy_at;
	u16			copy_end;
};

#define UHOOK_BUCKET_BITS	8

/* Maximum number of handlers whose code is in an area. */
#define UHOOK_AREA_CODES	16

/**
 * struct uhook_code_at - location of a handler's code in an area
 * @counter: counter of the hook
 * @nr: number of the first slot of the code
 */
struct uhook_code_at {
	struct uhook_counter	*counter;
	unsigned int		nr;
};

/**
 * struct uhook_area - a mapping of slots in one process or, for bodies, in a process and
 *	its children
 * @ref: number of address spaces that have the area; rises only in forks, with the mmap lock
 *	of an owner held for writing
 * @kind: contents of the area
 * @lock: serializes look-up and allocation of slots
 * @vaddr: address of the area, the same in all of its address spaces
 * @used: number of allocated slots, starting at the first
 * @buckets: heads of the hash chains of slots, by site; linked by &uhook_slot.next
 * @pages: pages of code; each is allocated with the first slot in it
 * @slots: tables of slots, one for each page
 * @bodies: tables of bodies, one for each page; NULL for slots
 * @gates: addresses of the gates without and with vector registers, or 0
 * @codes: locations of the handlers' code
 * @nr_codes: number of @codes
 */
struct uhook_area {
	refcount_t		ref;
	enum uhook_area_kind	kind;
	struct mutex		lock;	/* serializes new slots */
	unsigned long		vaddr;
	unsigned int		used;
	u16			buckets[1 << UHOOK_BUCKET_BITS];
	struct page		*pages[UHOOK_AREA_PAGES];
	struct uhook_slot	*slots[UHOOK_AREA_PAGES];
	struct uhook_body	*bodies[UHOOK_AREA_PAGES];
	unsigned long		gates[2];
	struct uhook_code_at	codes[UHOOK_AREA_CODES];
	unsigned int		nr_codes;
};

/* Slot number NR, whose page must exist. */
static inline struct uhook_slot *uhook_slot_nr(const struct uhook_area *area, unsigned int nr)
{
	unsigned int n = uhook_page_slots(area->kind);

	return &area->slots[nr / n][nr % n];
}

static inline struct uhook_body *uhook_body_nr(const struct uhook_area *area, unsigned int nr)
{
	unsigned int n = uhook_page_slots(area->kind);

	return &area->bodies[nr / n][nr % n];
}

/* The set of a body; the caller holds &uhook_mm.counts or the mmap lock. */
static inline struct uhook_set *uhook_set_of(const struct uhook_mm *um,
					     const struct uhook_body *body)
{
	return rcu_dereference_protected(body->set, lockdep_is_held(&um->counts) ||
						    lockdep_is_held(&um->mm->mmap_lock));
}

/**
 * struct uhook_near - an instruction that must be within reach of an area
 * @site: address of the instruction
 * @fits: checks an address for an area
 * @data: argument of @fits
 */
struct uhook_near {
	unsigned long		site;
	uhook_fits_fn		*fits;
	const void		*data;
};

struct uhook_area *uhook_area_at(const struct uhook_mm *um, unsigned long addr);
enum uhook_verdict uhook_add_area(struct uhook_mm *um, enum uhook_area_kind kind,
				  const struct uhook_near *near);
int uhook_make_page(struct uhook_area *area, unsigned int i);
void uhook_put_areas(struct uhook_mm *um);
const struct uhook_slot *uhook_slot_at(const struct uhook_area *area, unsigned long addr);
struct uhook_body *uhook_body_at(const struct uhook_mm *um, unsigned long addr,
				 const struct uhook_slot **slot);
unsigned long uhook_site_of(const struct uhook_mm *um, unsigned long addr);

#endif /* _KERNEL_UHOOK_AREAS_H */
