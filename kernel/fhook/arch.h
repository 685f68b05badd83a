/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: what architectures implement.
 */
#ifndef _FHOOK_ARCH_H
#define _FHOOK_ARCH_H

#include <linux/types.h>
#include <asm/fhook_arch.h>
#include <asm/fhook_pieces.h>

#include "set.h"
#include "sites.h"

int fhook_arch_sites(struct fhook_table *table);
unsigned int fhook_arch_module_sites(struct module *mod, unsigned long base);
unsigned int fhook_arch_func_offset(unsigned long site);
unsigned int fhook_arch_tramp_size(const struct fhook_set *set);
unsigned int fhook_arch_tramp_build(struct fhook_set *set, void *code);
void *fhook_arch_text_alloc(unsigned long first, unsigned long last,
			    unsigned int size);
void fhook_arch_text_write(void *text, const void *code, unsigned int size);
void fhook_arch_text_clear(void *text, unsigned int size);
bool fhook_arch_site_has(unsigned long site, enum fhook_state state,
			 const void *dest);
void fhook_arch_site_queue(unsigned long site, enum fhook_state state,
			   const void *dest);
void fhook_arch_site_flush(void);
void fhook_arch_call_kill(void *call);

#endif /* _FHOOK_ARCH_H */
