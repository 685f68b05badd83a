/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: adding up the counts of bodies.
 */
#ifndef _KERNEL_UHOOK_SUMS_H
#define _KERNEL_UHOOK_SUMS_H

#include <linux/types.h>

#include "areas.h"

void uhook_fold_data(struct uhook_mm *um);
void uhook_fold_body(struct uhook_mm *um, struct uhook_area *area, unsigned int nr);
u64 uhook_bodies_run(void);
void uhook_hold_counts(void);
void uhook_release_counts(void);
void uhook_read_counter(const struct uhook_counter *counter, struct uhook_hits *hits);
void uhook_read_words(const struct uhook_counter *counter, u64 words[UHOOK_DATA_WORDS]);

#endif /* _KERNEL_UHOOK_SUMS_H */
