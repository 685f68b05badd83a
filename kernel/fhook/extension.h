/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: extensions, parts of the kernel that let slots lead to their own stubs.
 */
#ifndef _FHOOK_EXTENSION_H
#define _FHOOK_EXTENSION_H

#include <linux/fhook_arch.h>
#include <linux/list.h>
#include <linux/types.h>

struct fhook_table;

/**
 * struct fhook_extension - an extension, as the rest of fhook sees it
 * @list: link in the list of extensions
 * @is_stub: tells whether an address is in a stub; any context
 * @resolve: returns the address in a function to which the stub at an address leads, or
 *	the address itself if there is no such stub; any context
 * @lookup: names the stub at an address as fhook_address_lookup() does, or
 *	returns 0; any context, with preemption disabled
 * @symbol: gets the symbol of a number; if the extension has fewer symbols, reduces the
 *	number by their count; with RCU read-locked
 * @reserved: tells whether a range, up to its last byte, touches text that the extension
 *	patches, other than slots; any context, with preemption disabled
 * @off: stops all patching without allocating memory, after the slots have become no-ops;
 *	under fhook_mutex
 * @forget: forgets the sites of a module that is being freed; under fhook_mutex
 */
struct fhook_extension {
	struct list_head	list;
	bool (*is_stub)(unsigned long addr);
	unsigned long (*resolve)(unsigned long addr);
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
