/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: modules with replacements.
 */
#ifndef _FHOOK_REPLACERS_H
#define _FHOOK_REPLACERS_H

#include <linux/fhook.h>
#include <linux/fhook_redirect.h>

struct module;

int fhook_replacers_add(const struct fhook_patch *patch,
			struct fhook_report *report);
void fhook_replacers_use(const struct fhook_patch *patch);
void fhook_replacer_forget(struct module *mod);

#endif /* _FHOOK_REPLACERS_H */
