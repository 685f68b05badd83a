/* SPDX-License-Identifier: GPL-2.0 */
/* The names and processes of the kernel's tasks, as far as tracefs has kept them */
#ifndef FHOOK_RECORD_KERNEL_TASKS_H
#define FHOOK_RECORD_KERNEL_TASKS_H

#include "lib/recording.h"

/*
 * Add the tasks that the kernel has seen while it traced, also those that have ended. Returns 0,
 * or -1 without memory; that tracefs has kept no tasks is no failure.
 */
int kernel_tasks_add(struct recording *recording);

#endif /* FHOOK_RECORD_KERNEL_TASKS_H */
