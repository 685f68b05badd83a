/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the pages that bodies write, and the list of the address spaces that have some.
 */
#ifndef _KERNEL_UHOOK_DATA_H
#define _KERNEL_UHOOK_DATA_H

#include <linux/gfp.h>
#include <linux/types.h>

#include "mm.h"

struct page;

/**
 * struct uhook_data - what the bodies of an area have written in a process
 * @pages: the lanes, with one counter for each body in each of them, and what else
 *	there is; a page is made when it is touched
 * @seen: what of it has been added to counters: the sum of the lanes of each body, and
 *	the blocks; each made with the page that it is about
 * @tail: the number of the first entry of the ring that was not read
 * @stuck: that of the one which was not complete when the ring was full; or -1
 * @stuck_in: the number of the reading that found it so
 * @thread: who wrote the entry that was read last
 * @time: when that was, in nanoseconds of the local clock
 */
struct uhook_data {
	struct page		*pages[UHOOK_DATA_PAGES];
	struct page		*seen[1 + UHOOK_BLOCKS_SIZE / PAGE_SIZE];
	u64			tail;
	u64			stuck;
	unsigned int		stuck_in;
	unsigned long		thread;
	u64			time;
};

int uhook_add_data(struct uhook_mm *um, unsigned int area, gfp_t gfp);
int uhook_map_data(unsigned long addr, unsigned long size);
int uhook_make_data_page(struct page **slot);
void *uhook_data_at(const struct uhook_data *data, unsigned long at);
void uhook_free_data(struct uhook_data *data);

void uhook_start_counting(struct uhook_mm *um);
void uhook_stop_counting(struct uhook_mm *um);
typedef void uhook_data_fn(struct uhook_mm *um);
void uhook_visit_data(uhook_data_fn *fn);

int uhook_copy_stacks(const struct uhook_data *from, struct uhook_data *to);

#endif /* _KERNEL_UHOOK_DATA_H */
