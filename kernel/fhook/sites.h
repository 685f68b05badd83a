/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: the tables of sites.
 */
#ifndef _FHOOK_SITES_H
#define _FHOOK_SITES_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <asm/fhook_arch.h>

struct fhook_names;
struct module;

/**
 * struct fhook_table - the sites of vmlinux or of a module
 * @list: link in fhook_tables, vmlinux first
 * @mod: the module, NULL for vmlinux
 * @base: address from which the offsets count
 * @sites: sorted offsets of the slots in bytes
 * @num: number of sites
 * @used: &struct fhook_set of each site in use, by the index of the site
 * @names: index of the names of functions, NULL except while the hooks of a new module
 *	are attached
 * @wanted: bitmap of the sites of given addresses, NULL except while a hook looks them up
 * @init_start: start of text that is freed after init
 * @init_end: end of that text
 * @init_gone: whether that text has been freed, and with it the sites in it
 * @rcu: for fhook_text_reserved()
 *
 * A table and an index into it identify a site. All under fhook_mutex.
 */
struct fhook_table {
	struct list_head	list;
	struct module		*mod;
	unsigned long		base;
	s32			*sites;
	unsigned int		num;
	struct xarray		used;
	struct fhook_names	*names;
	unsigned long		*wanted;
	unsigned long		init_start;
	unsigned long		init_end;
	bool			init_gone;
	struct rcu_head		rcu;
};

/* Someone else has overwritten the slot of this site, so fhook does not write to it. */
#define FHOOK_SITE_FOREIGN	XA_MARK_0
/* Such a site has kept a set with a redirect that is no longer valid. */
#define FHOOK_SITE_STALE	XA_MARK_1

extern struct list_head fhook_tables;

/**
 * fhook_site_addr() - get the address of a slot
 * @table: the table
 * @site: index of the site in the table
 */
static inline unsigned long fhook_site_addr(const struct fhook_table *table, u32 site)
{
	return table->base + table->sites[site];
}

/**
 * fhook_site_marked() - check whether a site has a mark
 * @table: the table
 * @site: index of the site in the table
 * @mark: %FHOOK_SITE_FOREIGN or %FHOOK_SITE_STALE
 */
static inline bool fhook_site_marked(const struct fhook_table *table, u32 site,
				     xa_mark_t mark)
{
	struct xarray *used = (struct xarray *)&table->used;

	/* Mostly no site has a mark, and callers may check all functions. */
	return xa_marked(used, mark) && xa_get_mark(used, site, mark);
}

unsigned long fhook_site_func(const struct fhook_table *table, u32 site);
bool fhook_site_stale(const struct fhook_table *table, u32 site);
bool fhook_site_gone(const struct fhook_table *table, u32 site);
int fhook_table_find(const struct fhook_table *table, unsigned long func);
struct fhook_table *fhook_table_of(unsigned long addr);
bool fhook_has_slot(unsigned long func);
unsigned int fhook_table_first(const struct fhook_table *table,
			       unsigned long addr);
void fhook_sites_sort(s32 *sites, unsigned int num);

#endif /* _FHOOK_SITES_H */
