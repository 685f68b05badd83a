// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: slots, and the mappings that they are in.
 *
 * A slot is code for an address and the instruction there: the copy of the
 * instruction and a jump to the next one. Slots of a process are in areas,
 * special mappings named [uhook] within reach of the sites; the program may
 * read and execute them, and they are sealed: it can neither move, unmap nor
 * change them. The kernel writes them through its own mapping.
 *
 * A slot is written before anybody learns of its address, and never changes
 * after that: no task can be parked in a slot that becomes another one. What a
 * site needs when its instruction has changed is another slot.
 *
 * A child has its parent's areas at the same addresses, the same memory, and
 * the slots in them serve both: what a slot does depends on an address and
 * bytes, not on the process. As long as an area has several owners no slot is
 * added to it, which might tell one of them, or make executable there, what is
 * the other's alone. It goes with the last of them. Areas are found by address
 * without a lock: an array of them only grows, and goes when nobody runs in the
 * address space.
 *
 * IPCOM000199322's memory of the process that holds "original, jump", and the
 * page of US9336001; mainline's counterpart is the xol area of uprobes.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/security.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uhook_relocate.h>
#include <linux/uprobes.h>

#include "internal.h"

#define AREA_SIZE	(UHOOK_AREA_PAGES * PAGE_SIZE)
#define PAGE_SLOTS	(PAGE_SIZE / UHOOK_SLOT_SIZE)
#define AREA_SLOTS	(UHOOK_AREA_PAGES * PAGE_SLOTS)
#define BUCKET_BITS	8

static_assert(UHOOK_COPY_MAX <= UHOOK_SLOT_SIZE);
static_assert(AREA_SLOTS <= U16_MAX);

/**
 * struct slot - what is known of a slot
 * @site: the address that its copy comes from; 0 if it is not taken
 * @next: the next one of its bucket, or 0; the first slot is 1
 * @insn_len: the length of the instruction there, in bytes
 * @copy_len: that of the copy
 */
struct slot {
	unsigned long	site;
	u16		next;
	u8		insn_len;
	u8		copy_len;
};

/**
 * struct uhook_area - a mapping, in one process or in several that forked
 * @ref: how many address spaces have it
 * @lock: held while a slot is looked for or taken, and while owners are added
 * @vaddr: where it is, in all of them
 * @used: how many slots are taken, the first ones
 * @buckets: the slots by the hash of their site, as &slot.next
 * @pages: the memory; a page is made when the first slot in it is taken
 * @slots: what is in each page
 */
struct uhook_area {
	refcount_t	ref;
	struct mutex	lock;	/* slots, and owners, are added with it */
	unsigned long	vaddr;
	unsigned int	used;
	u16		buckets[1 << BUCKET_BITS];
	struct page	*pages[UHOOK_AREA_PAGES];
	struct slot	*slots[UHOOK_AREA_PAGES];
};

static struct uhook_area *area_at(const struct uhook_mm *um, unsigned long addr)
{
	/* Pairs with add_area(). */
	unsigned int i, nr = smp_load_acquire(&um->nr_areas);

	for (i = 0; i < nr; i++) {
		if (addr - um->areas[i]->vaddr < AREA_SIZE)
			return um->areas[i];
	}

	return NULL;
}

/* What is known of the slot number NR; its page exists. */
static struct slot *slot_nr(const struct uhook_area *area, unsigned int nr)
{
	return &area->slots[nr / PAGE_SLOTS][nr % PAGE_SLOTS];
}

static unsigned long slot_addr(const struct uhook_area *area, unsigned int nr)
{
	return area->vaddr + nr * UHOOK_SLOT_SIZE;
}

static vm_fault_t area_fault(const struct vm_special_mapping *sm, struct vm_area_struct *vma,
			     struct vm_fault *vmf)
{
	struct uhook_mm *um = uhook_mm_of(vma->vm_mm);
	struct uhook_area *area = um ? area_at(um, vmf->address) : NULL;
	struct page *page = NULL;

	if (area) {
		unsigned long i = (vmf->address - area->vaddr) >> PAGE_SHIFT;

		/* Pairs with make_page(). */
		page = smp_load_acquire(&area->pages[i]);
	}
	if (!page)
		return VM_FAULT_SIGBUS;

	vmf->page = page;
	get_page(vmf->page);

	return 0;
}

/* One for all, which is never freed: mappings outlast what is known of them. */
static const struct vm_special_mapping area_mapping = {
	.name	= "[uhook]",
	.fault	= area_fault,
};

static unsigned long gap_between(unsigned long low, unsigned long high, unsigned long flags)
{
	struct vm_unmapped_area_info info = {
		.flags		= flags,
		.length		= AREA_SIZE,
		.low_limit	= PAGE_ALIGN(low),
		.high_limit	= high & PAGE_MASK,
	};

	if (info.low_limit >= info.high_limit || info.high_limit - info.low_limit < AREA_SIZE)
		return -ENOMEM;

	return vm_unmapped_area(&info);
}

/**
 * struct wanted - what a slot is looked for
 * @site: the address of the instruction
 * @insn: its bytes, without a breakpoint
 * @size: how many may be read there, in bytes
 */
struct wanted {
	unsigned long	site;
	const void	*insn;
	size_t		size;
};

static int relocate_to(const struct wanted *w, unsigned long addr, struct uhook_copy *copy)
{
	return uhook_relocate(w->insn, w->size, w->site, addr, copy);
}

/* Could the slots of an area there do it? */
static bool is_near(const struct wanted *w, unsigned long addr)
{
	struct uhook_copy copy;

	return !IS_ERR_VALUE(addr) && !relocate_to(w, addr, &copy) &&
	       !relocate_to(w, addr + AREA_SIZE - UHOOK_SLOT_SIZE, &copy);
}

/*
 * The nearest gap below the site, where nothing grows: heaps and the segments
 * of an object that is being loaded come above. Only when there is none, above.
 */
static unsigned long find_gap(struct mm_struct *mm, const struct wanted *w)
{
	unsigned long lowest = max(PAGE_SIZE, mmap_min_addr);
	unsigned long low, high, gap;

	low = w->site > UHOOK_REACH + lowest ? w->site - UHOOK_REACH : lowest;
	gap = gap_between(low, w->site, VM_UNMAPPED_AREA_TOPDOWN);
	if (is_near(w, gap))
		return gap;

	high = min(w->site + UHOOK_REACH, mm->task_size);
	low = mm->brk > w->site && mm->brk < high ? mm->brk + SZ_64M : w->site;
	gap = gap_between(low, high, 0);

	return is_near(w, gap) ? gap : -ERANGE;
}

static int map_area(struct uhook_mm *um, struct uhook_area *area, const struct wanted *w)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret = 0;

	if (mmap_write_lock_killable(mm))
		return -EINTR;

	area->vaddr = mm->map_count < sysctl_max_map_count ? find_gap(mm, w) : -ERANGE;
	if (IS_ERR_VALUE(area->vaddr)) {
		ret = area->vaddr;
		goto unlock;
	}

	vma = _install_special_mapping(mm, area->vaddr, AREA_SIZE,
				       VM_READ | VM_EXEC | VM_MAYREAD | VM_MAYEXEC | VM_SEALED,
				       &area_mapping);
	if (IS_ERR(vma)) {
		ret = PTR_ERR(vma);
		goto unlock;
	}

	um->areas[um->nr_areas] = area;
	/* Whoever sees the number sees the area: area_at(). */
	smp_store_release(&um->nr_areas, um->nr_areas + 1);
unlock:
	mmap_write_unlock(mm);

	return ret;
}

/* With um->lock held. */
static struct uhook_area *add_area(struct uhook_mm *um, const struct wanted *w)
{
	struct uhook_area *area;
	int ret;

	if (um->nr_areas == UHOOK_MAX_AREAS)
		return ERR_PTR(-ENOSPC);

	area = kzalloc(sizeof(*area), GFP_UHOOK);
	if (!area)
		return ERR_PTR(-ENOMEM);

	refcount_set(&area->ref, 1);
	mutex_init(&area->lock);
	ret = map_area(um, area, w);
	if (ret) {
		kfree(area);
		return ERR_PTR(ret);
	}

	return area;
}

static void free_area(struct uhook_area *area)
{
	unsigned int i;

	for (i = 0; i < UHOOK_AREA_PAGES && area->pages[i]; i++) {
		put_page(area->pages[i]);
		kvfree(area->slots[i]);
	}
	kfree(area);
}

/* The next page of an area, when the slots of those before are taken. */
static int make_page(struct uhook_area *area, unsigned int i)
{
	struct slot *slots;
	struct page *page;

	if (area->pages[i])
		return 0;

	slots = kvcalloc(PAGE_SLOTS, sizeof(*slots), GFP_UHOOK);
	page = slots ? alloc_page(GFP_UHOOK | __GFP_ZERO) : NULL;
	if (!page) {
		kvfree(slots);
		return -ENOMEM;
	}

	/* Faults and translations look without a lock. */
	smp_store_release(&area->slots[i], slots);
	/* The same. */
	smp_store_release(&area->pages[i], page);

	return 0;
}

/* The slot that holds this already, of a parent or of an earlier uprobe; or 0. */
static unsigned long find_slot(struct uhook_area *area, const struct wanted *w)
{
	unsigned int i = area->buckets[hash_long(w->site, BUCKET_BITS)];
	struct uhook_copy copy;

	while (i) {
		const struct slot *slot = slot_nr(area, i - 1);
		unsigned long addr = slot_addr(area, i - 1);

		/* It may be that of another instruction, which was there once. */
		if (slot->site == w->site && !relocate_to(w, addr, &copy) &&
		    !memcmp(page_address(area->pages[(i - 1) / PAGE_SLOTS]) + offset_in_page(addr),
			    copy.bytes, copy.len))
			return addr;
		i = slot->next;
	}

	return 0;
}

static long new_slot(struct uhook_area *area, const struct wanted *w)
{
	u16 *bucket = &area->buckets[hash_long(w->site, BUCKET_BITS)];
	unsigned long addr = slot_addr(area, area->used);
	struct uhook_copy copy;
	struct slot *slot;
	int ret;

	if (area->used == AREA_SLOTS || refcount_read(&area->ref) > 1)
		return -ENOSPC;

	ret = relocate_to(w, addr, &copy) ?: make_page(area, area->used / PAGE_SLOTS);
	if (ret)
		return ret;

	arch_uprobe_copy_ixol(area->pages[area->used / PAGE_SLOTS], addr, copy.bytes, copy.len);

	slot = slot_nr(area, area->used);
	slot->insn_len = copy.insn_len;
	slot->copy_len = copy.copy_len;
	slot->next = *bucket;
	*bucket = ++area->used;
	/* Others may look before anybody can be there: uhook_translate(). */
	smp_store_release(&slot->site, w->site);

	return addr;
}

static long take_slot(struct uhook_area *area, const struct wanted *w)
{
	long ret;

	if (mutex_lock_killable(&area->lock))
		return -EINTR;

	ret = find_slot(area, w) ?: new_slot(area, w);
	mutex_unlock(&area->lock);

	return ret;
}

/**
 * uhook_take_slot - get a slot for an instruction
 * @um: current's
 * @site: the address of the instruction
 * @insn: its bytes, without a breakpoint
 * @size: how many may be read there, in bytes
 *
 * Context: task, with @um->lock held and no mmap lock; sleeps.
 * Return: the address of the slot; -EOPNOTSUPP when the instruction can only
 * run in its place, -ERANGE when there is no gap within reach, -ENOSPC when
 * the process has all the areas that it may have, -ENOMEM, -EINTR.
 */
long uhook_take_slot(struct uhook_mm *um, unsigned long site, const void *insn, size_t size)
{
	const struct wanted wanted = { .site = site, .insn = insn, .size = size };
	struct uhook_area *area;
	struct uhook_copy copy;
	unsigned int i;
	long ret;

	/* No area helps an instruction that does not even run where it is. */
	ret = relocate_to(&wanted, site, &copy);
	if (ret)
		return ret;

	for (i = 0; i < um->nr_areas; i++) {
		ret = take_slot(um->areas[i], &wanted);
		if (ret != -ERANGE && ret != -ENOSPC)
			return ret;
	}

	area = add_area(um, &wanted);

	return IS_ERR(area) ? PTR_ERR(area) : take_slot(area, &wanted);
}

/**
 * uhook_translate - where a program is that is in a slot
 * @um: of the address space
 * @ip: an address
 * @ran: receives whether the copy has run
 *
 * Context: any, NMI too, while somebody uses the address space.
 * Return: the program's address, or 0 when @ip is not in a slot.
 */
unsigned long uhook_translate(const struct uhook_mm *um, unsigned long ip, bool *ran)
{
	struct uhook_area *area = area_at(um, ip);
	const struct slot *slots, *slot;
	unsigned long site;

	/* Pairs with make_page(). */
	slots = area ? smp_load_acquire(&area->slots[(ip - area->vaddr) >> PAGE_SHIFT]) : NULL;
	if (!slots)
		return 0;

	slot = &slots[offset_in_page(ip) / UHOOK_SLOT_SIZE];
	/* Pairs with new_slot(). */
	site = smp_load_acquire(&slot->site);
	if (!site)
		return 0;

	*ran = ip % UHOOK_SLOT_SIZE >= slot->copy_len;

	return *ran ? site + slot->insn_len : site;
}

/**
 * uhook_share_areas - give a child its parent's
 * @from: the parent's
 * @to: the child's, which nobody else knows yet
 *
 * Context: with the parent's mmap lock held for writing, which keeps areas
 * from being added.
 */
void uhook_share_areas(const struct uhook_mm *from, struct uhook_mm *to)
{
	unsigned int i;

	for (i = 0; i < from->nr_areas; i++) {
		struct uhook_area *area = from->areas[i];

		/* No slot is being added that the child should not have. */
		mutex_lock(&area->lock);
		refcount_inc(&area->ref);
		mutex_unlock(&area->lock);
		to->areas[i] = area;
	}
	to->nr_areas = from->nr_areas;
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
