/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: interface for uhook events, in addition to <linux/uhook.h>.
 */
#ifndef _KERNEL_UHOOK_EVENTS_H
#define _KERNEL_UHOOK_EVENTS_H

#include <linux/uhook.h>

void uhook_flush(void);
void uhook_hold_hits(void);
void uhook_release_hits(void);
void uhook_held_hits(const struct uhook_ops *ops, struct uhook_hits *hits);
enum uhook_user uhook_user_named(const char *name);
const char *uhook_user_name(enum uhook_user user);

#endif /* _KERNEL_UHOOK_EVENTS_H */
