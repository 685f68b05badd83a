// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace: the trace block, memory that holds nothing but stubs.
 *
 * A block begins at a multiple of 64 KiB, and the stubs of a function lie in one
 * window of that size, so that what a processor writes about them is short. Where a
 * branch does not reach all of the kernel there are several blocks. They are filled
 * before anything leads there, made read-only and executable, and never written
 * again; they are freed when nobody can be running in them, see retire.c.
 *
 * Blocks are made under fhook_mutex. Look-ups by address are for any context: they
 * walk all choices that have not been freed, see calltrace.h.
 */
#include <linux/execmem.h>
#include <linux/kallsyms.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "../arch.h"
#include "../report.h"
#include "calltrace.h"

#define BLOCK_NAME	"calltrace_block"

/* The most that perf can be told of at once. */
#define TEXT_POKE_SIZE	SZ_32K

LIST_HEAD(calltrace_choices);

/* How many stubs a function has: one for its entry, one for each exit. */
static u32 stubs_size(const struct calltrace_function *f)
{
	return (1 + f->exits) * CALLTRACE_STUB_SIZE;
}

/* Behind @used bytes, where does something of this size fit into one window? */
static u32 place(u32 used, u32 size)
{
	if (used / CALLTRACE_WINDOW == (used + size - 1) / CALLTRACE_WINDOW ||
	    size > CALLTRACE_WINDOW)
		return used;

	return ALIGN(used, CALLTRACE_WINDOW);
}

static bool is_reached(const struct calltrace_function *f, const void *base,
		       u32 size)
{
	return fhook_arch_reaches(f->func, base) &&
	       fhook_arch_reaches(f->func, base + size);
}

static bool wants_stubs(const struct calltrace_function *f)
{
	return !f->reason && !f->stub.block;
}

/* Enough for all functions that have none yet, and how many bytes that is. */
static u32 size_of_rest(const struct calltrace_choice *choice, u32 context)
{
	const struct calltrace_function *f = choice->functions;
	u32 used = context;

	for (; f < choice->functions + choice->num_functions; f++) {
		if (wants_stubs(f))
			used = place(used, stubs_size(f)) + stubs_size(f);
	}

	return PAGE_ALIGN(used);
}

/*
 * Within reach of all functions that belong to the same as @f and have no stubs yet,
 * or if that cannot be, of @f.
 */
static void *alloc_near(const struct calltrace_choice *choice,
			const struct calltrace_function *f, u32 size)
{
	const struct calltrace_function *last = f, *other = f;
	void *memory;

	for (; other < choice->functions + choice->num_functions; other++) {
		if (wants_stubs(other) && other->object == f->object)
			last = other;
	}
	memory = fhook_arch_text_alloc(f->func, last->func, size);

	return memory ?: fhook_arch_text_alloc(f->func, f->func, size);
}

static struct calltrace_block *
block_alloc(const struct calltrace_choice *choice,
	    const struct calltrace_function *near, u32 size, u32 context)
{
	struct calltrace_block *block = kzalloc(sizeof(*block), GFP_KERNEL);

	if (!block)
		return NULL;

	block->size = size;
	block->context = context;
	block->memory_size = size + CALLTRACE_WINDOW;
	block->memory = alloc_near(choice, near, block->memory_size);
	block->code = kvzalloc(size, GFP_KERNEL);
	block->owners = kvcalloc(size / CALLTRACE_STUB_SIZE,
				 sizeof(*block->owners), GFP_KERNEL);
	if (!block->memory || !block->code || !block->owners) {
		if (block->memory)
			execmem_free(block->memory);
		kvfree(block->code);
		kvfree(block->owners);
		kfree(block);
		return NULL;
	}

	block->base = PTR_ALIGN(block->memory, CALLTRACE_WINDOW);
	fhook_arch_text_fill(block->memory, block->memory_size);
	fhook_arch_text_fill(block->code, size);

	return block;
}

/* Give the functions that a block is in reach of their stubs. */
static void take_places(struct calltrace_choice *choice,
			struct calltrace_block *block)
{
	struct calltrace_function *f = choice->functions;
	u32 used = block->context;

	for (; f < choice->functions + choice->num_functions; f++) {
		if (!wants_stubs(f) || !is_reached(f, block->base, block->size))
			continue;
		used = place(used, stubs_size(f));
		f->stub.block = block;
		f->stub.offset = used;
		used += stubs_size(f);
	}
	block->size = PAGE_ALIGN(used);
}

static const struct calltrace_function *
first_without(const struct calltrace_choice *choice)
{
	const struct calltrace_function *f = choice->functions;

	for (; f < choice->functions + choice->num_functions; f++) {
		if (wants_stubs(f))
			return f;
	}

	return NULL;
}

static int make_blocks(struct calltrace_choice *choice,
		       struct fhook_report *report)
{
	const struct calltrace_function *f;
	struct calltrace_block *block;
	u32 context;

	while ((f = first_without(choice))) {
		context = list_empty(&choice->blocks) ?
			  calltrace_context_size() : 0;
		block = block_alloc(choice, f, size_of_rest(choice, context),
				    context);
		if (!block)
			return fhook_fail(report, FHOOK_ERR_NO_ROOM, -ENOSPC,
					  f->func,
					  "no executable memory for stubs within reach of %ps",
					  (void *)f->func);
		list_add_tail(&block->list, &choice->blocks);
		take_places(choice, block);
		if (!f->stub.block)
			return fhook_fail(report, FHOOK_ERR_NO_ROOM, -ENOSPC,
					  f->func,
					  "the stubs are too many to be within reach of %ps",
					  (void *)f->func);
	}

	return 0;
}

static void *code_of(const struct calltrace_stub *stub)
{
	return stub->block->code + stub->offset;
}

static void own(const struct calltrace_stub *stub, u32 owner)
{
	stub->block->owners[stub->offset / CALLTRACE_STUB_SIZE] = owner;
}

static void write_exits(struct calltrace_choice *choice)
{
	struct calltrace_exit *exit = choice->exits;
	struct calltrace_function *f;

	for (; exit < choice->exits + choice->num_exits; exit++) {
		f = &choice->functions[exit->function];
		exit->stub = f->stub;
		exit->stub.offset += ++f->placed * CALLTRACE_STUB_SIZE;
		if (!calltrace_arch_exit_stub(code_of(&exit->stub),
					      calltrace_stub_addr(&exit->stub),
					      exit)) {
			f->reason = CALLTRACE_FAR;
			f->where = exit->addr - f->func;
		}
	}
	calltrace_exits_drop(choice);

	for (exit = choice->exits; exit < choice->exits + choice->num_exits;
	     exit++)
		own(&exit->stub, 2 + 2 * (exit - choice->exits));
}

static void write_entries(struct calltrace_choice *choice)
{
	struct calltrace_function *f = choice->functions;
	unsigned long site;

	for (; f < choice->functions + choice->num_functions; f++) {
		if (f->reason)
			continue;
		site = fhook_site_addr(f->table, f->site);
		calltrace_arch_stub(code_of(&f->stub),
				    calltrace_stub_addr(&f->stub),
				    site + FHOOK_SLOT_SIZE);
		own(&f->stub, 1 + 2 * (f - choice->functions));
	}
}

static int finish(struct calltrace_block *block, struct fhook_report *report)
{
	memcpy(block->base, block->code, block->size);
	kvfree(block->code);
	block->code = NULL;

	flush_icache_range((unsigned long)block->base,
			   (unsigned long)block->base + block->size);
	set_vm_flush_reset_perms(block->memory);
	if (set_memory_rox((unsigned long)block->memory,
			   block->memory_size / PAGE_SIZE))
		return fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
				  "the stubs cannot be made executable");

	return 0;
}

/**
 * calltrace_blocks_make() - a stub for each entry and each exit
 * @choice: the functions and their exits
 * @report: says what went wrong
 *
 * A function for which a stub would not reach far enough gets that as its reason.
 *
 * Return: 0 or an error; then what was made is to be freed.
 */
int calltrace_blocks_make(struct calltrace_choice *choice,
			  struct fhook_report *report)
{
	struct calltrace_block *block;
	int err;

	err = make_blocks(choice, report);
	if (err)
		return err;

	write_exits(choice);
	write_entries(choice);
	list_for_each_entry(block, &choice->blocks, list) {
		if (block->context)
			calltrace_context_write(block);
		err = finish(block, report);
		if (err)
			return err;
	}

	return 0;
}

/* In pieces; what perf is told of is a change from nothing, or to nothing. */
static void announce_code(const struct calltrace_block *block, bool gone)
{
	unsigned int offset, len;
	void *code;

	for (offset = 0; offset < block->size; offset += len) {
		code = block->base + offset;
		len = min_t(u32, block->size - offset, TEXT_POKE_SIZE);
		perf_event_text_poke(code, code, gone ? len : 0,
				     gone ? NULL : code, gone ? 0 : len);
	}
}

/**
 * calltrace_blocks_announce() - tell perf, which decodes traces with it, what is where
 * @choice: whose
 * @gone: it is no longer
 */
void calltrace_blocks_announce(const struct calltrace_choice *choice, bool gone)
{
	struct calltrace_block *block;

	list_for_each_entry(block, &choice->blocks, list) {
		if (gone)
			announce_code(block, true);
		perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL,
				   (unsigned long)block->base, block->size,
				   gone, BLOCK_NAME);
		if (!gone)
			announce_code(block, false);
	}
}

/**
 * calltrace_blocks_free() - free blocks that nobody runs in
 * @choice: whose
 */
void calltrace_blocks_free(struct calltrace_choice *choice)
{
	struct calltrace_block *block, *tmp;

	list_for_each_entry_safe(block, tmp, &choice->blocks, list) {
		execmem_free(block->memory);
		kvfree(block->code);
		kvfree(block->owners);
		kfree(block);
	}
}

/**
 * struct found - what an address in a block belongs to
 * @choice: the choice, NULL if it is in no block
 * @block: the block
 * @offset: where in it, in bytes
 * @owner: as in &calltrace_block.owners
 */
struct found {
	const struct calltrace_choice	*choice;
	const struct calltrace_block	*block;
	u32				offset;
	u32				owner;
};

/* Whose stub is this? From any context, with preemption disabled. */
static struct found find(unsigned long addr)
{
	struct calltrace_choice *choice;
	struct calltrace_block *block;
	unsigned long offset;

	list_for_each_entry_lockless(choice, &calltrace_choices, list) {
		list_for_each_entry(block, &choice->blocks, list) {
			offset = addr - (unsigned long)block->base;
			if (offset < block->size)
				return (struct found){
					choice, block, offset,
					block->owners[offset /
						      CALLTRACE_STUB_SIZE],
				};
		}
	}

	return (struct found){};
}

/**
 * calltrace_is_stub() - is this address in a trace block?
 * @addr: any address
 *
 * Any context.
 *
 * Return: true if it is.
 */
bool calltrace_is_stub(unsigned long addr)
{
	guard(preempt_notrace)();

	return find(addr).choice;
}

static const struct calltrace_function *function_of(const struct found *found)
{
	const struct calltrace_choice *choice = found->choice;
	u32 owner = found->owner;

	if (!owner)
		return NULL;
	if (owner & 1)
		return &choice->functions[owner / 2];

	return &choice->functions[choice->exits[owner / 2 - 1].function];
}

/**
 * calltrace_goes_on() - where in its function does the stub of an entry lead?
 * @addr: any address
 *
 * Any context.
 *
 * Return: the address behind the slot, or @addr if it is of no such stub.
 */
unsigned long calltrace_goes_on(unsigned long addr)
{
	const struct fhook_table *table;
	struct found found;

	guard(preempt_notrace)();
	found = find(addr);
	if (!(found.owner & 1))
		return addr;

	table = READ_ONCE(function_of(&found)->table);

	return table ? fhook_site_addr(table, function_of(&found)->site) +
		       FHOOK_SLOT_SIZE : addr;
}

static const char *kind_name(const struct found *found)
{
	if (found->owner & 1)
		return ".entry";

	return found->choice->exits[found->owner / 2 - 1].kind ==
	       CALLTRACE_TAIL ? ".tail" : ".exit";
}

/**
 * calltrace_address_lookup() - name the address of a stub
 * @addr: any address
 * @size: set to the length of the stub in bytes
 * @offset: set to where in it the address is
 * @name: set to its name, buffer of KSYM_NAME_LEN bytes
 *
 * The name is that of its function, so that a stack shows it; for what belongs to no
 * function, it is the block's. Any context, with preemption disabled.
 *
 * Return: the length of the name, 0 if this is no stub.
 */
int calltrace_address_lookup(unsigned long addr, unsigned long *size,
			     unsigned long *offset, char *name)
{
	const struct calltrace_function *f;
	struct found found = find(addr);

	if (!found.choice)
		return 0;

	f = function_of(&found);
	if (!f)
		strscpy(name, BLOCK_NAME, KSYM_NAME_LEN);
	else if (f->name)
		strscpy(name, f->name, KSYM_NAME_LEN);
	else if (lookup_symbol_name(f->func, name))
		return 0;
	if (f)
		strlcat(name, kind_name(&found), KSYM_NAME_LEN);
	if (size)
		*size = f ? CALLTRACE_STUB_SIZE : found.block->size;
	if (offset)
		*offset = f ? found.offset % CALLTRACE_STUB_SIZE : found.offset;

	return strlen(name);
}

/**
 * calltrace_get_kallsym() - the blocks, one after the other
 * @num: its number, from 0; reduced by how many blocks there are if it is not found
 * @value: set to its address
 * @name: set to its name, buffer of KSYM_NAME_LEN bytes
 *
 * For /proc/kallsyms, with RCU read-locked.
 *
 * Return: true, or false when there are no more.
 */
bool calltrace_get_kallsym(unsigned int *num, unsigned long *value, char *name)
{
	struct calltrace_choice *choice;
	struct calltrace_block *block;

	list_for_each_entry_rcu(choice, &calltrace_choices, list) {
		list_for_each_entry(block, &choice->blocks, list) {
			if ((*num)--)
				continue;
			*value = (unsigned long)block->base;
			strscpy(name, BLOCK_NAME, KSYM_NAME_LEN);
			return true;
		}
	}

	return false;
}
