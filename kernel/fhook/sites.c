// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: the tables of sites.
 *
 * vmlinux has a read-only table of 4 bytes per site (the mainline counterpart is
 * the dyn_ftrace array, 16 bytes per site), which is built with the kernel or
 * made by the architecture at boot. A module's table is in its own data, and is
 * sorted when the module is loaded. A table has the addresses of the slots and,
 * in an XArray, the sets of sites in use; there is no state for other sites. A
 * module that overrides a weak function of its own keeps the slot of the
 * function that is never called.
 *
 * Callers hold fhook_mutex, unless a function says otherwise.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/fhook_arch.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/sort.h>
#include <asm/sections.h>

#include "core.h"
#include "extension.h"
#include "sites.h"

static struct fhook_table fhook_vmlinux = {
	.list	= LIST_HEAD_INIT(fhook_vmlinux.list),
	.used	= XARRAY_INIT(fhook_vmlinux.used, 0),
};

LIST_HEAD(fhook_tables);

/**
 * fhook_site_func() - get the address of the function that contains a slot
 * @table: the table
 * @site: index of the site in the table
 */
unsigned long fhook_site_func(const struct fhook_table *table, u32 site)
{
	unsigned long addr = fhook_site_addr(table, site);

	return addr + FHOOK_SLOT_SIZE - fhook_arch_func_offset(addr);
}

/**
 * fhook_site_gone() - check whether a site was in init text that has been freed
 * @table: the table
 * @site: index of the site in the table
 */
bool fhook_site_gone(const struct fhook_table *table, u32 site)
{
	unsigned long addr = fhook_site_addr(table, site);

	return table->init_gone && addr >= table->init_start &&
	       addr < table->init_end;
}

/**
 * fhook_site_stale() - check whether a site has kept a stale redirect
 * @table: the table
 * @site: index of the site in the table
 *
 * Such a redirect remains if someone else has overwritten the slot, because the previous
 * bytes may be restored later.
 */
bool fhook_site_stale(const struct fhook_table *table, u32 site)
{
	return fhook_site_marked(table, site, FHOOK_SITE_STALE);
}

/**
 * fhook_table_first() - find the first site at or after an address
 * @table: the table
 * @addr: the address
 *
 * Return: the index, or the number of sites if there is none.
 */
unsigned int fhook_table_first(const struct fhook_table *table,
			       unsigned long addr)
{
	unsigned int low = 0, high = table->num, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (fhook_site_addr(table, mid) < addr)
			low = mid + 1;
		else
			high = mid;
	}

	return low;
}

/**
 * fhook_table_find() - find the site of a function
 * @table: the table
 * @func: address of the function, or of the slot itself
 *
 * Return: the index, or -ENOENT.
 */
int fhook_table_find(const struct fhook_table *table, unsigned long func)
{
	unsigned int site = fhook_table_first(table, func);

	if (site == table->num ||
	    fhook_site_addr(table, site) > func + FHOOK_SLOT_DISTANCE ||
	    fhook_site_func(table, site) > func || fhook_site_gone(table, site))
		return -ENOENT;

	return site;
}

/**
 * fhook_table_of() - find the table for an address
 * @addr: an address in kernel or module text
 *
 * Return: the table, NULL if it is in a module without one.
 */
struct fhook_table *fhook_table_of(unsigned long addr)
{
	struct fhook_table *table;

	if (core_kernel_text(addr))
		return &fhook_vmlinux;

	list_for_each_entry(table, &fhook_tables, list) {
		if (table->mod && within_module(addr, table->mod))
			return table;
	}

	return NULL;
}

/*
 * The table for an address, for callers without fhook_mutex, which must keep
 * preemption disabled as long as they use it.
 */
static const struct fhook_table *table_of_any(unsigned long addr)
{
	struct module *mod;

	if (core_kernel_text(addr))
		return &fhook_vmlinux;

	mod = __module_address(addr);

	return mod ? READ_ONCE(mod->fhook_table) : NULL;
}

/**
 * fhook_text_reserved() - check whether a range includes a slot or patched text
 * @start: address of the first byte
 * @end: address of the last byte
 *
 * For other owners of text, like ftrace_text_reserved(). Any context.
 */
bool fhook_text_reserved(const void *start, const void *end)
{
	const struct fhook_table *table;
	unsigned int site;

	guard(preempt)();
	if (fhook_extension_reserved((unsigned long)start, (unsigned long)end))
		return true;
	table = table_of_any((unsigned long)start);
	if (!table)
		return false;

	site = fhook_table_first(table, (unsigned long)start -
				 FHOOK_SLOT_SIZE + 1);

	return site < table->num && !fhook_site_gone(table, site) &&
	       fhook_site_addr(table, site) <= (unsigned long)end;
}

/**
 * fhook_slot_end() - skip a slot
 * @addr: an address in text
 *
 * For kprobes, which without ftrace go after fhook's slot. Any context.
 *
 * Return: the address after the slot that begins at @addr; @addr if there is
 * none.
 */
unsigned long fhook_slot_end(unsigned long addr)
{
	const struct fhook_table *table;
	unsigned int site;

	guard(preempt)();
	table = table_of_any(addr);
	if (!table)
		return addr;

	site = fhook_table_first(table, addr);
	if (site < table->num && fhook_site_addr(table, site) == addr)
		return addr + FHOOK_SLOT_SIZE;

	return addr;
}

/**
 * fhook_slot_start() - find the slot before an address
 * @addr: an address in text
 *
 * Return: the address of the slot that ends at @addr; @addr if there is none.
 */
unsigned long fhook_slot_start(unsigned long addr)
{
	unsigned long start = addr - FHOOK_SLOT_SIZE;

	return fhook_slot_end(start) == start ? addr : start;
}

/**
 * fhook_has_slot() - check whether a function has a slot
 * @func: address of the function
 *
 * Any context.
 */
bool fhook_has_slot(unsigned long func)
{
	const struct fhook_table *table;

	guard(preempt)();
	table = table_of_any(func);

	return table && fhook_table_find(table, func) >= 0;
}

static int compare_offsets(const void *a, const void *b)
{
	return *(const s32 *)a < *(const s32 *)b ? -1 : 1;
}

/**
 * fhook_sites_sort() - sort the offsets of a table
 * @sites: the offsets
 * @num: number of offsets
 */
void fhook_sites_sort(s32 *sites, unsigned int num)
{
	unsigned int i;

	/* Linkers place the records in the order of the functions. */
	for (i = 1; i < num; i++) {
		if (sites[i - 1] >= sites[i])
			break;
	}
	if (i < num)
		sort(sites, num, sizeof(*sites), compare_offsets, NULL);
}

/**
 * fhook_init() - make the table of vmlinux
 *
 * Called from start_kernel(): no other CPU and no other task is running, and
 * interrupts are disabled, so the architecture may also prepare the slots.
 */
void __init fhook_init(void)
{
	struct fhook_table *table = &fhook_vmlinux;

	table->base = (unsigned long)_text;
	table->init_start = (unsigned long)__init_begin;
	table->init_end = (unsigned long)__init_end;
	table->sites = fhook_arch_sites(table->base, &table->num);
	if (!table->sites)
		pr_err("no memory for the sites: nothing can be hooked\n");
	fhook_sites_sort(table->sites, table->num);

	mutex_lock(&fhook_mutex);
	list_add(&table->list, &fhook_tables);
	mutex_unlock(&fhook_mutex);

	pr_info("%u functions can be hooked\n", table->num);
}
