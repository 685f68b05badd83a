/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: layout of an area of slots or bodies.
 */
#ifndef _KERNEL_UHOOK_LAYOUT_H
#define _KERNEL_UHOOK_LAYOUT_H

#include <asm/page.h>
#include <linux/types.h>
#include <linux/uhook_code.h>
#include <linux/uhook_gate.h>
#include <linux/uhook_ring.h>

/* Limits of a process: areas of each kind, stub blocks; and pages of code in an area. */
#define UHOOK_MAX_AREAS		32
#define UHOOK_MAX_BLOCKS	64
#define UHOOK_AREA_PAGES	16
#define UHOOK_CODE_SIZE		(UHOOK_AREA_PAGES * PAGE_SIZE)
#define UHOOK_LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)
/* A page for the header of a ring, and pages for its entries. */
#define UHOOK_RING_PAGES						\
	(1 + UHOOK_RING_ENTRIES * sizeof(struct uhook_ring_entry) / PAGE_SIZE)
#define UHOOK_RING_SIZE		(UHOOK_RING_PAGES * PAGE_SIZE)

/* A body that does more than count needs more room. */
#define UHOOK_LONG_SIZE		(4 * UHOOK_BODY_SIZE)

/**
 * struct uhook_block - data that a handler of a body writes
 * @words: words of the handler
 * @missed: number of hits at which the handler was not called
 * @lost: number of hits without room for a record
 * @unused: padding
 */
struct uhook_block {
	u64	words[UHOOK_DATA_WORDS];
	u64	missed;
	u64	lost;
	u64	unused[6];
};

/* Maximum number of handlers of a body that have a struct uhook_block. */
#define UHOOK_BODY_BLOCKS	(UHOOK_LONG_SIZE / sizeof(struct uhook_block))
#define UHOOK_BLOCKS_SIZE	UHOOK_CODE_SIZE

/* A page with the owners of the stacks, and the stacks. */
#define UHOOK_POOL_SIZE		(PAGE_SIZE + UHOOK_STACKS * UHOOK_STACK_SIZE)

/* Offsets from the end of an area's code. */
#define UHOOK_RING_AT		UHOOK_LANES_SIZE
#define UHOOK_BLOCKS_AT		(UHOOK_RING_AT + UHOOK_RING_SIZE)
#define UHOOK_POOL_AT		(UHOOK_BLOCKS_AT + UHOOK_BLOCKS_SIZE)
#define UHOOK_DATA_PAGES	((UHOOK_POOL_AT + UHOOK_POOL_SIZE) / PAGE_SIZE)

/* A recorder is identified by its body and by the index of its hook in the set. */
#define UHOOK_RECORDER_ID(body, index)	((body) << 8 | (index))
#define UHOOK_RECORDER_BODY(id)		((id) >> 8)
#define UHOOK_RECORDER_INDEX(id)	((id) & 0xff)

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

static inline unsigned long uhook_data_size(enum uhook_area_kind kind)
{
	switch (kind) {
	case UHOOK_SLOTS:
		return 0;
	case UHOOK_BODIES:
		return UHOOK_LANES_SIZE;
	default:
		return UHOOK_DATA_PAGES * PAGE_SIZE;
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
