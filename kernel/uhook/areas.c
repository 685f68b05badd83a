// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: areas, the mappings of slots and bodies.
 *
 * An area is a special mapping named [uhook] within reach of its sites. The program may
 * read and execute it, and it is sealed: it cannot be moved, unmapped or changed. The
 * kernel writes it through the kernel's own mapping. Bodies write to a second mapping
 * after the first, which is shared memory between this process and the kernel.
 *
 * Slots belong to one process and are not inherited. A fork happens in a system call, and
 * no slot holds a system call; a task that has left a slot with its registers visible
 * (for a signal or a tracer) is at an address of the program. So nothing in the child
 * leads to the parent's slots, and the child finds its sites anew.
 *
 * Addresses of bodies are in jumps and on stacks. So a child has its parent's areas of
 * bodies at the same addresses and in the same pages. The code serves both, because it
 * depends on addresses and bytes only, not on the process. Each process has its own data
 * pages for the bodies. While an area has several owners nothing is added to it: an
 * addition could disclose data of one owner to another, or become executable there. The
 * area is freed with its last owner.
 *
 * Areas are found by address without a lock: the array of areas only grows, and is freed
 * when no task runs in the address space. The same is true of the slots in them, whose
 * tables are allocated with the pages.
 *
 * IPCOM000199322 describes memory of the process that holds "original, jump", US9336001
 * the page; mainline's counterpart is the xol area of uprobes.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/hook_base_mm.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "areas.h"
#include "handlers.h"
#include "text.h"

static_assert(UHOOK_COPY_MAX <= UHOOK_SLOT_SIZE);
static_assert(UHOOK_CODE_SIZE / UHOOK_SLOT_SIZE <= U16_MAX);

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
 * uhook_slot_at - slot at an address
 * @area: area that contains the address
 * @addr: the address
 *
 * Context: any, also NMI, while the address space is in use.
 * Return: the slot, or NULL if its page has not been allocated.
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
 * uhook_body_at - body at an address
 * @um: state of the address space
 * @addr: address of the body
 * @slot: receives the slot with its site and instruction
 *
 * Context: any, while the address space is in use; &uhook_body.set changes with
 * &uhook_mm.counts held, and is freed after an RCU grace period.
 * Return: the body.
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
 * @um: state of the address space
 * @addr: an address in the slot or body
 *
 * Context: any, also NMI, while the address space is in use.
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
	/* As for the slots of uprobes, VM_IO refuses MADV_DOFORK. */
	return uhook_map_text(mm, &code_text, area->vaddr, UHOOK_CODE_SIZE,
			      uhook_has_bodies(area->kind) ? 0 : VM_DONTCOPY | VM_IO);
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
		/* uhook_count_code() needs aligned lanes, which are as long as the code. */
		.align_mask	= uhook_has_bodies(area->kind) ? UHOOK_CODE_SIZE - 1 : 0,
		.fits		= near->fits,
		.data		= near->data,
	};
	struct mm_struct *mm = current->mm;

	mmap_assert_write_locked(mm);
	area->vaddr = mm->map_count + 1 < get_sysctl_max_map_count() ? uhook_find_gap(mm, &gap) : 0;
	if (!area->vaddr)
		return UHOOK_NO_GAP;

	/* Slots are short, and programs at their limit need them, too. */
	if (uhook_has_bodies(area->kind) && !uhook_leaves_room(mm, gap.size))
		return UHOOK_NO_MEMORY;
	if (uhook_has_bodies(area->kind) && uhook_add_data(um, um->nr_areas, GFP_UHOOK))
		return UHOOK_NO_MEMORY;
	if (install_mappings(mm, area))
		return UHOOK_NO_MEMORY;

	um->nr_kind[area->kind]++;
	um->areas[um->nr_areas] = area;
	/* Publish the area before the number: uhook_area_at(). */
	smp_store_release(&um->nr_areas, um->nr_areas + 1);
	if (uhook_has_bodies(area->kind))
		uhook_start_counting(um);

	return UHOOK_GRANTED;
}

/**
 * uhook_add_area - add an area to a process
 * @um: state of current's address space
 * @kind: contents of the area
 * @near: instruction that needs the area
 *
 * Context: task, with @um->lock and the mmap lock for writing held.
 * Return: the verdict: UHOOK_FULL if the process has the maximum number of areas,
 * UHOOK_NO_GAP or UHOOK_NO_MEMORY.
 */
enum uhook_verdict uhook_add_area(struct uhook_mm *um, enum uhook_area_kind kind,
				  const struct uhook_near *near)
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

	return verdict;
}

static void free_area(struct uhook_area *area)
{
	unsigned int i;

	if (uhook_has_bodies(area->kind))
		uhook_put_bodies(area);
	for (i = 0; i < UHOOK_AREA_PAGES; i++) {
		if (area->pages[i])
			put_page(area->pages[i]);
		kvfree(area->slots[i]);
		kvfree(area->bodies[i]);
	}
	kfree(area);
}

/* The tables of a page; readers find them without a lock. */
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
 * uhook_make_page - allocate the next page of an area
 * @area: area whose earlier pages are full; its lock is held
 * @i: index of the page
 *
 * Return: 0, also if the page exists already, or -ENOMEM.
 */
int uhook_make_page(struct uhook_area *area, unsigned int i)
{
	lockdep_assert_held(&area->lock);

	return make_tables(area, i) ?: uhook_make_text_page(&area->pages[i]);
}

/**
 * uhook_put_areas - drop all areas of an address space without users
 * @um: state of the address space
 */
void uhook_put_areas(struct uhook_mm *um)
{
	unsigned int i;

	for (i = 0; i < um->nr_areas; i++) {
		if (refcount_dec_and_test(&um->areas[i]->ref))
			free_area(um->areas[i]);
	}
}
