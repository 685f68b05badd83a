// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the data pages of bodies.
 *
 * The code of an area of bodies is followed by pages that the program writes. They have a
 * counter for each body in each lane, and the stack pointer of a thread selects a lane,
 * so that threads rarely write to the same cache line; and a ring if the bodies record.
 * The pages are shared memory so that the kernel can read them, but each process has its
 * own, and a child begins with zeros. They are allocated when first touched and charged
 * to the process.
 *
 * This file allocates, maps, finds and frees the pages; sums.c and rings.c read them.
 */
#include <linux/anon_inodes.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/hook_base.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>

#include "areas.h"
#include "data.h"
#include "sets.h"

static_assert(UHOOK_LANE_SIZE == PAGE_SIZE);
/* Each body has a counter in each lane. */
static_assert(UHOOK_CODE_SIZE / UHOOK_BODY_SIZE * sizeof(u64) <= UHOOK_LANE_SIZE);
/* An area that is aligned to the size of its code has aligned lanes. */
static_assert(UHOOK_CODE_SIZE == UHOOK_LANES_SIZE);

/**
 * uhook_add_data - allocate the data of an area of bodies
 * @um: state of the address space
 * @area: index of the area
 * @gfp: allocation flags
 *
 * Return: 0, also if the area has data already, or -ENOMEM.
 */
int uhook_add_data(struct uhook_mm *um, unsigned int area, gfp_t gfp)
{
	struct uhook_data *data;

	if (um->data[area])
		return 0;

	data = kvzalloc(sizeof(*data), gfp);
	if (!data)
		return -ENOMEM;
	data->stuck = U64_MAX;

	um->data[area] = data;

	return 0;
}

/* Size of the data pages of an area, in bytes. */
unsigned long uhook_data_size(enum uhook_area_kind kind)
{
	switch (kind) {
	case UHOOK_SLOTS:
		return 0;
	case UHOOK_BODIES:
		return UHOOK_LANES_SIZE;
	default:
		return UHOOK_DATA_PAGES * PAGE_SIZE;
	}
}

/* The data that contains an address, and the index of the page there. */
static struct uhook_data *data_of(struct uhook_mm *um, unsigned long addr, unsigned int *page)
{
	unsigned int i;

	for (i = 0; i < um->nr_areas; i++) {
		struct uhook_area *area = um->areas[i];
		unsigned long start = area->vaddr + UHOOK_CODE_SIZE;

		if (um->data[i] && addr - start < uhook_data_size(area->kind)) {
			*page = (addr - start) >> PAGE_SHIFT;
			return um->data[i];
		}
	}

	return NULL;
}

/**
 * uhook_make_data_page - allocate a page that bodies write
 * @slot: pointer to the page, which may have been set meanwhile
 *
 * Context: task; sleeps.
 * Return: 0 or -ENOMEM.
 */
int uhook_make_data_page(struct page **slot)
{
	struct page *page;

	if (READ_ONCE(*slot))
		return 0;

	page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	if (cmpxchg(slot, NULL, page))
		put_page(page);

	return 0;
}

/*
 * Pointer to the page with the counts seen so far of a page with counters; NULL for other
 * pages.
 */
static struct page **seen_slot(struct uhook_data *data, unsigned int page)
{
	unsigned long at = (unsigned long)page << PAGE_SHIFT;

	if (at < UHOOK_LANES_SIZE)
		return &data->seen[0];
	if (at >= UHOOK_CELLS_AT && at < UHOOK_POOL_AT)
		return &data->seen[1 + ((at - UHOOK_CELLS_AT) >> PAGE_SHIFT)];

	return NULL;
}

/* The first page of a stack of several pages is a guard. */
static bool is_guard(unsigned long at)
{
	const unsigned long stacks = UHOOK_POOL_AT + PAGE_SIZE, size = UHOOK_STACK_SIZE;

	if (size <= PAGE_SIZE || at < stacks)
		return false;

	return (at - stacks) % size < PAGE_SIZE;
}

/* With the mmap lock held. */
static vm_fault_t data_fault(struct vm_fault *vmf)
{
	struct uhook_mm *um = uhook_mm_of(vmf->vma->vm_mm);
	struct uhook_data *data;
	struct page **seen;
	unsigned int i;

	mmap_assert_locked(vmf->vma->vm_mm);
	data = um ? data_of(um, vmf->address, &i) : NULL;
	if (!data)
		return VM_FAULT_SIGBUS;
	if (is_guard(vmf->pgoff << PAGE_SHIFT))
		return VM_FAULT_SIGSEGV;

	/* Allocate the seen counts before the counters: seen_cells_at(). */
	seen = seen_slot(data, i);
	if ((seen && uhook_make_data_page(seen)) || uhook_make_data_page(&data->pages[i]))
		return VM_FAULT_OOM;

	vmf->page = READ_ONCE(data->pages[i]);
	get_page(vmf->page);

	return 0;
}

static const struct vm_operations_struct data_vm_ops = {
	.fault	= data_fault,
};

static int data_mmap(struct file *file, struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &data_vm_ops;

	return 0;
}

static const struct file_operations data_fops = {
	.mmap	= data_mmap,
};

/* Shared memory needs a file. All processes use this one, and each finds its own pages in it. */
static struct file *data_file __ro_after_init;

static int __init make_data_file(void)
{
	data_file = anon_inode_getfile("[uhook]", &data_fops, NULL, O_RDWR);

	return PTR_ERR_OR_ZERO(data_file);
}
device_initcall(make_data_file);

/**
 * uhook_map_data - map data into current's address space
 * @addr: address of the mapping
 * @size: length of the mapping, in bytes
 *
 * Context: task, with the mmap lock held for writing.
 * Return: 0 or an error.
 */
int uhook_map_data(unsigned long addr, unsigned long size)
{
	unsigned long ret, populate;

	mmap_assert_write_locked(current->mm);
	if (IS_ERR_OR_NULL(data_file))
		return -ENOMEM;

	ret = do_mmap(data_file, addr, size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_FIXED_NOREPLACE, EMPTY_VMA_FLAGS, 0, &populate, NULL);

	return IS_ERR_VALUE(ret) ? (int)ret : 0;
}

/**
 * uhook_data_at - kernel address of data of bodies
 * @data: data of an area in an address space
 * @at: offset from the end of the area's code, in bytes
 *
 * Context: any, as long as @data exists.
 * Return: the kernel address, valid up to the end of the page; NULL if the page has not
 * been touched.
 */
void *uhook_data_at(const struct uhook_data *data, unsigned long at)
{
	/* Pairs with the cmpxchg() of uhook_make_data_page(). */
	struct page *page = smp_load_acquire(&data->pages[at >> PAGE_SHIFT]);

	return page ? page_address(page) + offset_in_page(at) : NULL;
}

/**
 * uhook_grant_body - remember that the kernel sends a task to a body
 * @um: state of the address space
 * @area: index of the area
 * @nr: number of the body
 */
void uhook_grant_body(struct uhook_mm *um, unsigned int area, unsigned int nr)
{
	set_bit(nr, um->data[area]->granted);
}

/**
 * uhook_applies - check whether the counts and records of a body are those of its hooks
 * @data: data of the body's area in an address space
 * @set: the body's set of hooks
 * @nr: number of the body
 *
 * The program can write them for any body of the area.
 *
 * Return: false if the hooks are filtered, and the body is only inherited.
 */
bool uhook_applies(const struct uhook_data *data, const struct uhook_set *set, unsigned int nr)
{
	return !(set->traits & UHOOK_FILTERED) || test_bit(nr, data->granted);
}

static void put_pages(struct page **pages, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (pages[i])
			put_page(pages[i]);
	}
}

void uhook_free_data(struct uhook_data *data)
{
	put_pages(data->pages, ARRAY_SIZE(data->pages));
	put_pages(data->seen, ARRAY_SIZE(data->seen));
	kvfree(data);
}
