/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: freeing memory that a CPU may still be running in.
 */
#ifndef _FHOOK_RETIRE_H
#define _FHOOK_RETIRE_H

#include <linux/list.h>
#include <linux/types.h>

/**
 * struct fhook_retired - something to free after a grace period
 * @list: in a list of retire.c
 * @busy: whether something else still needs it, or NULL
 * @free: called from a work item once nothing can be running in it
 */
struct fhook_retired {
	struct list_head	list;
	bool			(*busy)(struct fhook_retired *retired);
	void			(*free)(struct fhook_retired *retired);
};

void fhook_retire(struct fhook_retired *retired,
		  bool (*busy)(struct fhook_retired *retired),
		  void (*free)(struct fhook_retired *retired));
unsigned int fhook_retired_busy(void);

#endif /* _FHOOK_RETIRE_H */
