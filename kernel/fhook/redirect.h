/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: replacing functions.
 */
#ifndef _FHOOK_REDIRECT_H
#define _FHOOK_REDIRECT_H

#include <linux/fhook.h>
#include <linux/fhook_redirect.h>
#include <linux/list.h>
#include <linux/types.h>

#include "sites.h"

#ifdef CONFIG_FHOOK_REDIRECT

extern struct list_head fhook_patches;

const struct fhook_patch *fhook_patch_of(const struct fhook_table *table, u32 site);
int fhook_patches_attach(struct module *mod, struct fhook_report *report);
int fhook_patches_on(struct fhook_report *report);
void fhook_patches_forget(struct fhook_table *table, u32 first, u32 last, bool init);
void fhook_patches_of_going(struct module *mod);

#else /* !CONFIG_FHOOK_REDIRECT */

static inline const struct fhook_patch *fhook_patch_of(const struct fhook_table *table, u32 site)
{
	return NULL;
}

static inline int fhook_patches_attach(struct module *mod, struct fhook_report *report)
{
	return 0;
}

static inline int fhook_patches_on(struct fhook_report *report)
{
	return 0;
}

static inline void fhook_patches_forget(struct fhook_table *table, u32 first, u32 last, bool init)
{
}

static inline void fhook_patches_of_going(struct module *mod) { }

#endif /* CONFIG_FHOOK_REDIRECT */

#endif /* _FHOOK_REDIRECT_H */
