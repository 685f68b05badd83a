// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the stacks of handlers, as the kernel sees them.
 *
 * A handler that is a function runs on a stack of the pool of its area, see
 * uhook_gate.h. For signals and for fork() that stack is in the place of the one that the
 * program has: whether a signal's handler nests on the alternate stack depends on
 * the program's, and a child goes on where its parent was.
 *
 * What the pool says is written by the program, which may make up anything: nothing is
 * done with it but to choose a stack for its own signals, and to give its child what it has.
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

/* As gates have them: who owns a stack, and where its registers are. */
struct pool {
	u64 owners[UHOOK_STACKS];
	u64 frames[UHOOK_STACKS];
};

/**
 * uhook_program_sp - where the stack pointer of the program is
 * @sp: current's stack pointer
 *
 * Context: task.
 * Return: if it is in a handler's stack, an address on the stack that the program has at
 * the site; otherwise @sp.
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
		/* An empty stack's pointer is at its end. */
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
 * uhook_copy_stacks - a child has the stacks of the thread that forks
 * @from: the parent's data of an area with stacks
 * @to: the child's, with nothing in it
 *
 * It may be in a handler, or in that of a signal which has come in between. Other
 * threads' stacks are nobody's there.
 *
 * Context: current is the thread; sleeps.
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
