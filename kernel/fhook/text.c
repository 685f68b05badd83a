// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: memory for trampolines, and look-ups of addresses in them.
 *
 * Trampolines share chunks of read-only executable memory, which are divided
 * into units and written through the patching alias. The more there are, the larger
 * is a new chunk, so that look-ups by address pass few. If a branch does not reach
 * all of the kernel, each distant group of sites has chunks of its own.
 * Allocation and freeing happen under fhook_mutex. The set of an address can be
 * looked up in any context, NMI included, with preemption disabled: chunks are
 * on an RCU list, and neither a chunk nor the set that owns a unit is freed
 * without a grace period. For chunks it is one of RCU tasks, because unwinders
 * walk the list where RCU is not watching. A set is only accessed if the address
 * is in its trampoline, and then it is not being freed, because a CPU is in
 * there. The mainline counterpart is the trampoline list in ftrace.c.
 */
#include <linux/bitmap.h>
#include <linux/buildid.h>
#include <linux/execmem.h>
#include <linux/fhook_arch.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/set_memory.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/sections.h>

#include "core.h"
#include "extension.h"
#include "retire.h"
#include "set.h"
#include "text.h"

#define UNIT_SIZE	64
#define MIN_CHUNK	SZ_16K
#define MAX_CHUNK	SZ_256K

/*
 * The module name shown by /proc/kallsyms, in the style of ftrace and kprobes.
 */
#define TEXT_MODULE	"__builtin__fhook"

/**
 * struct text_chunk - a chunk of memory for trampolines
 * @list: link in text_chunks
 * @retired: queue entry for the grace period of look-ups by address
 * @base: address of the memory
 * @num: number of units
 * @free: number of free units
 * @from: index of a unit, before which none is free
 * @sets: number of sets with a trampoline in it
 * @owners: set that each unit belongs to, or NULL
 */
struct text_chunk {
	struct list_head	list;
	struct fhook_retired	retired;
	void			*base;
	unsigned int		num;
	unsigned int		free;
	unsigned int		from;
	unsigned int		sets;
	struct fhook_set	*owners[] __counted_by(num);
};

static LIST_HEAD(text_chunks);

static struct text_chunk *chunk_alloc(unsigned long site, unsigned int size)
{
	unsigned int num = size / UNIT_SIZE;
	struct text_chunk *chunk;

	chunk = kvzalloc(struct_size(chunk, owners, num), GFP_KERNEL);
	if (!chunk)
		return NULL;

	chunk->num = num;
	chunk->free = num;
	/* Preferably where the whole kernel reaches it, so that sites can share it. */
	chunk->base = fhook_arch_text_alloc(min_t(unsigned long, site, (unsigned long)_text),
					    max_t(unsigned long, site, (unsigned long)_etext),
					    size) ?:
		      fhook_arch_text_alloc(site, site, size);
	if (!chunk->base) {
		kvfree(chunk);
		return NULL;
	}

	fhook_arch_text_fill(chunk->base, size);
	set_vm_flush_reset_perms(chunk->base);
	if (set_memory_rox((unsigned long)chunk->base, size / PAGE_SIZE)) {
		execmem_free(chunk->base);
		kvfree(chunk);
		return NULL;
	}
	list_add_tail_rcu(&chunk->list, &text_chunks);

	return chunk;
}

/* The first unit of a free run, or chunk->num. */
static unsigned int find_run(const struct text_chunk *chunk, unsigned int units)
{
	unsigned int i, run = 0;

	if (chunk->free < units)
		return chunk->num;

	for (i = chunk->from; i < chunk->num; i++) {
		run = chunk->owners[i] ? 0 : run + 1;
		if (run == units)
			return i + 1 - units;
	}

	return chunk->num;
}

static void take_units(struct text_chunk *chunk, unsigned int first,
		       unsigned int units, struct fhook_set *set)
{
	unsigned int i;

	for (i = first; i < first + units; i++)
		/* Look-ups by address read its text and size. */
		smp_store_release(&chunk->owners[i], set);

	if (set) {
		chunk->free -= units;
		WRITE_ONCE(chunk->sets, chunk->sets + 1);
		if (chunk->from == first)
			chunk->from += units;
	} else {
		chunk->free += units;
		WRITE_ONCE(chunk->sets, chunk->sets - 1);
		chunk->from = min(chunk->from, first);
	}
}

static bool chunk_in_reach(const struct text_chunk *chunk, unsigned long site)
{
	return fhook_arch_reaches(site, chunk->base) &&
	       fhook_arch_reaches(site, chunk->base + chunk->num * UNIT_SIZE);
}

/**
 * fhook_text_alloc() - allocate memory for the trampoline of a set
 * @set: the set, which look-ups by address find from now on
 * @site: address of a slot that must reach the trampoline
 * @size: size in bytes
 *
 * Return: the address, or NULL. Also sets the set's text and size; the size is
 * that of the allocation, which may be larger.
 */
void *fhook_text_alloc(struct fhook_set *set, unsigned long site,
		       unsigned int size)
{
	unsigned int units = DIV_ROUND_UP(size, UNIT_SIZE);
	unsigned int first = 0, others = 0;
	struct text_chunk *chunk;

	lockdep_assert_held(&fhook_mutex);
	list_for_each_entry(chunk, &text_chunks, list) {
		if (!chunk_in_reach(chunk, site))
			continue;
		first = find_run(chunk, units);
		if (first < chunk->num)
			goto found;
		others += chunk->num * UNIT_SIZE;
	}

	first = 0;
	others = clamp_t(unsigned int, others / 4, MIN_CHUNK, MAX_CHUNK);
	chunk = chunk_alloc(site, PAGE_ALIGN(max(others, units * UNIT_SIZE)));
	if (!chunk)
		return NULL;
found:
	set->text = chunk->base + first * UNIT_SIZE;
	set->size = units * UNIT_SIZE;
	take_units(chunk, first, units, set);

	return set->text;
}

static void text_name(const struct fhook_set *set, char *name, size_t size)
{
	snprintf(name, size, "fhook_trampoline_%u", set->id);
}

/* Notify perf, which needs the code to decode traces. */
static void announce(const struct fhook_set *set, bool gone)
{
	char name[KSYM_NAME_LEN];

	text_name(set, name, sizeof(name));
	if (gone)
		perf_event_text_poke(set->text, set->text, set->size, NULL, 0);
	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL,
			   (unsigned long)set->text, set->size, gone, name);
	if (!gone)
		perf_event_text_poke(set->text, NULL, 0, set->text, set->size);
}

/**
 * fhook_text_write() - write a trampoline to its memory
 * @set: the set, with its memory
 * @code: the trampoline
 * @size: its length in bytes
 */
void fhook_text_write(struct fhook_set *set, const void *code,
		      unsigned int size)
{
	lockdep_assert_held(&fhook_mutex);
	fhook_arch_text_write(set->text, code, size);
	set->announced = true;
	announce(set, false);
}

static struct text_chunk *chunk_of(unsigned long addr)
{
	struct text_chunk *chunk;

	list_for_each_entry_lockless(chunk, &text_chunks, list) {
		if (addr - (unsigned long)chunk->base <
		    chunk->num * UNIT_SIZE)
			return chunk;
	}

	return NULL;
}

static void chunk_free(struct fhook_retired *retired)
{
	kvfree(container_of(retired, struct text_chunk, retired));
}

/**
 * fhook_text_free() - free the memory of a trampoline
 * @set: the set; nothing may be running in its trampoline
 *
 * The set itself must outlive an RCU grace period from here.
 */
void fhook_text_free(struct fhook_set *set)
{
	unsigned int units = DIV_ROUND_UP(set->size, UNIT_SIZE);
	struct text_chunk *chunk = chunk_of((unsigned long)set->text);

	lockdep_assert_held(&fhook_mutex);
	if (set->announced)
		announce(set, true);
	fhook_arch_text_clear(set->text, units * UNIT_SIZE);
	take_units(chunk, (set->text - chunk->base) / UNIT_SIZE, units, NULL);

	/* The first chunk stays: another hook is likely. */
	if (chunk->free < chunk->num ||
	    list_is_first(&chunk->list, &text_chunks))
		return;

	list_del_rcu(&chunk->list);
	execmem_free(chunk->base);
	fhook_retire(&chunk->retired, NULL, chunk_free);
}

/**
 * fhook_text_find() - find the set whose trampoline contains an address
 * @addr: any address
 *
 * May be called from any context with preemption disabled, or under fhook_mutex.
 *
 * Return: the set, NULL if there is none.
 */
const struct fhook_set *fhook_text_find(unsigned long addr)
{
	struct text_chunk *chunk = chunk_of(addr);

	if (!chunk)
		return NULL;

	return READ_ONCE(chunk->owners[(addr - (unsigned long)chunk->base) /
				       UNIT_SIZE]);
}

/**
 * is_fhook_trampoline() - check whether an address is in a trampoline or a stub
 * @addr: any address
 *
 * For __kernel_text_address(), like is_ftrace_trampoline(). Any context.
 */
bool is_fhook_trampoline(unsigned long addr)
{
	guard(preempt_notrace)();

	return fhook_text_find(addr) || fhook_is_stub(addr);
}

/**
 * fhook_address_lookup() - find the name of an address in a trampoline or a stub
 * @addr: any address
 * @size: set to the length of the trampoline in bytes
 * @offset: set to the offset of @addr in it
 * @modname: set to the name shown as its module
 * @modbuildid: set to the kernel's build ID if backtraces show such; may be NULL
 * @name: set to its name, buffer of KSYM_NAME_LEN bytes
 *
 * For kallsyms, like ftrace_mod_address_lookup(). Any context.
 *
 * Return: the length of the name, 0 if this is no trampoline.
 */
int fhook_address_lookup(unsigned long addr, unsigned long *size,
			 unsigned long *offset, char **modname,
			 const unsigned char **modbuildid, char *name)
{
	const struct fhook_set *set;

	guard(preempt_notrace)();
	set = fhook_text_find(addr);
	if (modname && (set || fhook_is_stub(addr)))
		*modname = TEXT_MODULE;
#ifdef CONFIG_STACKTRACE_BUILD_ID
	/* Linux 7.3 warns of names of modules that have none. */
	if (modbuildid)
		*modbuildid = vmlinux_build_id;
#endif
	if (!set)
		return fhook_stub_lookup(addr, size, offset, name);

	if (size)
		*size = set->size;
	if (offset)
		*offset = addr - (unsigned long)set->text;
	text_name(set, name, KSYM_NAME_LEN);

	return strlen(name);
}

/* The set with this index among those with a trampoline; else reduce it by their number. */
static const struct fhook_set *nth_set(unsigned int *num)
{
	const struct fhook_set *set;
	struct text_chunk *chunk;
	unsigned int i, sets;

	list_for_each_entry_rcu(chunk, &text_chunks, list) {
		sets = READ_ONCE(chunk->sets);
		if (*num >= sets) {
			*num -= sets;
			continue;
		}
		for (i = 0; i < chunk->num; i += set ? set->size / UNIT_SIZE : 1) {
			set = READ_ONCE(chunk->owners[i]);
			if (set && !(*num)--)
				return set;
		}
	}

	return NULL;
}

/**
 * fhook_get_kallsym() - list trampolines and blocks of stubs
 * @num: index, from 0
 * @value: set to its address
 * @type: set to the symbol type that nm would print
 * @name: set to its name, buffer of KSYM_NAME_LEN bytes
 * @module_name: set to the name shown as its module, MODULE_NAME_LEN bytes
 * @exported: set to 0
 *
 * For /proc/kallsyms, like ftrace_mod_get_kallsym().
 *
 * Return: 0, or -ERANGE when there are no more.
 */
int fhook_get_kallsym(unsigned int num, unsigned long *value, char *type,
		      char *name, char *module_name, int *exported)
{
	const struct fhook_set *set;

	guard(rcu)();
	set = nth_set(&num);
	if (set) {
		*value = (unsigned long)set->text;
		text_name(set, name, KSYM_NAME_LEN);
	} else if (!fhook_stub_symbol(num, value, name)) {
		return -ERANGE;
	}

	*type = 't';
	*exported = 0;
	strscpy(module_name, TEXT_MODULE, MODULE_NAME_LEN);

	return 0;
}
