/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: extensions, which let slots lead to stubs of their own.
 */
#ifndef _FHOOK_EXTENSION_H
#define _FHOOK_EXTENSION_H

#include <linux/fhook_arch.h>
#include <linux/list.h>
#include <linux/types.h>

struct fhook_table;

/**
 * struct fhook_extension - a part of fhook that the rest of it does not know
 * @list: link in the list of extensions
 * @is_stub: whether an address is in a stub; any context
 * @goes_on: the address in a function to which the stub at an address leads, or the
 *	address itself; any context
 * @lookup: names the stub at an address as fhook_address_lookup() does, or
 *	returns 0; any context, with preemption disabled
 * @symbol: the symbol of a number, which is counted down otherwise; with RCU
 *	read-locked
 * @reserved: whether a range, up to its last byte, touches text that the extension
 *	patches, other than slots; any context, with preemption disabled
 * @off: ends all patching without memory, after the slots have become no-ops; under
 *	fhook_mutex
 * @forget: forgets the sites of a module that goes; under fhook_mutex
 */
struct fhook_extension {
	struct list_head	list;
	bool (*is_stub)(unsigned long addr);
	unsigned long (*goes_on)(unsigned long addr);
	int (*lookup)(unsigned long addr, unsigned long *size,
		      unsigned long *offset, char *name);
	bool (*symbol)(unsigned int *num, unsigned long *value, char *name);
	bool (*reserved)(unsigned long start, unsigned long end);
	void (*off)(void);
	void (*forget)(const struct fhook_table *table);
};

void fhook_extension_add(struct fhook_extension *extension);
int fhook_stub_lookup(unsigned long addr, unsigned long *size,
		      unsigned long *offset, char *name);
bool fhook_stub_symbol(unsigned int num, unsigned long *value, char *name);
bool fhook_extension_reserved(unsigned long start, unsigned long end);
void fhook_extensions_off(void);
void fhook_extensions_forget(const struct fhook_table *table);

#endif /* _FHOOK_EXTENSION_H */
