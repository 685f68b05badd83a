// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: extensions, parts of the kernel that let slots lead to their own stubs.
 *
 * Call tracing is the only one. The rest of fhook looks up text here that is neither a slot
 * nor a trampoline, and does not know its owner. Extensions are added during boot and
 * stay, so that the list is read without a lock, from any context.
 */
#include <linux/rculist.h>

#include "core.h"
#include "extension.h"
#include "sites.h"

static LIST_HEAD(extensions);

#define for_each_extension(extension) \
	list_for_each_entry_lockless(extension, &extensions, list)

/**
 * fhook_extension_add() - add an extension permanently
 * @extension: the extension, all of whose functions are set
 */
void fhook_extension_add(struct fhook_extension *extension)
{
	guard(mutex)(&fhook_mutex);
	list_add_tail_rcu(&extension->list, &extensions);
}

/**
 * fhook_is_stub() - is this address in a stub of an extension?
 * @addr: any address
 *
 * Any context.
 */
bool fhook_is_stub(unsigned long addr)
{
	struct fhook_extension *extension;

	for_each_extension(extension) {
		if (extension->is_stub(addr))
			return true;
	}

	return false;
}

/**
 * fhook_resolve_stub() - find the address to which the stub of an entry leads
 * @addr: any address
 *
 * Any context.
 *
 * Return: the address after the slot, or @addr if it is in no such stub.
 */
unsigned long fhook_resolve_stub(unsigned long addr)
{
	struct fhook_extension *extension;
	unsigned long on;

	for_each_extension(extension) {
		on = extension->resolve(addr);
		if (on != addr)
			return on;
	}

	return addr;
}

/**
 * fhook_stub_lookup() - name an address in a stub
 * @addr: any address
 * @size: set to the length of the stub in bytes
 * @offset: set to the offset of @addr in the stub
 * @name: set to its name, buffer of KSYM_NAME_LEN bytes
 *
 * Any context, with preemption disabled.
 *
 * Return: the length of the name, 0 if this is no stub.
 */
int fhook_stub_lookup(unsigned long addr, unsigned long *size,
		      unsigned long *offset, char *name)
{
	struct fhook_extension *extension;
	int len;

	for_each_extension(extension) {
		len = extension->lookup(addr, size, offset, name);
		if (len)
			return len;
	}

	return 0;
}

/**
 * fhook_stub_symbol() - get a symbol of the extensions
 * @num: number of the symbol, from 0
 * @value: set to its address
 * @name: set to its name, buffer of KSYM_NAME_LEN bytes
 *
 * For /proc/kallsyms, with RCU read-locked.
 *
 * Return: true, or false when there are no more.
 */
bool fhook_stub_symbol(unsigned int num, unsigned long *value, char *name)
{
	struct fhook_extension *extension;

	for_each_extension(extension) {
		if (extension->symbol(&num, value, name))
			return true;
	}

	return false;
}

/**
 * fhook_extension_reserved() - does a range touch text that an extension patches?
 * @start: address of the first byte
 * @end: address of the last byte
 *
 * Any context, with preemption disabled.
 */
bool fhook_extension_reserved(unsigned long start, unsigned long end)
{
	struct fhook_extension *extension;

	for_each_extension(extension) {
		if (extension->reserved(start, end))
			return true;
	}

	return false;
}

/**
 * fhook_extensions_off() - stop all extensions
 *
 * Called when their slots are no-ops. Needs no memory.
 */
void fhook_extensions_off(void)
{
	struct fhook_extension *extension;

	lockdep_assert_held(&fhook_mutex);
	for_each_extension(extension)
		extension->off();
}

/**
 * fhook_extensions_forget() - forget the sites of a module that is being freed
 * @table: table of the module, whose slots are no-ops
 */
void fhook_extensions_forget(const struct fhook_table *table)
{
	struct fhook_extension *extension;

	lockdep_assert_held(&fhook_mutex);
	for_each_extension(extension)
		extension->forget(table);
}
