// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: stacks of handlers.
 *
 * A handler that is a function runs on a stack from the pool of its area, see
 * uhook_gate.h. For signals and fork(), the kernel uses the program's stack pointer
 * instead of the handler's: it decides whether a signal handler nests on the alternate
 * stack, and a child continues where its parent was.
 *
 * The program writes the pool, and may write anything. So its contents are only used to
 * choose a stack for the program's own signals, and to copy stacks for its child.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/uhook_ring.h>

#include "areas.h"
#include "data.h"

#define POOL_PAGE	(UHOOK_POOL_AT / PAGE_SIZE)
#define STACK_PAGES	(UHOOK_STACK_SIZE / PAGE_SIZE)

/*
 * The first page of a pool, as gates use it: the owner of each stack, and the address of
 * the saved registers.
 */
struct pool {
	u64 owners[UHOOK_STACKS];
	u64 frames[UHOOK_STACKS];
};

/**
 * uhook_program_sp - get the stack pointer of the program
 * @sp: stack pointer of current
 *
 * Context: task.
 * Return: if @sp is in a stack of the pool, an address on the program's stack at the
 * site; otherwise @sp.
 */
unsigned long uhook_program_sp(unsigned long sp)
{
	const struct uhook_mm *um = uhook_mm_of(current->mm);
	const struct pool *pool;
	unsigned int i, nr;

	if (likely(!um))
		return sp;

	/* Pairs with map_area(). */
	nr = smp_load_acquire(&um->nr_areas);
	for (i = 0; i < nr; i++) {
		const struct uhook_area *area = um->areas[i];
		unsigned long stacks = area->vaddr + UHOOK_CODE_SIZE + UHOOK_POOL_AT + PAGE_SIZE;
		/* The stack pointer of an empty stack is at its end. */
		unsigned long at = sp - 1 - stacks;

		if (area->kind != UHOOK_LONG_BODIES || at >= UHOOK_STACKS * UHOOK_STACK_SIZE)
			continue;
		pool = uhook_data_at(um->data[i], UHOOK_POOL_AT);
		at = array_index_nospec(at / UHOOK_STACK_SIZE, UHOOK_STACKS);

		return (pool ? READ_ONCE(pool->frames[at]) : 0) ?: sp;
	}

	return sp;
}

static int copy_pages(const struct uhook_data *from, struct uhook_data *to, unsigned int first,
		      unsigned int nr)
{
	unsigned int i;

	for (i = first; i < first + nr; i++) {
		void *page = uhook_data_at(from, i * PAGE_SIZE);

		if (!page)
			continue;
		if (uhook_make_data_page(&to->pages[i]))
			return -ENOMEM;
		copy_page(page_address(to->pages[i]), page);
	}

	return 0;
}

/**
 * uhook_copy_stacks - copy the forking thread's stacks for a child
 * @from: data of an area with stacks, in the parent
 * @to: data of the area in the child, empty
 *
 * The thread may fork in a handler, or in a signal handler that interrupted one. Stacks
 * of other threads are free in the child.
 *
 * Context: task, in the forking thread; sleeps.
 * Return: 0 or -ENOMEM.
 */
int uhook_copy_stacks(const struct uhook_data *from, struct uhook_data *to)
{
	const u64 own = uhook_thread_of(current) ?: 1;
	const struct pool *pool = uhook_data_at(from, UHOOK_POOL_AT);
	struct pool *copy;
	unsigned int i;

	if (!pool)
		return 0;
	for (i = 0; i < UHOOK_STACKS; i++) {
		if (READ_ONCE(pool->owners[i]) != own)
			continue;
		if (uhook_make_data_page(&to->pages[POOL_PAGE]))
			return -ENOMEM;
		copy = uhook_data_at(to, UHOOK_POOL_AT);
		copy->owners[i] = own;
		copy->frames[i] = READ_ONCE(pool->frames[i]);
		if (copy_pages(from, to, POOL_PAGE + 1 + i * STACK_PAGES, STACK_PAGES))
			return -ENOMEM;
	}

	return 0;
}
