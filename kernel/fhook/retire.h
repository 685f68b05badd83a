/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: freeing memory that a CPU may still be executing.
 */
#ifndef _FHOOK_RETIRE_H
#define _FHOOK_RETIRE_H

#include <linux/list.h>
#include <linux/types.h>

/**
 * struct fhook_retired - queue entry of an object that is freed after a grace period
 * @list: link in a list of retire.c
 * @busy: tells whether the object is still needed for another reason, or NULL
 * @free: frees the object; called from a work item when nothing can be running in it
 */
struct fhook_retired {
	struct list_head	list;
	bool			(*busy)(struct fhook_retired *retired);
	void			(*free)(struct fhook_retired *retired);
};

void fhook_synchronize(void);
void fhook_retire(struct fhook_retired *retired,
		  bool (*busy)(struct fhook_retired *retired),
		  void (*free)(struct fhook_retired *retired));
unsigned int fhook_retired_busy(void);

#endif /* _FHOOK_RETIRE_H */
