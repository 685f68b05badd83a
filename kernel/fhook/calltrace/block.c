// SPDX-License-Identifier: GPL-2.0
/*
 * calltrace: the trace block, memory that holds only stubs.
 *
 * A block begins at a multiple of 64 KiB, and the stubs of a function lie in one
 * window of that size, which keeps the processor's packets short. If a branch does not
 * reach all of the kernel, there are several blocks. They are filled before anything
 * leads to them, made read-only and executable, and never written again; they are
 * freed when no CPU can be running in them, see retire.c.
 *
 * Blocks are made under fhook_mutex. Look-ups by address work in any context: they
 * walk all choices that have not been freed, see calltrace.h.
 */
#include <linux/execmem.h>
#include <linux/fhook_arch.h>
#include <linux/kallsyms.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "../core.h"
#include "../report.h"
#include "calltrace.h"

#define BLOCK_NAME	"calltrace_block"

/* The maximum size of the code in one event of perf. */
#define TEXT_POKE_SIZE	SZ_32K

LIST_HEAD(calltrace_choices);

/* The size of a function's stubs: one stub for the entry, one for each exit. */
static u32 stubs_size(const struct calltrace_function *f)
{
	return (1 + f->exits) * CALLTRACE_STUB_SIZE;
}

/* The first offset at or after @used at which @size bytes fit into one window. */
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

/* The size of the stubs of all functions that have none yet. */
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
 * Allocate within reach of all functions that are in the same object as @f and have no
 * stubs yet, or, if that fails, within reach of @f.
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

/* Assign stubs to the functions within reach of a block. */
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
					  "there are too many stubs to place all within reach of %ps",
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

/* Write a stub that leaves a function like the original exit; false if out of reach. */
static bool write_exit(const struct calltrace_exit *exit)
{
	unsigned long at = calltrace_stub_addr(&exit->stub);
	void *code = code_of(&exit->stub);
	u8 jump[CALLTRACE_EXIT_SIZE];

	if (!calltrace_arch_stub(jump, exit->addr, at))
		return false;

	if (exit->target)
		return calltrace_arch_stub(code, at, exit->target);
	if (exit->leaves)
		memcpy(code, exit->original, CALLTRACE_EXIT_SIZE);
	else
		calltrace_arch_return_stub(code, at, exit->original);

	return true;
}

static void write_exits(struct calltrace_choice *choice)
{
	struct calltrace_exit *exit = choice->exits;
	struct calltrace_function *f;

	for (; exit < choice->exits + choice->num_exits; exit++) {
		f = &choice->functions[exit->function];
		exit->stub = f->stub;
		exit->stub.offset += ++f->placed * CALLTRACE_STUB_SIZE;
		if (!write_exit(exit)) {
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
 * calltrace_blocks_make() - make a stub for each entry and each exit
 * @choice: the functions and their exits
 * @report: report of the error
 *
 * If a stub would not reach its function or target, the function is not traced, with
 * %CALLTRACE_FAR as the reason.
 *
 * Return: 0 or an error; the caller frees the blocks made so far.
 */
int calltrace_blocks_make(struct calltrace_choice *choice,
			  struct fhook_report *report)
{
	struct calltrace_block *block;
	int err;

	lockdep_assert_held(&fhook_mutex);
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

/* Announce the code in parts, as a change from nothing, or to nothing. */
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
 * calltrace_blocks_announce() - notify perf, which needs the code to decode traces
 * @choice: choice with the blocks
 * @gone: the blocks are being freed
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
 * calltrace_blocks_free() - free blocks in which no CPU is running
 * @choice: choice with the blocks
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
 * struct found - result of looking up an address in the blocks
 * @choice: the choice, NULL if the address is in no block
 * @block: the block
 * @offset: offset in the block, in bytes
 * @owner: as in &calltrace_block.owners
 */
struct found {
	const struct calltrace_choice	*choice;
	const struct calltrace_block	*block;
	u32				offset;
	u32				owner;
};

/* Find the stub of an address. Any context, with preemption disabled. */
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
 * calltrace_is_stub() - check whether an address is in a trace block
 * @addr: any address
 *
 * Any context.
 *
 * Return: true if the address is in a trace block.
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
 * calltrace_resolve_stub() - resolve a stub of an entry to its function
 * @addr: any address
 *
 * Any context.
 *
 * Return: the address after the function's slot; @addr if it is not in such a stub.
 */
unsigned long calltrace_resolve_stub(unsigned long addr)
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
 * calltrace_address_lookup() - find the name of a stub
 * @addr: any address
 * @size: set to the length of the stub in bytes
 * @offset: set to the offset of @addr in the stub
 * @name: set to its name, buffer of KSYM_NAME_LEN bytes
 *
 * The name is that of the stub's function, so that stack traces show it; outside of
 * stubs of functions, it is that of the block. Any context, with preemption disabled.
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
 * calltrace_get_kallsym() - list the blocks
 * @num: index, from 0; reduced by the number of blocks if it is not found
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
