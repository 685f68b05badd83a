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
 * nobody runs in the address space.
 *
 * IPCOM000199322's memory of the process that holds "original, jump", and the
 * page of US9336001; mainline's counterpart is the xol area of uprobes.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/security.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "internal.h"

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

static vm_fault_t code_fault(const struct vm_special_mapping *sm, struct vm_area_struct *vma,
			     struct vm_fault *vmf)
{
	struct uhook_mm *um = uhook_mm_of(vma->vm_mm);
	struct uhook_area *area = um ? uhook_area_at(um, vmf->address) : NULL;
	struct page *page = NULL;

	if (area) {
		unsigned long i = (vmf->address - area->vaddr) >> PAGE_SHIFT;

		/* Pairs with uhook_make_page(). */
		page = smp_load_acquire(&area->pages[i]);
	}
	if (!page)
		return VM_FAULT_SIGBUS;

	vmf->page = page;
	get_page(vmf->page);

	return 0;
}

/* For all, and never freed: mappings outlast what is known of them. */
static const struct vm_special_mapping code_mapping = {
	.name	= "[uhook]",
	.fault	= code_fault,
};

static unsigned long gap_between(enum uhook_area_kind kind, unsigned long low,
				 unsigned long high, unsigned long flags)
{
	struct vm_unmapped_area_info info = {
		.flags		= flags,
		.length		= area_size(kind),
		.low_limit	= PAGE_ALIGN(low),
		.high_limit	= high & PAGE_MASK,
		/* For the lanes: uhook_count_code(). */
		.align_mask	= uhook_has_bodies(kind) ? UHOOK_LANES_SIZE - 1 : 0,
	};

	if (info.low_limit >= info.high_limit || info.high_limit - info.low_limit < info.length)
		return -ENOMEM;

	return vm_unmapped_area(&info);
}

static bool is_near(const struct uhook_wanted *w, unsigned long addr)
{
	return !IS_ERR_VALUE(addr) && !uhook_try_slot(w, addr);
}

/*
 * The nearest gap below the site, where nothing grows: heaps and the segments
 * of an object that is being loaded come above. Only when there is none, above: the
 * heap as well, if it is there, and before it if it leaves no room in reach.
 */
static unsigned long find_gap(struct mm_struct *mm, enum uhook_area_kind kind,
			      const struct uhook_wanted *w)
{
	unsigned long lowest = max(PAGE_SIZE, mmap_min_addr);
	unsigned long low, high, gap;

	low = w->site > UHOOK_REACH + lowest ? w->site - UHOOK_REACH : lowest;
	gap = gap_between(kind, low, w->site, VM_UNMAPPED_AREA_TOPDOWN);
	if (is_near(w, gap))
		return gap;

	high = min(w->site + UHOOK_REACH, mm->task_size);
	if (w->site < uhook_stack_floor(mm))
		high = min(high, uhook_stack_floor(mm));
	low = mm->brk > w->site && mm->brk < high ? mm->brk + SZ_64M : w->site;
	gap = gap_between(kind, low, high, 0);
	if (!is_near(w, gap))
		gap = gap_between(kind, w->site, min(high, mm->start_brk), 0);

	return is_near(w, gap) ? gap : -ERANGE;
}

static int install_code(struct mm_struct *mm, const struct uhook_area *area)
{
	const vm_flags_t copied = uhook_has_bodies(area->kind) ? 0 : VM_DONTCOPY;
	struct vm_area_struct *vma;

	vma = _install_special_mapping(mm, area->vaddr, UHOOK_CODE_SIZE,
				       VM_READ | VM_EXEC | VM_MAYREAD | VM_MAYEXEC | VM_SEALED |
				       copied, &code_mapping);

	return PTR_ERR_OR_ZERO(vma);
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
static int map_area(struct uhook_mm *um, struct uhook_area *area, const struct uhook_wanted *w)
{
	struct mm_struct *mm = current->mm;
	int ret;

	area->vaddr = mm->map_count + 1 < sysctl_max_map_count ? find_gap(mm, area->kind, w) :
								 -ERANGE;
	if (IS_ERR_VALUE(area->vaddr))
		return area->vaddr;

	ret = uhook_has_bodies(area->kind) ? uhook_add_data(um, um->nr_areas, GFP_UHOOK) : 0;
	ret = ret ?: install_mappings(mm, area);
	if (ret)
		return ret;

	um->nr_kind[area->kind]++;
	um->areas[um->nr_areas] = area;
	/* Whoever sees the number sees the area: uhook_area_at(). */
	smp_store_release(&um->nr_areas, um->nr_areas + 1);
	if (uhook_has_bodies(area->kind))
		uhook_start_counting(um);

	return 0;
}

/**
 * uhook_add_area - one more area for a process
 * @um: current's
 * @kind: what shall be in it
 * @w: what it shall be within reach of
 *
 * Context: task, with @um->lock and the mmap lock for writing held.
 * Return: the area; or an error, as uhook_take_slot().
 */
struct uhook_area *uhook_add_area(struct uhook_mm *um, enum uhook_area_kind kind,
				  const struct uhook_wanted *w)
{
	struct uhook_area *area;
	int ret;

	if (um->nr_kind[kind] == UHOOK_MAX_AREAS)
		return ERR_PTR(-ENOSPC);

	area = kzalloc(sizeof(*area), GFP_UHOOK);
	if (!area)
		return ERR_PTR(-ENOMEM);

	refcount_set(&area->ref, 1);
	area->kind = kind;
	mutex_init(&area->lock);
	ret = map_area(um, area, w);
	if (ret) {
		kfree(area);
		return ERR_PTR(ret);
	}

	return area;
}

static void put_sets(struct uhook_area *area)
{
	unsigned int i;

	/* There is none where code of handlers is. */
	for (i = 0; i < area->used; i++) {
		if (uhook_body_nr(area, i)->set)
			uhook_put_set(uhook_body_nr(area, i)->set);
	}
	for (i = 0; i < area->nr_codes; i++)
		uhook_put_counter(area->codes[i].counter);
}

static void free_area(struct uhook_area *area)
{
	unsigned int i;

	if (uhook_has_bodies(area->kind))
		put_sets(area);
	for (i = 0; i < UHOOK_AREA_PAGES && area->pages[i]; i++) {
		put_page(area->pages[i]);
		kvfree(area->slots[i]);
		kvfree(area->bodies[i]);
	}
	kfree(area);
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
	unsigned int nr = uhook_page_slots(area->kind);
	struct uhook_body *bodies = NULL;
	struct uhook_slot *slots;
	struct page *page;

	if (area->pages[i])
		return 0;

	slots = kvcalloc(nr, sizeof(*slots), GFP_UHOOK);
	if (uhook_has_bodies(area->kind))
		bodies = kvcalloc(nr, sizeof(*bodies), GFP_UHOOK);
	page = alloc_page(GFP_UHOOK | __GFP_ZERO);
	if (!slots || !page || (uhook_has_bodies(area->kind) && !bodies)) {
		if (page)
			put_page(page);
		kvfree(bodies);
		kvfree(slots);
		return -ENOMEM;
	}

	area->bodies[i] = bodies;
	/* Faults and translations look without a lock. */
	smp_store_release(&area->slots[i], slots);
	/* The same. */
	smp_store_release(&area->pages[i], page);

	return 0;
}

/**
 * uhook_keep_in_children - will a child have mappings, too?
 * @mm: of the parent, with its mmap lock held for writing
 * @start: where they begin
 * @size: how long they are, in bytes
 * @keep: whether it will
 *
 * The program may have asked for something else, with madvise().
 */
void uhook_keep_in_children(struct mm_struct *mm, unsigned long start, unsigned long size,
			    bool keep)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	mmap_assert_write_locked(mm);
	for_each_vma_range(vmi, vma, start + size) {
		if (!(vma->vm_flags & VM_DONTCOPY) == keep)
			continue;
		if (keep)
			vm_flags_clear(vma, VM_DONTCOPY);
		else
			vm_flags_set(vma, VM_DONTCOPY);
	}
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
