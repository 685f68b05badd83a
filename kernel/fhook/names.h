/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: an index of the names of a module's functions.
 */
#ifndef _FHOOK_NAMES_H
#define _FHOOK_NAMES_H

struct fhook_names;
struct module;

struct fhook_names *fhook_names_make(const struct module *mod);
void fhook_names_free(struct fhook_names *names);
void fhook_names_each(const struct fhook_names *names, const char *name,
		      int (*found)(void *data, unsigned long addr), void *data);

#endif /* _FHOOK_NAMES_H */
