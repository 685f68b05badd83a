// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: an index of the names of a module's functions.
 *
 * When a module is loaded, each hook looks for its names among the module's symbols. The
 * index makes this cost one walk over the symbols and a look-up per name, instead of a
 * walk per hook. It exists only while the hooks are attached: afterwards the names of
 * init functions go away.
 *
 * All under fhook_mutex.
 */
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/stringhash.h>

#include "core.h"
#include "names.h"

struct name {
	struct hlist_node	node;
	const char		*text;
	unsigned long		addr;
};

/**
 * struct fhook_names - a hash table of the names of a module
 * @buckets: heads of the lists of names with equal hashes
 * @bits: binary logarithm of the number of buckets
 * @num: number of names
 * @max: number of names for which @names has room
 * @names: the names, in the order of the symbol table
 */
struct fhook_names {
	struct hlist_head	*buckets;
	unsigned int		bits;
	unsigned int		num;
	unsigned int		max;
	struct name		names[] __counted_by(max);
};

static struct hlist_head *bucket_of(const struct fhook_names *names, const char *text)
{
	return &names->buckets[hash_32(full_name_hash(NULL, text, strlen(text)), names->bits)];
}

static int add_name(void *data, const char *text, unsigned long addr)
{
	struct fhook_names *names = data;
	struct name *name = &names->names[names->num];

	/* A module may have many symbols. */
	cond_resched();
	if (names->num == names->max)
		return 1;

	names->num++;
	name->text = text;
	name->addr = addr;
	hlist_add_head(&name->node, bucket_of(names, text));

	return 0;
}

static unsigned int count_symbols(const struct module *mod)
{
	guard(rcu)();

	return rcu_dereference(mod->kallsyms)->num_symtab;
}

/**
 * fhook_names_make() - make the index of a module
 * @mod: the module, formed
 *
 * Return: the index, to be freed by fhook_names_free(), or NULL without memory.
 */
struct fhook_names *fhook_names_make(const struct module *mod)
{
	unsigned int num = count_symbols(mod);
	struct fhook_names *names;

	lockdep_assert_held(&fhook_mutex);
	names = kvzalloc(struct_size(names, names, num), GFP_KERNEL);
	if (!names)
		return NULL;

	names->max = num;
	names->bits = order_base_2(num | 2);
	names->buckets = kvcalloc(1UL << names->bits, sizeof(*names->buckets), GFP_KERNEL);
	if (!names->buckets) {
		kvfree(names);
		return NULL;
	}
	module_kallsyms_on_each_symbol(mod->name, add_name, names);

	return names;
}

/**
 * fhook_names_free() - free an index
 * @names: the index, or NULL
 */
void fhook_names_free(struct fhook_names *names)
{
	lockdep_assert_held(&fhook_mutex);
	if (names)
		kvfree(names->buckets);
	kvfree(names);
}

/**
 * fhook_names_each() - call a function for each symbol with a name
 * @names: the index
 * @name: the name
 * @found: called with @data and the address of the symbol; its result is ignored
 * @data: for @found
 */
void fhook_names_each(const struct fhook_names *names, const char *name,
		      int (*found)(void *data, unsigned long addr), void *data)
{
	const struct name *entry;

	lockdep_assert_held(&fhook_mutex);
	hlist_for_each_entry(entry, bucket_of(names, name), node) {
		if (!strcmp(entry->text, name))
			found(data, entry->addr);
	}
}
