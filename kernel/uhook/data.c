// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: what bodies write.
 *
 * Behind the code of an area of bodies are pages that the program writes: a
 * counter for each body in each of the lanes, of which the stack pointer of a
 * thread selects one, so that threads rarely write to the same line; and a ring
 * if the bodies record. They are shared memory in the sense that the kernel sees
 * what is written, and each process has its own: a child begins with zeros. Pages
 * are made when they are touched, on the account of the process.
 *
 * Nothing that is read here is trusted: it is added up, and a program that
 * writes nonsense to its counters has nonsense counted.
 *
 * What a body has counted is added to the counters of its hooks by whoever looks: as much
 * as has come since the last look, of which the kernel keeps its own copy. So address
 * spaces come and go at any time, and nothing waits for the walks.
 *
 * Each address space has a lock of its own for this, uhook_mm::counts. It is held for one
 * area, or for some records, at a time. The list of address spaces is under a spinlock,
 * which is held for one step: nothing that a program does makes that longer.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>

#include "internal.h"

static_assert(UHOOK_LANE_SIZE == PAGE_SIZE);

/* The address spaces that have bodies, oldest first, and the cursors of walks over them. */
static LIST_HEAD(counting);
static DEFINE_SPINLOCK(counting_lock);

/* How many there have been. */
static u64 nr_born;

/* How often bodies have run, as far as somebody has looked. */
static atomic64_t bodies_run;

/**
 * uhook_add_data - data for an area of bodies
 * @um: whose
 * @area: the number of the area
 * @gfp: how much is done for the memory
 *
 * Return: 0, also if there are some already, or -ENOMEM.
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

/**
 * uhook_start_counting - what bodies of a process write counts
 * @um: the process's; it has its areas
 *
 * Context: task, with the mmap lock held for writing, or nobody else knows @um.
 */
void uhook_start_counting(struct uhook_mm *um)
{
	if (um->counting.born)
		return;

	spin_lock(&counting_lock);
	um->counting.born = ++nr_born;
	list_add_tail(&um->counting.node, &counting);
	spin_unlock(&counting_lock);
}

static void stop_counting(struct uhook_mm *um)
{
	spin_lock(&counting_lock);
	list_del_init(&um->counting.node);
	spin_unlock(&counting_lock);
}

/* The data that an address is in, and where it is there. */
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

/* A zeroed page for a place that may have one by now. */
static bool make_data_page(struct page **slot)
{
	struct page *page = READ_ONCE(*slot);

	if (page)
		return true;

	page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (page && cmpxchg(slot, NULL, page))
		put_page(page);

	return page;
}

/* The page with what has been seen of counters in a page, or NULL if it has none. */
static struct page **seen_slot(struct uhook_data *data, unsigned int page)
{
	unsigned long at = (unsigned long)page << PAGE_SHIFT;

	if (at < UHOOK_LANES_SIZE)
		return &data->seen[0];
	if (at >= UHOOK_BLOCKS_AT && at < UHOOK_POOL_AT)
		return &data->seen[1 + ((at - UHOOK_BLOCKS_AT) >> PAGE_SHIFT)];

	return NULL;
}

/* The first page of a stack, where it has several. */
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

	data = um ? data_of(um, vmf->address, &i) : NULL;
	if (!data)
		return VM_FAULT_SIGBUS;
	if (is_guard(vmf->pgoff << PAGE_SHIFT))
		return VM_FAULT_SIGSEGV;

	/* Whoever finds counters finds what was seen of them: seen_at(). */
	seen = seen_slot(data, i);
	if ((seen && !make_data_page(seen)) || !make_data_page(&data->pages[i]))
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

/* Shared memory is of a file; the same for all, who find their own pages in it. */
static struct file *data_file __ro_after_init;

static int __init make_data_file(void)
{
	data_file = anon_inode_getfile("[uhook]", &data_fops, NULL, O_RDWR);

	return PTR_ERR_OR_ZERO(data_file);
}
device_initcall(make_data_file);

/**
 * uhook_map_data - map data for current
 * @addr: where
 * @size: how much
 *
 * Context: task, with the mmap lock held for writing.
 * Return: 0 or an error.
 */
int uhook_map_data(unsigned long addr, unsigned long size)
{
	unsigned long ret, populate;

	if (IS_ERR_OR_NULL(data_file))
		return -ENOMEM;

	ret = do_mmap(data_file, addr, size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_FIXED_NOREPLACE, 0, 0, &populate, NULL);

	return IS_ERR_VALUE(ret) ? (int)ret : 0;
}

/**
 * uhook_data_at - what bodies have written at a place
 * @data: of which area and process
 * @at: the place, in bytes from the end of the area's code
 *
 * Context: any, as long as @data is there.
 * Return: where the kernel has it, up to the end of a page; NULL if nobody has touched it.
 */
void *uhook_data_at(const struct uhook_data *data, unsigned long at)
{
	/* Pairs with the cmpxchg() of make_data_page(). */
	struct page *page = smp_load_acquire(&data->pages[at >> PAGE_SHIFT]);

	return page ? page_address(page) + offset_in_page(at) : NULL;
}

/* The counter of a body in a lane. */
static u64 *cell_at(const struct uhook_data *data, unsigned int lane, unsigned int nr)
{
	return uhook_data_at(data, lane * UHOOK_LANE_SIZE + nr * sizeof(u64));
}

static u64 sum_of(const struct uhook_data *data, unsigned int nr)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < UHOOK_LANES; i++) {
		const u64 *cell = cell_at(data, i, nr);

		if (cell)
			sum += READ_ONCE(*cell);
	}

	return sum;
}

static struct uhook_block *block_at(const struct uhook_data *data, unsigned int nr,
				    unsigned int i)
{
	return uhook_data_at(data, UHOOK_BLOCKS_AT +
			     (nr * UHOOK_BODY_BLOCKS + i) * sizeof(struct uhook_block));
}

/* What was seen of a block that is there. */
static struct uhook_block *seen_block_at(const struct uhook_data *data, unsigned int nr,
					 unsigned int i)
{
	unsigned long at = (nr * UHOOK_BODY_BLOCKS + i) * sizeof(struct uhook_block);

	return page_address(data->seen[1 + (at >> PAGE_SHIFT)]) + offset_in_page(at);
}

/* What has come since the last look; what cannot have come has not. */
static u64 come(u64 now, u64 *seen)
{
	u64 more = now - *seen;

	*seen = now;

	return (s64)more > 0 ? more : 0;
}

static void add_block(struct uhook_counter *counter, const struct uhook_block *block,
		      struct uhook_block *seen)
{
	unsigned int i;

	atomic64_add(come(READ_ONCE(block->missed), &seen->missed), &counter->missed);
	atomic64_add(come(READ_ONCE(block->lost), &seen->lost), &counter->lost);
	for (i = 0; i < UHOOK_DATA_WORDS; i++) {
		u64 word = READ_ONCE(block->words[i]);

		/* A handler may count as it likes, and down as well. */
		atomic64_add(word - seen->words[i], &counter->words[i]);
		seen->words[i] = word;
	}
}

/* What one body of one process has counted since the last look, for whom it counts. */
static void add_body(struct uhook_mm *um, const struct uhook_data *data,
		     const struct uhook_body *body, unsigned int nr)
{
	const struct uhook_set *set = body->set;
	const struct uhook_block *block;
	unsigned int i;
	u64 hits = 0;

	lockdep_assert_held(&um->counts);
	/* It is there if a lane is. */
	if (data->seen[0])
		hits = come(sum_of(data, nr), (u64 *)page_address(data->seen[0]) + nr);
	atomic64_add(hits, &bodies_run);

	for (i = 0; i < set->nr; i++) {
		if (hits)
			atomic64_add(hits, &set->counters[i]->bodies);
		block = i < UHOOK_BODY_BLOCKS && (set->records || set->calls) ?
			block_at(data, nr, i) : NULL;
		if (block)
			add_block(set->counters[i], block, seen_block_at(data, nr, i));
	}
}

/**
 * uhook_fold_body - keep what a body has counted, which is going to count for others
 * @um: of the one process that has it
 * @area: the area, with its lock held
 * @nr: the number of the body
 *
 * Context: task, with &uhook_mm.counts held; sleeps.
 */
void uhook_fold_body(struct uhook_mm *um, struct uhook_area *area, unsigned int nr)
{
	unsigned int budget = UHOOK_RING_ENTRIES, i = 0;

	lockdep_assert_held(&um->counts);
	lockdep_assert_held(&area->lock);
	while (um->areas[i] != area)
		i++;
	uhook_begin_reading(um);
	uhook_drain_ring(um, area, um->data[i], &budget, false);
	add_body(um, um->data[i], uhook_body_nr(area, nr), nr);
}

/* Bodies may come meanwhile, but none changes whom it counts for: adopt(). */
static void add_area(struct uhook_mm *um, struct uhook_area *area, struct uhook_data *data)
{
	/* Pairs with enter_slot(). */
	unsigned int nr, used = smp_load_acquire(&area->used);

	for (nr = 0; nr < used; nr++) {
		if (uhook_body_nr(area, nr)->set)
			add_body(um, data, uhook_body_nr(area, nr), nr);
	}
}

/* The next one that was there when the visit began, with a reference; or NULL. */
static struct uhook_mm *next_counting(struct uhook_counting *cursor, u64 until)
{
	struct uhook_counting *next = cursor;
	struct uhook_mm *um;

	spin_lock(&counting_lock);
	list_for_each_entry_continue(next, &counting, node) {
		/* Others who look. */
		if (!next->born)
			continue;
		if (next->born > until)
			break;
		um = container_of(next, struct uhook_mm, counting);
		refcount_inc(&um->ref);
		list_move(&cursor->node, &next->node);
		spin_unlock(&counting_lock);
		return um;
	}
	spin_unlock(&counting_lock);

	return NULL;
}

/**
 * uhook_visit_data - look at what bodies have written in all processes
 * @fn: called for each of them that has bodies, and for none that comes meanwhile
 *
 * Context: task; sleeps.
 */
void uhook_visit_data(uhook_data_fn *fn)
{
	struct uhook_counting cursor = { };
	struct uhook_mm *um;
	u64 until;

	spin_lock(&counting_lock);
	until = nr_born;
	list_add(&cursor.node, &counting);
	spin_unlock(&counting_lock);

	while ((um = next_counting(&cursor, until))) {
		fn(um);
		uhook_put_mm(um);
		cond_resched();
	}

	spin_lock(&counting_lock);
	list_del(&cursor.node);
	spin_unlock(&counting_lock);
}

static void add_areas(struct uhook_mm *um)
{
	/* Pairs with map_area(). */
	unsigned int i, nr = smp_load_acquire(&um->nr_areas);

	for (i = 0; i < nr; i++) {
		/* Whoever ends waits for one area, and has then counted itself. */
		guard(mutex)(&um->counts);
		if (um->gone)
			break;
		if (uhook_has_bodies(um->areas[i]->kind))
			add_area(um, um->areas[i], um->data[i]);
	}
}

/**
 * uhook_sum_data - add up what bodies have counted in all processes
 *
 * Context: task; sleeps.
 */
void uhook_sum_data(void)
{
	uhook_visit_data(add_areas);
}

/* How often bodies have run, as far as uhook_sum_data() has seen. */
u64 uhook_bodies_run(void)
{
	return atomic64_read(&bodies_run);
}

static void put_pages(struct page **pages, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (pages[i])
			put_page(pages[i]);
	}
}

static void free_data(struct uhook_data *data)
{
	put_pages(data->pages, ARRAY_SIZE(data->pages));
	put_pages(data->seen, ARRAY_SIZE(data->seen));
	kvfree(data);
}

/**
 * uhook_fold_data - keep what an address space has counted, which is going
 * @um: its; nobody uses it any more
 *
 * Context: task; sleeps. Before its areas are let go.
 */
void uhook_fold_data(struct uhook_mm *um)
{
	unsigned int i;

	if (um->counting.born) {
		uhook_drain_last(um);
		add_areas(um);
		/* Whoever has found it on the list does not look at its areas any more. */
		mutex_lock(&um->counts);
		um->gone = true;
		mutex_unlock(&um->counts);
		/* Last, so that whoever adds up finds it there, or its counts added. */
		stop_counting(um);
	}

	for (i = 0; i < ARRAY_SIZE(um->data); i++) {
		if (um->data[i])
			free_data(um->data[i]);
	}
}
