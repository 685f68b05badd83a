/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: assembling trampolines.
 */
#ifndef _FHOOK_TRAMPOLINE_H
#define _FHOOK_TRAMPOLINE_H

#include <linux/fhook_arch.h>

#include "set.h"

void fhook_tramp_measure(struct fhook_set *set, struct fhook_asm *as);
bool fhook_tramp_write(struct fhook_set *set, struct fhook_asm *as, void *code);
int fhook_tramp_place(struct fhook_set *set, struct fhook_asm *as,
		      unsigned long site, struct fhook_report *report);
int fhook_tramp_make(struct fhook_set *set, unsigned long site,
		     struct fhook_report *report);

#endif /* _FHOOK_TRAMPOLINE_H */
