/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: layout of an area of slots or bodies.
 */
#ifndef _KERNEL_UHOOK_LAYOUT_H
#define _KERNEL_UHOOK_LAYOUT_H

#include <asm/page.h>
#include <asm/uhook.h>
#include <linux/types.h>

/* Limits of a process: areas of each kind, stub blocks; and pages of code in an area. */
#define UHOOK_MAX_AREAS		32
#define UHOOK_MAX_BLOCKS	64
#define UHOOK_AREA_PAGES	16
#define UHOOK_CODE_SIZE		(UHOOK_AREA_PAGES * PAGE_SIZE)

/* A body that does more than count needs more room. */
#define UHOOK_LONG_SIZE		(4 * UHOOK_BODY_SIZE)

/* Size of struct uhook_cells, and the maximum number of handlers of a body that have one. */
#define UHOOK_CELLS_SIZE	128
#define UHOOK_BODY_CELLS	(UHOOK_LONG_SIZE / UHOOK_CELLS_SIZE)

/**
 * enum uhook_area_kind - contents of an area
 * @UHOOK_SLOTS: slots, for boost
 * @UHOOK_BODIES: bodies, which run handlers in the program, followed by the pages that
 *	they write
 * @UHOOK_LONG_BODIES: bodies that record or call, followed by those pages, a ring, words
 *	and stacks
 * @UHOOK_AREA_KINDS: number of kinds
 */
enum uhook_area_kind {
	UHOOK_SLOTS,
	UHOOK_BODIES,
	UHOOK_LONG_BODIES,
	UHOOK_AREA_KINDS
};

/* Whether an area has bodies, followed by data. */
static inline bool uhook_has_bodies(enum uhook_area_kind kind)
{
	return kind != UHOOK_SLOTS;
}

static inline unsigned int uhook_slot_size(enum uhook_area_kind kind)
{
	switch (kind) {
	case UHOOK_SLOTS:
		return UHOOK_SLOT_SIZE;
	case UHOOK_BODIES:
		return UHOOK_BODY_SIZE;
	default:
		return UHOOK_LONG_SIZE;
	}
}

static inline unsigned int uhook_page_slots(enum uhook_area_kind kind)
{
	return PAGE_SIZE / uhook_slot_size(kind);
}

static inline unsigned int uhook_area_slots(enum uhook_area_kind kind)
{
	return UHOOK_AREA_PAGES * uhook_page_slots(kind);
}

#endif /* _KERNEL_UHOOK_LAYOUT_H */
