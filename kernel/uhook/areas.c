// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: areas, the mappings that slots and bodies are in.
 *
 * An area is a special mapping named [uhook] within reach of its sites; the
 * program may read and execute it, and it is sealed: it can neither be moved,
 * unmapped nor changed. The kernel writes it through its own mapping. Bodies
 * write to a second mapping behind the first, which is shared memory of this
 * process alone.
 *
 * Slots are one process's, and a child does not have them: it is made in a system call,
 * which no slot holds, and what has come out of a slot with its registers shown (a signal,
 * a tracer) is at the program's address. So nothing in the child leads there, and it finds
 * its sites anew.
 *
 * Addresses of bodies are in jumps and on stacks. So a child has its parent's areas of
 * bodies at the same addresses, the same memory, and the code in them serves both: what it
 * does depends on an address and bytes, not on the process. What bodies write to is each
 * process's own. As long as such an area has several owners nothing is added to it, which
 * might tell one of them, or make executable there, what is the other's alone. It goes with
 * the last of them.
 *
 * Areas are found by address without a lock: an array of them only grows, and goes when
 * nobody runs in the address space. So are the slots in them, whose tables are made with
 * the pages.
 *
 * IPCOM000199322's memory of the process that holds "original, jump", and the
 * page of US9336001; mainline's counterpart is the xol area of uprobes.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "areas.h"
#include "data.h"
#include "text.h"

static_assert(UHOOK_COPY_MAX <= UHOOK_SLOT_SIZE);
static_assert(UHOOK_CODE_SIZE / UHOOK_SLOT_SIZE <= U16_MAX);
/* Each body has a counter in each lane. */
static_assert(UHOOK_CODE_SIZE / UHOOK_BODY_SIZE * sizeof(u64) <= UHOOK_LANE_SIZE);
/* If the area is aligned to the size of the lanes, the lanes are. */
static_assert(UHOOK_CODE_SIZE == UHOOK_LANES_SIZE);

static unsigned long area_size(enum uhook_area_kind kind)
{
	return UHOOK_CODE_SIZE + uhook_data_size(kind);
}

/* The area whose code is at an address, or NULL. */
struct uhook_area *uhook_area_at(const struct uhook_mm *um, unsigned long addr)
{
	/* Pairs with map_area(). */
	unsigned int i, nr = smp_load_acquire(&um->nr_areas);

	for (i = 0; i < nr; i++) {
		if (addr - um->areas[i]->vaddr < UHOOK_CODE_SIZE)
			return um->areas[i];
	}

	return NULL;
}

static unsigned int number_at(const struct uhook_area *area, unsigned long addr)
{
	return (addr - area->vaddr) / uhook_slot_size(area->kind);
}

/**
 * uhook_slot_at - what is known of the code at an address
 * @area: the area that the address is in
 * @addr: the address
 *
 * Context: any, NMI too, while somebody uses the address space.
 * Return: it, or NULL if there is nothing yet in the page.
 */
const struct uhook_slot *uhook_slot_at(const struct uhook_area *area, unsigned long addr)
{
	unsigned long i = array_index_nospec((addr - area->vaddr) >> PAGE_SHIFT,
					     ARRAY_SIZE(area->slots));
	const struct uhook_slot *slots;

	/* Pairs with make_tables(). */
	slots = smp_load_acquire(&area->slots[i]);

	return slots ? &slots[offset_in_page(addr) / uhook_slot_size(area->kind)] : NULL;
}

/**
 * uhook_body_at - what is known of a body
 * @um: of the address space
 * @addr: the body's address
 * @slot: receives its place and instruction
 *
 * Context: any, while somebody uses the address space; &uhook_body.set changes with
 * &uhook_mm.counts held, and is freed after a grace period of RCU.
 * Return: it.
 */
struct uhook_body *uhook_body_at(const struct uhook_mm *um, unsigned long addr,
				 const struct uhook_slot **slot)
{
	struct uhook_area *area = uhook_area_at(um, addr);
	unsigned int nr = number_at(area, addr);

	*slot = uhook_slot_nr(area, nr);

	return uhook_body_nr(area, nr);
}

/**
 * uhook_site_of - the site that a slot or body belongs to
 * @um: of the address space
 * @addr: its address, or any in it
 *
 * Context: any, NMI too, while somebody uses the address space.
 * Return: the site's address, or 0 if there is no slot or body.
 */
unsigned long uhook_site_of(const struct uhook_mm *um, unsigned long addr)
{
	const struct uhook_area *area = uhook_area_at(um, addr);
	const struct uhook_slot *slot = area ? uhook_slot_at(area, addr) : NULL;

	/* Pairs with enter_slot(). */
	return slot ? smp_load_acquire(&slot->site) : 0;
}

static struct page *page_at(const struct uhook_mm *um, unsigned long addr)
{
	const struct uhook_area *area = uhook_area_at(um, addr);

	/* Pairs with uhook_make_text_page(). */
	return area ? smp_load_acquire(&area->pages[(addr - area->vaddr) >> PAGE_SHIFT]) : NULL;
}

static const struct uhook_text code_text = UHOOK_TEXT(page_at);

static int install_code(struct mm_struct *mm, const struct uhook_area *area)
{
	return uhook_map_text(mm, &code_text, area->vaddr, UHOOK_CODE_SIZE,
			      uhook_has_bodies(area->kind) ? 0 : VM_DONTCOPY);
}

static int install_mappings(struct mm_struct *mm, const struct uhook_area *area)
{
	unsigned long data = area->vaddr + UHOOK_CODE_SIZE;
	unsigned long size = uhook_data_size(area->kind);
	int ret;

	if (!size)
		return install_code(mm, area);

	ret = uhook_map_data(data, size);
	if (ret)
		return ret;

	ret = install_code(mm, area);
	if (ret)
		do_munmap(mm, data, size, NULL);
	else
		vm_flags_set(vma_lookup(mm, data), VM_SEALED);

	return ret;
}

/* With the mmap lock held for writing. */
static enum uhook_verdict map_area(struct uhook_mm *um, struct uhook_area *area,
				   const struct uhook_near *near)
{
	const struct uhook_gap gap = {
		.near		= near->site,
		.size		= area_size(area->kind),
		/* For the lanes: uhook_count_code(). */
		.align_mask	= uhook_has_bodies(area->kind) ? UHOOK_LANES_SIZE - 1 : 0,
		.fits		= near->fits,
		.data		= near->data,
	};
	struct mm_struct *mm = current->mm;

	mmap_assert_write_locked(mm);
	area->vaddr = mm->map_count + 1 < sysctl_max_map_count ? uhook_find_gap(mm, &gap) : 0;
	if (!area->vaddr)
		return UHOOK_NO_GAP;

	if (uhook_has_bodies(area->kind) && uhook_add_data(um, um->nr_areas, GFP_UHOOK))
		return UHOOK_NO_MEMORY;
	if (install_mappings(mm, area))
		return UHOOK_NO_MEMORY;

	um->nr_kind[area->kind]++;
	um->areas[um->nr_areas] = area;
	/* Whoever sees the number sees the area: uhook_area_at(). */
	smp_store_release(&um->nr_areas, um->nr_areas + 1);
	if (uhook_has_bodies(area->kind))
		uhook_start_counting(um);

	return UHOOK_GRANTED;
}

/**
 * uhook_add_area - one more area for a process
 * @um: current's
 * @kind: what shall be in it
 * @near: the instruction that it is for
 * @made: receives the area
 *
 * Context: task, with @um->lock and the mmap lock for writing held.
 * Return: the verdict: UHOOK_FULL if the process has all the areas that it may have,
 * UHOOK_NO_GAP, UHOOK_NO_MEMORY.
 */
enum uhook_verdict uhook_add_area(struct uhook_mm *um, enum uhook_area_kind kind,
				  const struct uhook_near *near, struct uhook_area **made)
{
	enum uhook_verdict verdict;
	struct uhook_area *area;

	lockdep_assert_held(&um->lock);
	if (um->nr_kind[kind] == UHOOK_MAX_AREAS)
		return UHOOK_FULL;

	area = kzalloc(sizeof(*area), GFP_UHOOK);
	if (!area)
		return UHOOK_NO_MEMORY;

	refcount_set(&area->ref, 1);
	area->kind = kind;
	mutex_init(&area->lock);
	verdict = map_area(um, area, near);
	if (verdict)
		kfree(area);
	else
		*made = area;

	return verdict;
}

static void put_sets(struct uhook_area *area)
{
	struct uhook_set *set;
	unsigned int i;

	/* There is none where code of handlers is. */
	for (i = 0; i < area->used; i++) {
		/* Nobody has the area any more. */
		set = rcu_dereference_protected(uhook_body_nr(area, i)->set, true);
		if (set)
			uhook_put_set(set);
	}
	for (i = 0; i < area->nr_codes; i++)
		uhook_put_counter(area->codes[i].counter);
}

static void free_area(struct uhook_area *area)
{
	unsigned int i;

	if (uhook_has_bodies(area->kind))
		put_sets(area);
	for (i = 0; i < UHOOK_AREA_PAGES; i++) {
		if (area->pages[i])
			put_page(area->pages[i]);
		kvfree(area->slots[i]);
		kvfree(area->bodies[i]);
	}
	kfree(area);
}

/* What is known of the slots of a page; it is found without a lock. */
static int make_tables(struct uhook_area *area, unsigned int i)
{
	unsigned int nr = uhook_page_slots(area->kind);
	struct uhook_body *bodies = NULL;
	struct uhook_slot *slots;

	if (area->slots[i])
		return 0;

	slots = kvcalloc(nr, sizeof(*slots), GFP_UHOOK);
	if (uhook_has_bodies(area->kind))
		bodies = kvcalloc(nr, sizeof(*bodies), GFP_UHOOK);
	if (!slots || (uhook_has_bodies(area->kind) && !bodies)) {
		kvfree(bodies);
		kvfree(slots);
		return -ENOMEM;
	}

	area->bodies[i] = bodies;
	/* Pairs with uhook_slot_at(). */
	smp_store_release(&area->slots[i], slots);

	return 0;
}

/**
 * uhook_make_page - the next page of an area
 * @area: whose pages before are full; its lock is held
 * @i: which
 *
 * Return: 0, also if there is one already, or -ENOMEM.
 */
int uhook_make_page(struct uhook_area *area, unsigned int i)
{
	lockdep_assert_held(&area->lock);

	return make_tables(area, i) ?: uhook_make_text_page(&area->pages[i]);
}

/* One more process has an area of bodies. */
static int share_area(const struct uhook_mm *from, unsigned int i, struct uhook_mm *to)
{
	struct uhook_area *area = from->areas[i];
	unsigned int nr = to->nr_areas;

	/* Of a fork, which is not to fail for what it can wait for */
	if (uhook_add_data(to, nr, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	if (area->kind == UHOOK_LONG_BODIES && uhook_copy_stacks(from->data[i], to->data[nr]))
		return -ENOMEM;

	/* Nothing is being added that the child should not have. */
	mutex_lock(&area->lock);
	refcount_inc(&area->ref);
	mutex_unlock(&area->lock);
	to->areas[nr] = area;
	to->nr_kind[area->kind]++;
	to->nr_areas = nr + 1;

	return 0;
}

/**
 * uhook_dup_areas - decide what a child has of its parent's areas
 * @from: the parent's
 *
 * Context: with the parent's mmap lock held for writing, which keeps areas from being added.
 * Return: whether it has any.
 */
bool uhook_dup_areas(const struct uhook_mm *from)
{
	unsigned int i;

	mmap_assert_write_locked(from->mm);
	for (i = 0; i < from->nr_areas; i++) {
		enum uhook_area_kind kind = from->areas[i]->kind;

		uhook_keep_in_children(from->mm, from->areas[i]->vaddr, area_size(kind),
				       uhook_has_bodies(kind));
	}

	return uhook_has_jumps(from);
}

/**
 * uhook_share_areas - give a child its parent's bodies
 * @from: the parent's
 * @to: the child's, which nobody else knows yet
 *
 * Context: as uhook_dup_areas().
 * Return: 0 or -ENOMEM.
 */
int uhook_share_areas(const struct uhook_mm *from, struct uhook_mm *to)
{
	unsigned int i;

	mmap_assert_write_locked(from->mm);
	for (i = 0; i < from->nr_areas; i++) {
		if (uhook_has_bodies(from->areas[i]->kind) && share_area(from, i, to))
			return -ENOMEM;
	}
	to->functions = from->functions;
	to->breaks = from->breaks;
	to->before_rseq = READ_ONCE(from->before_rseq);
	if (uhook_has_jumps(to))
		uhook_start_counting(to);

	return 0;
}

/**
 * uhook_put_areas - let go of all areas of an address space that nobody uses
 * @um: its
 */
void uhook_put_areas(struct uhook_mm *um)
{
	unsigned int i;

	for (i = 0; i < um->nr_areas; i++) {
		if (refcount_dec_and_test(&um->areas[i]->ref))
			free_area(um->areas[i]);
	}
}
