/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the mappings that slots and bodies are in, and what is known of these.
 */
#ifndef _KERNEL_UHOOK_AREAS_H
#define _KERNEL_UHOOK_AREAS_H

#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "mm.h"
#include "sets.h"
#include "verdict.h"

struct page;

/**
 * struct uhook_body - what is known of a body, besides
 * @set: whose handlers it runs; changes with &uhook_mm.counts and the mmap lock for
 *	writing held
 * @before: what the file has at the site
 * @before_len: how much of it a jump takes the place of
 * @hop: where a hop was made that leads here, in one of those who have it; or 0
 * @fetched: no CPU has fetched anything else from where it is
 */
struct uhook_body {
	struct uhook_set __rcu	*set;
	u8			before[UHOOK_JUMP_MAX];
	u8			before_len;
	unsigned long		hop;
	bool			fetched;
};

/**
 * struct uhook_slot - what is known of a slot or body
 * @site: the address that its copy comes from; 0 if it is not taken
 * @next: the next one of its bucket, or 0; the first slot is 1
 * @insn_len: the length of the instruction there, in bytes
 * @copy_at: where the copy begins
 * @copy_end: where it ends
 */
struct uhook_slot {
	unsigned long		site;
	u16			next;
	u8			insn_len;
	u16			copy_at;
	u16			copy_end;
};

#define UHOOK_BUCKET_BITS	8

/* Handlers that an area may have the code of. */
#define UHOOK_AREA_CODES	16

/**
 * struct uhook_code_at - where the code of a handler is in an area
 * @counter: whose
 * @nr: the number of the slot where it begins
 */
struct uhook_code_at {
	struct uhook_counter	*counter;
	unsigned int		nr;
};

/**
 * struct uhook_area - a mapping, in one process or, of bodies, in several that forked
 * @ref: how many address spaces have it
 * @kind: what is in it
 * @lock: held while a slot is looked for or taken, and while owners are added
 * @vaddr: where it is, in all of them
 * @used: how many slots are taken, the first ones
 * @buckets: the slots by the hash of their site, as &uhook_slot.next
 * @pages: the memory; a page is made when the first slot in it is taken
 * @slots: what is in each page
 * @bodies: the same, of those that are bodies
 * @gates: the addresses of gates, without and with vectors; or 0
 * @codes: the code of handlers
 * @nr_codes: how many
 */
struct uhook_area {
	refcount_t		ref;
	enum uhook_area_kind	kind;
	struct mutex		lock;	/* slots, and owners, are added with it */
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

/* What is known of the slot number NR; its page exists. */
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

/* Whose handlers a body runs, for those who hold &uhook_mm.counts or the mmap lock. */
static inline struct uhook_set *uhook_set_of(const struct uhook_mm *um,
					     const struct uhook_body *body)
{
	return rcu_dereference_protected(body->set, lockdep_is_held(&um->counts) ||
						    lockdep_is_held(&um->mm->mmap_lock));
}

/**
 * struct uhook_near - an instruction that an area is to be near to
 * @site: its address
 * @fits: says whether an area can be at an address
 * @data: passed to @fits
 */
struct uhook_near {
	unsigned long		site;
	uhook_fits_fn		*fits;
	const void		*data;
};

struct uhook_area *uhook_area_at(const struct uhook_mm *um, unsigned long addr);
enum uhook_verdict uhook_add_area(struct uhook_mm *um, enum uhook_area_kind kind,
				  const struct uhook_near *near, struct uhook_area **made);
int uhook_make_page(struct uhook_area *area, unsigned int i);
bool uhook_dup_areas(const struct uhook_mm *from);
int uhook_share_areas(const struct uhook_mm *from, struct uhook_mm *to);
void uhook_put_areas(struct uhook_mm *um);
const struct uhook_slot *uhook_slot_at(const struct uhook_area *area, unsigned long addr);
struct uhook_body *uhook_body_at(const struct uhook_mm *um, unsigned long addr,
				 const struct uhook_slot **slot);
unsigned long uhook_site_of(const struct uhook_mm *um, unsigned long addr);

#endif /* _KERNEL_UHOOK_AREAS_H */
