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
 * What is counted by whom is added up with uhook_counts_lock held, under which
 * address spaces come and go, and leave what they had to the counters.
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

/* Held while counts are added up, and while those who count come and go. */
DEFINE_MUTEX(uhook_counts_lock);

/* The address spaces that have bodies. */
static LIST_HEAD(counting);

/* Each look at all rings has a number: uhook_visit_data_apart(). */
static u64 drain_round;

/* How often bodies have run that count for nobody any more, and how often others. */
static u64 run_before, run_live;

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
 */
void uhook_start_counting(struct uhook_mm *um)
{
	mutex_lock(&uhook_counts_lock);
	if (list_empty(&um->node))
		list_add_tail(&um->node, &counting);
	mutex_unlock(&uhook_counts_lock);
}

static struct page **page_at(struct uhook_mm *um, unsigned long addr)
{
	unsigned int i;

	for (i = 0; i < um->nr_areas; i++) {
		struct uhook_area *area = um->areas[i];
		unsigned long start = area->vaddr + UHOOK_CODE_SIZE;

		if (um->data[i] && addr - start < uhook_data_size(area->kind))
			return &um->data[i]->pages[(addr - start) >> PAGE_SHIFT];
	}

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
	struct page **slot = um ? page_at(um, vmf->address) : NULL, *page;

	if (!slot)
		return VM_FAULT_SIGBUS;
	if (is_guard(vmf->pgoff << PAGE_SHIFT))
		return VM_FAULT_SIGSEGV;

	page = READ_ONCE(*slot);
	if (!page) {
		page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!page)
			return VM_FAULT_OOM;
		if (cmpxchg(slot, NULL, page)) {
			put_page(page);
			page = READ_ONCE(*slot);
		}
	}

	get_page(page);
	vmf->page = page;

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
	/* Pairs with the cmpxchg() of data_fault(). */
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

/* What cannot have happened so often has not: it would take from others. */
static u64 plausible(u64 hits)
{
	return (s64)hits > 0 ? hits : 0;
}

static void add_block(struct uhook_counter *counter, const struct uhook_block *block, bool dead)
{
	unsigned int i;

	if (!dead) {
		counter->sum.missed += plausible(READ_ONCE(block->missed));
		counter->sum.lost += plausible(READ_ONCE(block->lost));
	} else {
		counter->missed += plausible(READ_ONCE(block->missed));
		counter->lost += plausible(READ_ONCE(block->lost));
	}
	for (i = 0; i < UHOOK_DATA_WORDS; i++) {
		u64 word = READ_ONCE(block->words[i]);

		if (dead)
			counter->words[i] += word;
		else
			counter->sum.words[i] += word;
	}
}

/* What one body of one process has counted, for whom it counts. */
static void add_body(const struct uhook_data *data, const struct uhook_body *body,
		     unsigned int nr, bool dead)
{
	const struct uhook_set *set = body->set;
	const struct uhook_block *block;
	u64 hits = plausible(sum_of(data, nr));
	unsigned int i;

	if (dead)
		run_before += hits;
	else
		run_live += hits;

	for (i = 0; hits && i < set->nr; i++) {
		if (dead)
			set->counters[i]->dead += hits;
		else
			set->counters[i]->live += hits;

		block = i < UHOOK_BODY_BLOCKS && (set->records || set->calls) ?
			block_at(data, nr, i) : NULL;
		if (block)
			add_block(set->counters[i], block, dead);
	}
}

/* What the program goes on to count is not lost. */
static u64 take(u64 *word)
{
	return xchg(word, 0);
}

static u64 take_cells(const struct uhook_data *data, unsigned int nr)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < UHOOK_LANES; i++) {
		u64 *cell = cell_at(data, i, nr);

		if (cell)
			sum += take(cell);
	}

	return plausible(sum);
}

static void take_block(struct uhook_counter *counter, struct uhook_block *block)
{
	unsigned int i;

	counter->missed += plausible(take(&block->missed));
	counter->lost += plausible(take(&block->lost));
	for (i = 0; i < UHOOK_DATA_WORDS; i++)
		counter->words[i] += take(&block->words[i]);
}

/**
 * uhook_fold_body - keep what a body has counted, which is going to count for others
 * @um: of the one process that has it
 * @area: the area, with its lock held
 * @nr: the number of the body
 *
 * Context: task, with uhook_counts_lock held; sleeps.
 */
void uhook_fold_body(struct uhook_mm *um, struct uhook_area *area, unsigned int nr)
{
	const struct uhook_set *set = uhook_body_nr(area, nr)->set;
	struct uhook_block *block;
	struct uhook_data *data;
	unsigned int i = 0;
	u64 hits;

	while (um->areas[i] != area)
		i++;
	data = um->data[i];
	uhook_begin_reading(um);
	uhook_drain_ring(um, area, data, false);

	hits = take_cells(data, nr);
	run_before += hits;
	for (i = 0; i < set->nr; i++) {
		set->counters[i]->dead += hits;
		block = i < UHOOK_BODY_BLOCKS && (set->records || set->calls) ?
			block_at(data, nr, i) : NULL;
		if (block)
			take_block(set->counters[i], block);
	}
}

/* Bodies may come meanwhile, but none changes whom it counts for: adopt(). */
static void add_area(struct uhook_area *area, const struct uhook_data *data, bool dead)
{
	/* Pairs with enter_slot(). */
	unsigned int nr, used = smp_load_acquire(&area->used);

	for (nr = 0; nr < used; nr++) {
		if (uhook_body_nr(area, nr)->set)
			add_body(data, uhook_body_nr(area, nr), nr, dead);
	}
}

static void add_live(struct uhook_mm *um, struct uhook_area *area, struct uhook_data *data)
{
	add_area(area, data, false);
}

static void visit_areas(struct uhook_mm *um, uhook_data_fn *fn)
{
	/* Pairs with map_area(). */
	unsigned int i, nr = smp_load_acquire(&um->nr_areas);

	uhook_begin_reading(um);
	for (i = 0; i < nr; i++) {
		if (uhook_has_bodies(um->areas[i]->kind))
			fn(um, um->areas[i], um->data[i]);
	}
}

/**
 * uhook_visit_data - look at what bodies have written in all processes
 * @fn: called for each area of each process
 *
 * Context: task, with uhook_counts_lock held.
 */
void uhook_visit_data(uhook_data_fn *fn)
{
	struct uhook_mm *um;

	list_for_each_entry(um, &counting, node) {
		visit_areas(um, fn);
		cond_resched();
	}
}

/* Of one process for which this look has not been made; false if there is none. */
static bool drain_next(u64 round, uhook_data_fn *fn)
{
	struct uhook_mm *um;

	guard(mutex)(&uhook_counts_lock);
	um = list_first_entry_or_null(&counting, struct uhook_mm, node);
	if (!um || um->drained >= round)
		return false;

	um->drained = round;
	list_move_tail(&um->node, &counting);
	visit_areas(um, fn);

	return true;
}

/**
 * uhook_visit_data_apart - look at what bodies have written, one process at a time
 * @fn: called for each area of each process, with uhook_counts_lock held
 *
 * Others who need the lock, for their process to fork, exec or exit, wait for one
 * process and not for all. Those that have begun to count meanwhile are left out.
 *
 * Context: task, without uhook_counts_lock; sleeps.
 */
void uhook_visit_data_apart(uhook_data_fn *fn)
{
	u64 round;

	mutex_lock(&uhook_counts_lock);
	round = ++drain_round;
	mutex_unlock(&uhook_counts_lock);

	while (drain_next(round, fn))
		cond_resched();
}

/**
 * uhook_sum_data - add up what bodies have counted in all processes
 *
 * Context: task, with uhook_counts_lock held, and all &uhook_counter.live zero.
 */
void uhook_sum_data(void)
{
	run_live = 0;
	uhook_visit_data(add_live);
}

/* How often bodies have run, as far as uhook_sum_data() has seen. */
u64 uhook_bodies_run(void)
{
	return run_before + run_live;
}

static void fold_area(struct uhook_mm *um, struct uhook_area *area, struct uhook_data *data)
{
	uhook_drain_ring(um, area, data, true);
	add_area(area, data, true);
}

static void free_data(struct uhook_data *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(data->pages); i++) {
		if (data->pages[i])
			put_page(data->pages[i]);
	}
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

	if (!list_empty(&um->node)) {
		mutex_lock(&uhook_counts_lock);
		visit_areas(um, fold_area);
		list_del_init(&um->node);
		mutex_unlock(&uhook_counts_lock);
	}

	for (i = 0; i < ARRAY_SIZE(um->data); i++) {
		if (um->data[i])
			free_data(um->data[i]);
	}
}
