/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the layout of the pages that bodies write, which follow the code of their area.
 */
#ifndef _KERNEL_UHOOK_DATA_LAYOUT_H
#define _KERNEL_UHOOK_DATA_LAYOUT_H

#include <linux/build_bug.h>
#include <linux/types.h>
#include <linux/uhook_code.h>
#include <linux/uhook_gate.h>
#include <linux/uhook_ring.h>

#include "layout.h"

#define UHOOK_LANES_SIZE	(UHOOK_LANES * UHOOK_LANE_SIZE)
/* A page for the header of a ring, and pages for its entries. */
#define UHOOK_RING_PAGES						\
	(1 + UHOOK_RING_ENTRIES * sizeof(struct uhook_ring_entry) / PAGE_SIZE)
#define UHOOK_RING_SIZE		(UHOOK_RING_PAGES * PAGE_SIZE)

/**
 * struct uhook_cells - data that a handler of a body writes
 * @words: words of the handler
 * @missed: number of hits at which the handler was not called
 * @lost: number of hits without room for a record
 * @unused: padding
 */
struct uhook_cells {
	u64	words[UHOOK_DATA_WORDS];
	u64	missed;
	u64	lost;
	u64	unused[6];
};

static_assert(sizeof(struct uhook_cells) == UHOOK_CELLS_SIZE);

#define UHOOK_ALL_CELLS_SIZE	UHOOK_CODE_SIZE

/* A page with the owners of the stacks, and the stacks. */
#define UHOOK_POOL_SIZE		(PAGE_SIZE + UHOOK_STACKS * UHOOK_STACK_SIZE)

/* Offsets from the end of an area's code. */
#define UHOOK_RING_AT		UHOOK_LANES_SIZE
#define UHOOK_CELLS_AT		(UHOOK_RING_AT + UHOOK_RING_SIZE)
#define UHOOK_POOL_AT		(UHOOK_CELLS_AT + UHOOK_ALL_CELLS_SIZE)
#define UHOOK_DATA_PAGES	((UHOOK_POOL_AT + UHOOK_POOL_SIZE) / PAGE_SIZE)

/* A recorder is identified by its body and by the index of its hook in the set. */
#define UHOOK_RECORDER_ID(body, index)	((body) << 8 | (index))
#define UHOOK_RECORDER_BODY(id)		((id) >> 8)
#define UHOOK_RECORDER_INDEX(id)	((id) & 0xff)

/* The address of the cells of handler I of body NR, in the area at BASE. */
static inline unsigned long uhook_cells_addr(unsigned long base, unsigned int nr, unsigned int i)
{
	return base + UHOOK_CODE_SIZE + UHOOK_CELLS_AT +
	       (nr * UHOOK_BODY_CELLS + i) * sizeof(struct uhook_cells);
}

#endif /* _KERNEL_UHOOK_DATA_LAYOUT_H */
