/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: memory of trampolines, and their names.
 */
#ifndef _FHOOK_TEXT_H
#define _FHOOK_TEXT_H

#include <linux/types.h>

struct fhook_set;

void *fhook_text_alloc(struct fhook_set *set, unsigned long site,
		       unsigned int size);
void fhook_text_write(struct fhook_set *set, const void *code,
		      unsigned int size);
void fhook_text_free(struct fhook_set *set);
const struct fhook_set *fhook_text_find(unsigned long addr);

#endif /* _FHOOK_TEXT_H */
