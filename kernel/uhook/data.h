/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the data pages of bodies, and the list of the address spaces that have them.
 */
#ifndef _KERNEL_UHOOK_DATA_H
#define _KERNEL_UHOOK_DATA_H

#include <linux/gfp.h>
#include <linux/types.h>

#include "data_layout.h"
#include "handlers.h"
#include "mm.h"

struct page;

/**
 * struct uhook_data - data written by the bodies of an area in an address space
 * @pages: lanes with a counter for each body; and, for long bodies, the ring, the cells
 *	of handlers and the stacks. Each page is allocated when first touched
 * @seen: counts that have been added to counters already: the sum of the lanes of each
 *	body, and the cells; each page is allocated with the page it describes
 * @tail: number of the first unread entry of the ring
 * @stuck: number of the entry that was incomplete when the ring was full, or -1
 * @stuck_in: number of the reading that found @stuck
 * @thread: thread that wrote the last entry read
 * @time: time of that entry, in nanoseconds of the local clock
 * @granted: bodies to which the kernel has sent a task of the address space: a child has the
 *	others as its parent's, whose hooks may not apply to it
 */
struct uhook_data {
	struct page		*pages[UHOOK_DATA_PAGES];
	struct page		*seen[1 + UHOOK_ALL_CELLS_SIZE / PAGE_SIZE];
	u64			tail;
	u64			stuck;
	unsigned int		stuck_in;
	unsigned long		thread;
	u64			time;
	DECLARE_BITMAP(granted, UHOOK_CODE_SIZE / UHOOK_BODY_SIZE);
};

bool uhook_applies(const struct uhook_data *data, const struct uhook_set *set, unsigned int nr);
int uhook_make_data_page(struct page **slot);
void *uhook_data_at(const struct uhook_data *data, unsigned long at);
void uhook_free_data(struct uhook_data *data);

void uhook_stop_counting(struct uhook_mm *um);
typedef void uhook_data_fn(struct uhook_mm *um);
void uhook_visit_data(uhook_data_fn *fn);
bool uhook_lock_counts(struct uhook_mm *um, unsigned long until);
void uhook_unlock_counts(struct uhook_mm *um);

int uhook_copy_stacks(const struct uhook_data *from, struct uhook_data *to);

#endif /* _KERNEL_UHOOK_DATA_H */
