// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: functions of files that are handlers.
 *
 * A function is called where the process has its file mapped. When that mapping goes, bodies
 * that call the function are not entered any more.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uhook_hooks.h>

#include "areas.h"
#include "functions.h"
#include "jump.h"

/* Where current has an instruction of a file, to execute; or 0. */
static unsigned long find_mapped(const struct uhook_point *point)
{
	VMA_ITERATOR(vmi, current->mm, 0);
	struct vm_area_struct *vma;

	for_each_vma(vmi, vma) {
		loff_t start = (loff_t)vma->vm_pgoff << PAGE_SHIFT;

		if (!vma->vm_file || !(vma->vm_flags & VM_EXEC) ||
		    file_inode(vma->vm_file) != point->inode)
			continue;
		if (point->offset >= start && point->offset - start < vma->vm_end - vma->vm_start)
			return vma->vm_start + (point->offset - start);
	}

	return 0;
}

/**
 * uhook_find_functions - where the handlers are that are functions of files
 * @w: the body, whose functions are found for current
 *
 * Context: task, with the mmap lock held.
 * Return: 0; -ENOENT if a file is not mapped, -EMFILE if there are too many
 * handlers.
 */
int uhook_find_functions(struct uhook_wanted *w)
{
	unsigned int i;

	for (i = 0; i < w->set->nr; i++) {
		const struct uhook_counter *counter = w->set->counters[i];

		if (counter->user != UHOOK_USER_RECORD && !uhook_calls(counter->user))
			continue;
		if (i >= UHOOK_BODY_BLOCKS)
			return -EMFILE;
		if (counter->user != UHOOK_USER_FUNCTION)
			continue;
		w->functions[i] = find_mapped(&counter->function);
		if (!w->functions[i])
			return -ENOENT;
	}

	return 0;
}

static bool calls_into(const struct uhook_set *set, const struct inode *inode)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++) {
		if (set->counters[i]->user == UHOOK_USER_FUNCTION &&
		    set->counters[i]->function.inode == inode)
			return true;
	}

	return false;
}

static int demote_callers(struct uhook_mm *um, const struct uhook_area *area,
			  const struct vm_area_struct *vma)
{
	/* Pairs with those who add. */
	unsigned int nr, used = smp_load_acquire(&area->used);
	int ret = 0;

	for (nr = 0; nr < used && !ret; nr++) {
		const struct uhook_set *set = uhook_body_nr(area, nr)->set;

		if (set && calls_into(set, file_inode(vma->vm_file)))
			ret = uhook_demote_site(vma->vm_mm, um, uhook_slot_nr(area, nr)->site);
	}

	return ret;
}

/**
 * uhook_file_munmap - a mapping is going
 * @vma: it
 *
 * If it is of a file, jumps to bodies that call functions of it become
 * breakpoints, which look for the functions again.
 *
 * Context: task, with the mmap lock held for writing.
 * Return: 0, or an error: a jump is still there.
 */
int uhook_file_munmap(struct vm_area_struct *vma)
{
	struct uhook_mm *um = uhook_mm_of(vma->vm_mm);
	unsigned int i;
	int ret = 0;

	if (likely(!um || !READ_ONCE(um->functions)) || !vma->vm_file)
		return 0;

	for (i = 0; i < um->nr_areas && !ret; i++) {
		if (um->areas[i]->kind == UHOOK_LONG_BODIES)
			ret = demote_callers(um, um->areas[i], vma);
	}

	return ret;
}
