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

struct module;

/**
 * struct fhook_table - the sites of vmlinux or of a module
 * @list: in fhook_tables, vmlinux first
 * @mod: the module, NULL for vmlinux
 * @base: what the offsets count from
 * @sites: sorted offsets of the slots in bytes
 * @num: how many there are
 * @used: index of a site to the &struct fhook_set that it has; sites that are
 *	not there have none
 * @init_start: begin of text that is freed after init; sites in it are gone
 *	once @init_gone
 * @init_end: end of it
 * @init_gone: init text has been freed
 * @rcu: for fhook_text_reserved()
 *
 * A site is named by its table and its index there. All under fhook_mutex.
 */
struct fhook_table {
	struct list_head	list;
	struct module		*mod;
	unsigned long		base;
	s32			*sites;
	unsigned int		num;
	struct xarray		used;
	unsigned long		init_start;
	unsigned long		init_end;
	bool			init_gone;
	struct rcu_head		rcu;
};

/* This site is not to be touched any more: somebody else changed its bytes. */
#define FHOOK_SITE_FOREIGN	XA_MARK_0
/* So it has kept a set that goes on where nobody redirects it to any more. */
#define FHOOK_SITE_STALE	XA_MARK_1

extern struct list_head fhook_tables;

unsigned long fhook_site_addr(const struct fhook_table *table, u32 site);
unsigned long fhook_site_func(const struct fhook_table *table, u32 site);
bool fhook_site_stale(const struct fhook_table *table, u32 site);
bool fhook_site_gone(const struct fhook_table *table, u32 site);
int fhook_table_find(const struct fhook_table *table, unsigned long func);
struct fhook_table *fhook_table_of(unsigned long addr);
unsigned int fhook_table_first(const struct fhook_table *table,
			       unsigned long addr);
void fhook_sites_sort(s32 *sites, unsigned int num);

#endif /* _FHOOK_SITES_H */
