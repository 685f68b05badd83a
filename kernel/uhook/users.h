/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the tasks that run in an address space.
 */
#ifndef _KERNEL_UHOOK_USERS_H
#define _KERNEL_UHOOK_USERS_H

struct task_struct;

typedef void uhook_user_fn(struct task_struct *task, void *data);
void uhook_visit_users(uhook_user_fn *fn, void *data);
void uhook_sync_code(void);

#endif /* _KERNEL_UHOOK_USERS_H */
