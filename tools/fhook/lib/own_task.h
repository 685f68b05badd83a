/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The number that the kernel has for this process
 *
 * Filters of events compare the kernel's numbers of tasks. In a container, which has a PID
 * namespace, getpid() returns another one, which the kernel may have given to another task.
 */
#ifndef FHOOK_OWN_TASK_H
#define FHOOK_OWN_TASK_H

#include <sys/types.h>
#include "base.h"

/* Is this process in a PID namespace other than the kernel's first, or might it be? */
bool own_task_is_contained(void);

/* Does /proc have the numbers of this process's PID namespace? */
bool own_task_has_proc(void);

/*
 * Find the number of this process, which has one thread. In a PID namespace, the trace of INSTANCE,
 * which belongs to this process, has been reset by kernel_instance_reset() and has no events yet,
 * is used and emptied.
 */
int own_task_find(const char *instance, pid_t *task, struct fault *fault);

#endif /* FHOOK_OWN_TASK_H */
