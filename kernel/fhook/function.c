// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: looking up functions by name, for redirects: the function, its slot, and
 * the addresses of its code.
 *
 * A filter (pattern.c) matches all functions of a name, a redirect just one. The
 * results are valid as long as fhook_mutex is held, which loading and unloading of
 * modules takes.
 */
#include <linux/bsearch.h>
#include <linux/err.h>
#include <linux/kallsyms.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <asm/sections.h>

#include "core.h"
#include "function.h"
#include "report.h"
#include "sites.h"

/**
 * struct finder - a search for the functions of a name
 * @name: the name to look for
 * @pos: number of the function among those of this name, from 1; 0 if the name must
 *	be unique
 * @count: number of functions with this name
 * @addr: address of the selected function
 */
struct finder {
	char		name[KSYM_NAME_LEN];
	unsigned int	pos;
	unsigned int	count;
	unsigned long	addr;
};

static int count_found(void *data, unsigned long addr)
{
	struct finder *finder = data;

	if (++finder->count == max(finder->pos, 1U))
		finder->addr = addr;

	return 0;
}

static int count_same_name(void *data, const char *name, unsigned long addr)
{
	struct finder *finder = data;

	return strcmp(name, finder->name) ? 0 : count_found(finder, addr);
}

/* Count in the order of kallsyms; @module is NULL for the kernel. */
static void count_named(const char *module, struct finder *finder)
{
	if (module)
		module_kallsyms_on_each_symbol(module, count_same_name, finder);
	else
		kallsyms_on_each_match_symbol(count_found, finder->name,
					      finder);
}

/* Parse "name" or "name,2". */
static int parse_name(const char *func, struct finder *finder,
		      struct fhook_report *report)
{
	const char *comma = func ? strchrnul(func, ',') : NULL;
	size_t len = func ? comma - func : 0;

	if (!len || len >= sizeof(finder->name))
		return fhook_fail(report, FHOOK_ERR_REDIRECT, -EINVAL, 0,
				  "a redirect names no function");

	memcpy(finder->name, func, len);
	if (!*comma)
		return 0;

	if (kstrtouint(comma + 1, 10, &finder->pos) || !finder->pos)
		return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
				  "'%s': after the comma, give the number of one of the functions with that name, from 1",
				  func);

	return 0;
}

/* The number of the function among those of its name; a name without one is the first's. */
static unsigned int position_in(const char *func)
{
	const char *comma = strchr(func, ',');
	unsigned int pos;

	return comma && !kstrtouint(comma + 1, 10, &pos) ? pos : 1;
}

/**
 * fhook_same_function() - do two names of redirects name the same function?
 * @a: a name, which was parsed already
 * @b: another one, of the same module
 *
 * Return: whether they do, also if one of them has no position, or it is written in another way.
 */
bool fhook_same_function(const char *a, const char *b)
{
	size_t len = strchrnul(a, ',') - a;

	return len == strchrnul(b, ',') - b && !memcmp(a, b, len) &&
	       position_in(a) == position_in(b);
}

static int check_found(const struct finder *finder, const char *module,
		       struct fhook_report *report)
{
	const char *in = module ? " in module " : "";

	module = module ?: "";
	if (!finder->count)
		return fhook_fail(report, FHOOK_ERR_NO_FUNCTION, -ENOENT, 0,
				  "no function is named '%s'%s%s", finder->name,
				  in, module);
	if (!finder->addr)
		return fhook_fail(report, FHOOK_ERR_NO_FUNCTION, -ENOENT, 0,
				  "there is no '%s,%u'%s%s: %u have that name",
				  finder->name, finder->pos, in, module,
				  finder->count);
	if (!finder->pos && finder->count > 1)
		return fhook_fail(report, FHOOK_ERR_PATTERN, -EINVAL, 0,
				  "%u functions are named '%s'%s%s: say which, as in '%s,1'",
				  finder->count, finder->name, in, module,
				  finder->name);

	return 0;
}

static bool has_table(const char *module)
{
	struct fhook_table *table;

	list_for_each_entry(table, &fhook_tables, list) {
		if (table->mod && !strcmp(table->mod->name, module))
			return true;
	}

	return false;
}

/* Is the module loaded, but without any function that has a slot? */
static bool has_no_slots(const char *module)
{
	struct module *mod;

	guard(preempt)();
	mod = find_module(module);

	return mod && mod->state == MODULE_STATE_LIVE && !mod->fhook_table;
}

/**
 * fhook_redirect_find() - find the function of a redirect
 * @redirect: the redirect; gets the site, unless its module is not loaded
 * @coming: a module that is being loaded, or NULL
 * @report: report of the error
 *
 * Return: 0 or an error.
 */
int fhook_redirect_find(struct fhook_redirect *redirect,
			const struct module *coming,
			struct fhook_report *report)
{
	const char *module = redirect->module;
	struct finder finder = {};
	struct fhook_table *table;
	int err, site;

	lockdep_assert_held(&fhook_mutex);
	err = parse_name(redirect->func, &finder, report);
	if (err)
		return err;
	if (module && strchr(module, '-'))
		return fhook_fail(report, FHOOK_ERR_REDIRECT, -EINVAL, 0,
				  "no module is named '%s': write '_' where its file has '-'",
				  module);
	if (module && !coming && !has_table(module) && !has_no_slots(module))
		return 0;

	count_named(module, &finder);
	err = check_found(&finder, module, report);
	if (err)
		return err;

	table = fhook_table_of(finder.addr);
	site = table ? fhook_table_find(table, finder.addr) : -ENOENT;
	if (site < 0)
		return fhook_fail(report, FHOOK_ERR_NO_SLOT, -EOPNOTSUPP,
				  finder.addr,
				  "'%s' has no slot (notrace, noinstr, not C, or freed init code)",
				  redirect->func);

	redirect->table = table;
	redirect->site = site;

	return 0;
}

/* Is this the first byte of a function in text that is not freed after init? */
static bool is_function(void *addr)
{
	unsigned long size, offset;
	struct module *mod;

	scoped_guard(preempt) {
		mod = __module_text_address((unsigned long)addr);
		if (mod ? within_module_init((unsigned long)addr, mod) :
			  !core_kernel_text((unsigned long)addr) ||
			  init_section_contains(addr, 1))
			return false;
	}

	return kallsyms_lookup_size_offset((unsigned long)addr, &size,
					   &offset) && !offset;
}

/**
 * fhook_replacement_check() - check that the replacement of a redirect is a function
 * @redirect: the redirect
 * @report: report of the error
 *
 * Return: 0 or -EINVAL.
 */
int fhook_replacement_check(const struct fhook_redirect *redirect, struct fhook_report *report)
{
	unsigned long func = 0;

	if (is_function(redirect->replacement))
		return 0;
	if (redirect->table)
		func = fhook_site_func(redirect->table, redirect->site);

	return fhook_fail(report, FHOOK_ERR_REDIRECT, -EINVAL, func,
			  "the replacement of %s (%pS) is no function, or is freed after init",
			  redirect->func, redirect->replacement);
}

static int compare_addr(const void *key, const void *elem)
{
	const struct fhook_range *range = elem;
	unsigned long addr = *(const unsigned long *)key;

	return addr < range->start ? -1 : addr >= range->end;
}

/**
 * fhook_in_ranges() - check whether an address is in one of several functions
 * @ranges: the functions
 * @addr: the address
 *
 * Called for each frame of each task while all CPUs are stopped.
 */
bool fhook_in_ranges(const struct fhook_ranges *ranges, unsigned long addr)
{
	return __inline_bsearch(&addr, ranges->range, ranges->num, sizeof(ranges->range[0]),
				compare_addr);
}

static int compare_start(const void *a, const void *b)
{
	unsigned long start_a = ((const struct fhook_range *)a)->start;
	unsigned long start_b = ((const struct fhook_range *)b)->start;

	return start_a < start_b ? -1 : start_a > start_b;
}

/**
 * fhook_ranges_sort() - prepare ranges for fhook_in_ranges()
 * @ranges: the ranges in any order; those that overlap are joined
 */
void fhook_ranges_sort(struct fhook_ranges *ranges)
{
	struct fhook_range *range = ranges->range;
	unsigned int i, last = 0;

	sort(range, ranges->num, sizeof(*range), compare_start, NULL);
	for (i = 1; i < ranges->num; i++) {
		if (range[i].start < range[last].end)
			range[last].end = max(range[last].end, range[i].end);
		else
			range[++last] = range[i];
	}
	if (ranges->num)
		ranges->num = last + 1;
}

/**
 * struct parts - a search for the parts of a function
 * @ranges: the ranges found so far
 * @name: name of the function, and a full stop
 * @len: length of @name
 */
struct parts {
	struct fhook_ranges	*ranges;
	char			name[KSYM_NAME_LEN + 1];
	size_t			len;
};

/*
 * Is a symbol the start of a function, rather than a label of another function? Compilers
 * align functions, except their cold parts. On x86_64 a label is rarely aligned like that,
 * but on arm64 all labels are if CONFIG_FUNCTION_ALIGNMENT is 4, and half of them if it is 8.
 */
static bool begins_function(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	return IS_ALIGNED(addr, CONFIG_FUNCTION_ALIGNMENT) ||
	       lookup_symbol_name(addr, name) || strstr(name, ".cold") ||
	       str_has_prefix(name, "__pfx_");
}

/*
 * The kernel's own symbols have no sizes. A label that is aligned like a function is taken
 * for one.
 */
static unsigned long kernel_function_end(unsigned long addr, unsigned long end)
{
	const struct fhook_table *table = fhook_table_of(addr);
	unsigned long next, size, offset;
	int site;

	site = table ? fhook_table_find(table, addr) : -ENOENT;
	if (site < 0 || site + 1 >= table->num)
		return end;

	next = fhook_site_func(table, site + 1);
	while (end < next && !begins_function(end) &&
	       kallsyms_lookup_size_offset(end, &size, &offset) && !offset)
		end += size;

	return end;
}

/* A module's symbol table has sizes, though not for each label. */
static unsigned long module_function_end(const struct module *mod,
					 unsigned long addr, unsigned long end)
{
	const struct mod_kallsyms *kallsyms;
	const Elf_Sym *sym;
	unsigned int i;

	guard(rcu)();
	kallsyms = rcu_dereference(mod->kallsyms);
	for (i = 0; i < kallsyms->num_symtab; i++) {
		sym = &kallsyms->symtab[i];
		if (sym->st_value == addr && sym->st_shndx != SHN_UNDEF &&
		    ELF_ST_TYPE(sym->st_info) == STT_FUNC)
			end = max(end, addr + (unsigned long)sym->st_size);
	}

	return end;
}

/* For kallsyms, a function ends at the next symbol, which may be a label inside. */
static unsigned long function_end(unsigned long addr, unsigned long end)
{
	const struct module *mod;

	scoped_guard(preempt) {
		mod = __module_address(addr);
		if (mod)
			return module_function_end(mod, addr, end);
	}

	return kernel_function_end(addr, end);
}

static int add_code(struct parts *parts, unsigned long addr)
{
	struct fhook_ranges *more;
	unsigned int num = parts->ranges->num;
	unsigned long size, offset;

	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return 0;

	more = krealloc(parts->ranges, struct_size(more, range, num + 1),
			GFP_KERNEL);
	if (!more)
		return -ENOMEM;

	more->num = num + 1;
	more->range[num].start = addr - offset;
	more->range[num].end = function_end(addr, addr - offset + size);
	parts->ranges = more;

	return 0;
}

static int add_part(void *data, const char *name, unsigned long addr)
{
	struct parts *parts = data;

	return strncmp(name, parts->name, parts->len) ? 0 :
							add_code(parts, addr);
}

/*
 * Add a function and its parts that the compiler has placed elsewhere (NAME.cold,
 * NAME.part.0).
 */
static int add_function_code(struct parts *parts, unsigned long addr)
{
	char *module = NULL;
	int err;

	err = add_code(parts, addr);
	if (err || !kallsyms_lookup(addr, NULL, NULL, &module, parts->name))
		return err;

	parts->len = strlen(strcat(parts->name, "."));
	if (module)
		return module_kallsyms_on_each_symbol(module, add_part, parts);

	return kallsyms_on_each_prefix_symbol(add_part, parts->name, parts->len,
					      parts);
}

/**
 * fhook_patch_ranges() - find the code of the functions of a patch
 * @patch: the patch
 * @functions: include the redirected functions
 * @replacements: include the replacements
 * @report: report of the error
 *
 * Return: the ranges, to be freed by kfree(), or an ERR_PTR.
 */
struct fhook_ranges *fhook_patch_ranges(const struct fhook_patch *patch,
					bool functions, bool replacements,
					struct fhook_report *report)
{
	/* Protected by fhook_mutex; too large for the stack. */
	static struct parts parts;
	const struct fhook_redirect *r = patch->redirects;
	int err;

	lockdep_assert_held(&fhook_mutex);
	parts.ranges = kzalloc(sizeof(*parts.ranges), GFP_KERNEL);
	err = parts.ranges ? 0 : -ENOMEM;
	for (; r < patch->redirects + patch->num && !err; r++) {
		if (functions && r->table)
			err = add_function_code(&parts,
						fhook_site_func(r->table,
								r->site));
		if (replacements && !err)
			err = add_function_code(&parts,
						(unsigned long)r->replacement);
	}
	if (!err) {
		fhook_ranges_sort(parts.ranges);
		return parts.ranges;
	}

	kfree(parts.ranges);
	err = fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
			 "no memory to list the functions of a patch");

	return ERR_PTR(err);
}
