/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: reading the records of programs.
 */
#ifndef _KERNEL_UHOOK_RINGS_H
#define _KERNEL_UHOOK_RINGS_H

#include <linux/types.h>

#include "areas.h"
#include "data.h"

struct pt_regs;
struct uhook_ops;
struct uhook_record;

void uhook_begin_reading(struct uhook_mm *um);
void uhook_end_reading(struct uhook_mm *um);
void uhook_say_who(struct uhook_mm *um, unsigned long thread, struct uhook_record *record);

void uhook_drain_ring(struct uhook_mm *um, struct uhook_area *area, struct uhook_data *data,
		      unsigned int *budget, bool last);
void uhook_drain_last(struct uhook_mm *um);
void uhook_start_draining(void);
void uhook_stop_draining(void);

#endif /* _KERNEL_UHOOK_RINGS_H */
