/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: the contract between kernel/fhook/ and the architectures.
 *
 * An architecture defines the functions fhook_arch_*() that are declared here, and in
 * <asm/fhook_arch.h> the constants and inline functions of its slots. Of fhook it uses
 * nothing but this header and the public ones, and includes no private header.
 *
 * All of it runs under fhook_mutex, unless a function says otherwise.
 */
#ifndef _LINUX_FHOOK_ARCH_H
#define _LINUX_FHOOK_ARCH_H

#include <linux/fhook.h>
#include <linux/types.h>
#include <asm/fhook_arch.h>

/**
 * enum fhook_state - what a slot does
 * @FHOOK_NOP: nothing
 * @FHOOK_CALL: it calls a trampoline
 * @FHOOK_JUMP: it jumps to where the function is to go on instead
 */
enum fhook_state {
	FHOOK_NOP,
	FHOOK_CALL,
	FHOOK_JUMP,
};

/* Slots: arch/.../kernel/fhook_sites.c */
s32 *fhook_arch_sites(unsigned long base, unsigned int *num);
unsigned int fhook_arch_module_sites(struct module *mod, unsigned long base);
unsigned int fhook_arch_func_offset(unsigned long site);
bool fhook_arch_site_has(unsigned long site, enum fhook_state state,
			 const void *dest);
void fhook_arch_site_queue(unsigned long site, enum fhook_state state,
			   const void *dest);
void fhook_arch_site_flush(void);

/* Memory of trampolines: arch/.../kernel/fhook.c */
void *fhook_arch_text_alloc(unsigned long first, unsigned long last,
			    unsigned int size);
void fhook_arch_text_write(void *text, const void *code, unsigned int size);
void fhook_arch_text_clear(void *text, unsigned int size);
void fhook_arch_call_kill(void *call);

#endif /* _LINUX_FHOOK_ARCH_H */
