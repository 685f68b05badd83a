// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: hooks that call code of their owner, or a function of a file.
 *
 * Bodies call both through the gate of their area (gates.c). Code of an owner is copied
 * into the area. A function is called in the process's own mapping of its file. When that
 * mapping is removed, is no longer executable or begins to require landing pads, jumps to
 * bodies that call the function become breakpoints.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uhook_gate.h>
#include <linux/uhook_hooks.h>
#include <asm/uhook.h>

#include "compose.h"
#include "data_layout.h"
#include "gates.h"
#include "jump.h"
#include "report.h"
#include "sets.h"

#ifdef CONFIG_ARM64
#define VM_LANDING_PADS	VM_ARM64_BTI
#else
#define VM_LANDING_PADS	VM_NONE
#endif

static int check_code(struct uhook_counter *counter, const struct uhook_ops *ops, unsigned int nr)
{
	int err;

	if (ops->code_size > UHOOK_CODE_MAX) {
		uhook_fail(ops, UHOOK_ERR_CODE, "its code is longer than %u bytes",
			   UHOOK_CODE_MAX);
		return -EINVAL;
	}
	err = uhook_check_code(ops->code, ops->code_size);
	if (err) {
		uhook_fail(ops, UHOOK_ERR_CODE, "its code cannot be copied to programs: %pe",
			   ERR_PTR(err));
		return err;
	}

	counter->code = kmemdup(ops->code, ops->code_size, GFP_KERNEL);
	counter->code_size = ops->code_size;
	if (!counter->code)
		uhook_fail(ops, UHOOK_ERR_NO_MEMORY, "there is no memory for its code");

	return counter->code ? 0 : -ENOMEM;
}

static int check_function(struct uhook_counter *counter, const struct uhook_ops *ops,
			  unsigned int nr)
{
	if (!ops->function.inode) {
		uhook_fail(ops, UHOOK_ERR_OPS,
			   "it names no file for its function: set function.inode");
		return -EINVAL;
	}
	counter->function = ops->function;

	return 0;
}

/* Check that calls are possible in current, and that the handler has a struct uhook_cells. */
static enum uhook_verdict find_code(struct uhook_mm *um, struct uhook_wanted *w, unsigned int i,
				    struct uprobe *uprobe)
{
	if (!arch_uhook_can_call(false))
		return UHOOK_NO_CALLS;
	if (!arch_uhook_can_call(!w->set->counters[i]->no_vectors))
		return UHOOK_NO_VECTORS;

	return i < UHOOK_BODY_CELLS ? UHOOK_GRANTED : UHOOK_TOO_LONG;
}

/*
 * Gates branch to functions indirectly. Guarded text must not be called where it has no
 * landing pad, as at static functions, nor at a probe, which may become a jump.
 */
static enum uhook_verdict check_landing(struct uhook_mm *um, const struct vm_area_struct *vma,
					unsigned long addr)
{
	u8 insn[sizeof(u32)];

	lockdep_assert_held(&um->lock);
	if (!(vma->vm_flags & VM_LANDING_PADS))
		return UHOOK_GRANTED;
	if (copy_from_user_nofault(insn, (void __user *)addr, sizeof(insn))) {
		um->unread = addr;
		return UHOOK_UNDECIDED;
	}

	return arch_uhook_is_landing(vma, insn) ? UHOOK_GRANTED : UHOOK_NO_LANDING;
}

/* Find the address at which current has mapped an instruction of a file as executable. */
static enum uhook_verdict find_mapped(struct uhook_mm *um, const struct uhook_point *point,
				      unsigned long *addr)
{
	VMA_ITERATOR(vmi, current->mm, 0);
	struct vm_area_struct *vma;

	for_each_vma(vmi, vma) {
		loff_t start = (loff_t)vma->vm_pgoff << PAGE_SHIFT;

		if (!vma->vm_file || !(vma->vm_flags & VM_EXEC) ||
		    file_inode(vma->vm_file) != point->inode)
			continue;
		if (point->offset >= start && point->offset - start < vma->vm_end - vma->vm_start) {
			*addr = vma->vm_start + (point->offset - start);
			return check_landing(um, vma, *addr);
		}
	}

	return UHOOK_NO_FUNCTION;
}

static enum uhook_verdict find_function(struct uhook_mm *um, struct uhook_wanted *w, unsigned int i,
					struct uprobe *uprobe)
{
	enum uhook_verdict verdict;

	verdict = find_code(um, w, i, uprobe) ?:
		  find_mapped(um, &w->set->counters[i]->function, &w->functions[i]);
	if (!verdict)
		WRITE_ONCE(um->functions, true);

	return verdict;
}

static enum uhook_verdict prepare_function(struct uhook_area *area, struct uhook_counter *counter)
{
	unsigned long addr;

	return uhook_gate_of(area, !counter->no_vectors, true, &addr);
}

static enum uhook_verdict prepare_code(struct uhook_area *area, struct uhook_counter *counter)
{
	unsigned long addr;

	return prepare_function(area, counter) ?: uhook_code_of(area, counter, true, &addr);
}

static enum uhook_verdict emit(const struct uhook_wanted *w, unsigned int i,
			       const struct uhook_where *p, struct uhook_code *code)
{
	struct uhook_counter *counter = w->set->counters[i];
	struct uhook_call call = {
		.gate		= p->base,
		.handler	= w->functions[i] ?: p->base,
		.data		= uhook_cells_addr(p->base, p->nr, i),
		.missed		= uhook_cells_addr(p->base, p->nr, i) +
				  offsetof(struct uhook_cells, missed),
		.site		= w->site,
	};
	enum uhook_verdict verdict;

	if (p->area) {
		verdict = uhook_gate_of(p->area, !counter->no_vectors, false, &call.gate);
		if (!verdict && counter->code)
			verdict = uhook_code_of(p->area, counter, false, &call.handler);
		if (verdict)
			return verdict;
	}

	return uhook_append(code, uhook_call_code(code->bytes + code->len,
						  UHOOK_LONG_SIZE - code->len,
						  uhook_where_addr(p, UHOOK_LONG_BODIES) +
						  code->len, &call));
}

static bool calls_into(const struct uhook_set *set, const struct inode *inode)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++) {
		if (set->counters[i]->kind == &uhook_function_kind &&
		    set->counters[i]->function.inode == inode)
			return true;
	}

	return false;
}

static int demote_callers(struct uhook_mm *um, const struct uhook_area *area,
			  const struct vm_area_struct *vma)
{
	/* Pairs with enter_slot() and reserve(). */
	unsigned int nr, used = smp_load_acquire(&area->used);
	int ret = 0;

	for (nr = 0; nr < used && !ret; nr++) {
		const struct uhook_set *set = uhook_set_of(um, uhook_body_nr(area, nr));

		if (set && calls_into(set, file_inode(vma->vm_file)))
			ret = uhook_demote_site(vma->vm_mm, um, uhook_slot_nr(area, nr)->site);
	}

	return ret;
}

/**
 * uhook_file_munmap - demote the callers of a file that is being unmapped
 * @vma: mapping that is being removed, can no longer be executed, or gets landing pads
 *
 * If the mapping is of a file, turn jumps to bodies that call functions of the file into
 * breakpoints, whose hits look for the functions again.
 *
 * Context: task, with the mmap lock held for writing.
 * Return: 0, or an error if a jump is still there.
 */
int uhook_file_munmap(struct vm_area_struct *vma)
{
	struct uhook_mm *um = uhook_mm_of(vma->vm_mm);
	unsigned int i;
	int ret = 0;

	mmap_assert_write_locked(vma->vm_mm);
	if (likely(!um || !READ_ONCE(um->functions)) || !vma->vm_file)
		return 0;

	for (i = 0; i < um->nr_areas && !ret; i++) {
		if (um->areas[i]->kind == UHOOK_LONG_BODIES)
			ret = demote_callers(um, um->areas[i], vma);
	}

	return ret;
}

/**
 * uhook_mprotect - turn jumps into breakpoints before text gets other permissions
 * @vma: mapping; its mmap lock is held for writing
 * @start: first address that is changed
 * @end: first address after it
 * @newflags: flags that the range gets
 *
 * The program may change bytes that a jump uses, require landing pads, or end the execution
 * of functions that bodies call.
 *
 * Return: 0, or an error if a jump is still there.
 */
int uhook_mprotect(struct vm_area_struct *vma, unsigned long start, unsigned long end,
		   unsigned long newflags)
{
	int ret = 0;

	/* Functions in it cannot be called any more, or not all of them. */
	if ((vma->vm_flags & ~newflags & VM_EXEC) ||
	    (newflags & ~vma->vm_flags & VM_LANDING_PADS))
		ret = uhook_file_munmap(vma);
	if (ret || !(newflags & ~vma->vm_flags & (VM_WRITE | VM_LANDING_PADS)))
		return ret;

	return uhook_demote(vma->vm_mm, start, end);
}

const struct uhook_kind uhook_code_kind = {
	.traits		= UHOOK_COUNTS | UHOOK_LONG | UHOOK_CALLS,
	.check		= check_code,
	.find		= find_code,
	.prepare	= prepare_code,
	.emit		= emit,
};

const struct uhook_kind uhook_function_kind = {
	.traits		= UHOOK_COUNTS | UHOOK_LONG | UHOOK_CALLS | UHOOK_LOCAL,
	.check		= check_function,
	.find		= find_function,
	.prepare	= prepare_function,
	.emit		= emit,
};
