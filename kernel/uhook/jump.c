// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: jumps in the place of breakpoints.
 *
 * A site has nothing, a breakpoint, or a jump to its body or to a hop that leads
 * there. Which of these it has is what is in the text: a jump is uhook's if it
 * leads to the body of the site that it is at. So nothing has to be kept when
 * text is copied for a child, unmapped, or mapped anew.
 *
 * Only the bytes of the probed instruction are written (and breakpoints behind a
 * return, on x86_64), all at once: the page is replaced by a copy, and its entry in the page
 * table is cleared and flushed before the other one is set, so that no thread
 * sees half of it. A thread cannot be parked inside of one instruction. A jump
 * never crosses the end of a page, so that all its bytes come and go together.
 *
 * The mmap lock protects all of this: jumps are written with it held for writing,
 * and become breakpoints with it held at all.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uhook_hooks.h>
#include <linux/uprobes.h>
#include <asm/uhook.h>

#include "areas.h"
#include "consumers.h"
#include "hops.h"
#include "jump.h"
#include "sites.h"
#include "translate.h"
#include "users.h"

static bool needs_kernel(struct uprobe_consumer *uc, void *mm)
{
	struct uhook_ops *ops = uhook_consumer_ops(uc);

	if (!ops)
		return !uc->filter || uc->filter(uc, mm);

	return uhook_wanted_in(ops, mm) &&
	       ((ops->handler && !(ops->flags & UHOOK_FL_IN_BODY)) || ops->ret_handler);
}

static bool has_rseq(const struct task_struct *task)
{
#ifdef CONFIG_RSEQ
	return READ_ONCE(task->rseq);
#else
	return false;
#endif
}

static enum uhook_bar bar_of_thread(const struct task_struct *task, const struct uhook_set *set)
{
	if (READ_ONCE(task->ptrace))
		return UHOOK_BAR_TRACED;
	/* Of that what is a critical section cannot be learnt from current. */
	if (has_rseq(task) && !has_rseq(current))
		return UHOOK_BAR_RSEQ;

	return uhook_may_run(set, task) ? UHOOK_NO_BAR : UHOOK_BAR_CLOCK;
}

/* What is asked of each thread that may take a jump. */
struct asked {
	const struct uhook_set	*set;
	enum uhook_bar		bar;
};

static void ask_thread(struct task_struct *task, void *data)
{
	struct asked *asked = data;

	asked->bar = asked->bar ?: bar_of_thread(task, asked->set);
}

/* All threads will take the jump, and processes that share the address space. */
static enum uhook_bar bar_of_process(const struct uhook_set *set)
{
	struct asked asked = { .set = set };

	uhook_visit_users(ask_thread, &asked);

	return asked.bar;
}

static bool fits_page(unsigned long site)
{
	return offset_in_page(site) <= PAGE_SIZE - UHOOK_JUMP_MAX;
}

/* Returns an error if the bytes before the site cannot be read now. */
static int is_in_atomic(struct mm_struct *mm, unsigned long site)
{
	unsigned int len = min_t(unsigned int, offset_in_page(site), UHOOK_BYTES_BEFORE);
	unsigned int more = UHOOK_BYTES_BEFORE - len;
	u8 before[UHOOK_BYTES_BEFORE];
	struct vm_area_struct *vma;
	int ret;

	if (!UHOOK_BYTES_BEFORE)
		return false;

	/* The program itself may not be able to read it: PROT_EXEC alone. */
	ret = uprobe_read_text(mm, site - len, before + more, len);
	if (ret)
		return ret;
	if (!copy_from_user_nofault(before, (void __user *)(site - UHOOK_BYTES_BEFORE), more))
		return uhook_is_atomic(before, UHOOK_BYTES_BEFORE);

	/* The previous page is absent or unreadable, which matters if it has code. */
	vma = vma_lookup(mm, site - len - 1);
	if (vma && vma->vm_flags & VM_EXEC)
		return -EAGAIN;

	return uhook_is_atomic(before + more, len);
}

static enum uhook_bar find_bar(struct uprobe *uprobe, struct vm_area_struct *vma,
			       unsigned long site, const struct uhook_body *body)
{
	int atomic;

	/* The first of all: who comes and goes meanwhile does not say so here. */
	if (vma->vm_flags & VM_WRITE)
		return UHOOK_BAR_WRITABLE;
	if (uprobe_find_consumer(uprobe, needs_kernel, vma->vm_mm))
		return UHOOK_BAR_KERNEL;
	if (uprobe_is_followed(uprobe, UHOOK_JUMP_MAX))
		return UHOOK_BAR_NEIGHBOUR;
	if (!fits_page(site))
		return UHOOK_BAR_PAGE;
	if (arch_uhook_is_landing(vma, body->before))
		return UHOOK_BAR_LANDING;

	atomic = is_in_atomic(vma->vm_mm, site);
	if (atomic)
		return atomic < 0 ? UHOOK_BAR_ERROR : UHOOK_BAR_ATOMIC;

	return UHOOK_NO_BAR;
}

/* What a site looks like with its breakpoint. */
static void with_breakpoint(const u8 *before, u8 *bytes)
{
	const uprobe_opcode_t insn = UPROBE_SWBP_INSN;

	memcpy(bytes, before, UHOOK_JUMP_MAX);
	memcpy(bytes, &insn, UPROBE_SWBP_INSN_SIZE);
}

/* Where the jump goes: to the body, or to a hop, which is made. */
static enum uhook_bar find_target(struct uhook_mm *um, const struct uhook_targets *targets,
				  struct uhook_body *body, unsigned long addr,
				  unsigned long *target)
{
	enum uhook_bar bar;

	*target = addr;
	if (!targets->forced && addr >= targets->first && addr <= targets->last)
		return UHOOK_NO_BAR;

	bar = uhook_take_hop(um, targets, addr, &body->hop);
	*target = body->hop;

	return bar;
}

/* The body that a jump leads to, if it is the jump of its site; or 0. */
static unsigned long own_body(const struct uhook_mm *um, unsigned long site, const u8 *text)
{
	unsigned long target = arch_uhook_jump_target(site, text), hop;
	unsigned long addr;

	if (!target || uhook_translate(um, target, &addr) != UHOOK_BEFORE || addr != site)
		return 0;

	hop = uhook_hop_body(um, target);

	return hop ?: target;
}

/* What uhook_jump_to() does, once it has been noted for whom. */
static enum uhook_bar jump_to(struct uhook_mm *um, struct uprobe *uprobe,
			      struct vm_area_struct *vma, unsigned long addr)
{
	const struct uhook_slot *slot;
	struct uhook_body *body = uhook_body_at(um, addr, &slot);
	unsigned long site = slot->site;
	u8 text[UHOOK_JUMP_MAX], expected[UHOOK_JUMP_MAX];
	struct uhook_targets targets;
	struct uhook_jump jump;
	enum uhook_bar bar;
	unsigned long target;

	bar = find_bar(uprobe, vma, site, body);
	if (bar)
		return bar;

	/* The bytes behind the instruction are what they are now. */
	if (uprobe_read_text(vma->vm_mm, site, text, sizeof(text)))
		return UHOOK_BAR_ERROR;
	/* It is one already, which a task has come through to a breakpoint. */
	if (own_body(um, site, text) == addr)
		return UHOOK_NO_BAR;
	memcpy(text, body->before, body->before_len);

	if (uhook_jump_targets(site, text, slot->insn_len, &targets))
		return UHOOK_BAR_TAKEN;
	bar = find_target(um, &targets, body, addr, &target);
	if (bar)
		return bar;

	if (uhook_make_jump(site, text, slot->insn_len, target, &jump))
		return UHOOK_BAR_TAKEN;
	/* The program has changed what is behind a return. */
	if (jump.len != body->before_len)
		return UHOOK_BAR_ERROR;

	/* The last of all, because there may be very many. */
	bar = bar_of_process(uhook_set_of(um, body));
	if (bar)
		return bar;

	/* What other CPUs have fetched of the body before it was written. */
	if (!body->fetched)
		uhook_sync_code();
	body->fetched = true;
	with_breakpoint(text, expected);
	if (uprobe_write_text(vma->vm_mm, vma->vm_mm, site, expected, jump.bytes, jump.len,
			      __GFP_NORETRY | __GFP_NOWARN))
		return UHOOK_BAR_ERROR;

	return UHOOK_NO_BAR;
}

/**
 * uhook_jump_to - make a jump of a breakpoint
 * @um: current's
 * @uprobe: whose breakpoint it is
 * @vma: of the text
 * @addr: the address of the body
 *
 * Context: task, with @um->lock and the mmap lock for writing held, between
 * rcu_read_lock_trace() and rcu_read_unlock_trace().
 * Return: 0, or why the breakpoint stays.
 */
enum uhook_bar uhook_jump_to(struct uhook_mm *um, struct uprobe *uprobe,
			     struct vm_area_struct *vma, unsigned long addr)
{
	bool before = um->before_rseq;
	enum uhook_bar bar;

	lockdep_assert_held(&um->lock);
	mmap_assert_write_locked(vma->vm_mm);
	if (!has_rseq(current)) {
		WRITE_ONCE(um->before_rseq, true);
		/* Pairs with that in uhook_rseq_begins(). */
		smp_mb();
	}

	bar = jump_to(um, uprobe, vma, addr);
	/* A thread that registers need not undo what has not been done. */
	if (bar && !before)
		WRITE_ONCE(um->before_rseq, false);

	return bar;
}

/**
 * uhook_demote_site - make a breakpoint of a jump, if there is one
 * @mm: where
 * @um: its
 * @site: the site, which looks for its body again
 *
 * Context: task, with the mmap lock held.
 * Return: 0, or an error: the jump is still there.
 */
int uhook_demote_site(struct mm_struct *mm, const struct uhook_mm *um, unsigned long site)
{
	u8 text[UHOOK_JUMP_MAX], bytes[UHOOK_JUMP_MAX];
	const struct uhook_slot *slot;
	const struct uhook_body *body;
	unsigned long addr;
	int ret;

	mmap_assert_locked(mm);
	uhook_forget_body(um, site);
	if (!fits_page(site))
		return 0;

	ret = uprobe_read_text(mm, site, text, sizeof(text));
	if (ret)
		return ret == -ESTALE ? 0 : ret;

	addr = own_body(um, site, text);
	if (!addr)
		return 0;

	body = uhook_body_at(um, addr, &slot);
	with_breakpoint(body->before, bytes);
	ret = uprobe_write_text(mm, um->payer ?: mm, site, text, bytes, body->before_len, 0);

	/* Somebody else was faster. */
	return ret == -ESTALE ? 0 : ret;
}

/**
 * uhook_demote_around - make breakpoints of the jumps that need some bytes
 * @mm: where
 * @um: its
 * @vaddr: the address of an instruction
 *
 * Context: task, with the mmap lock held.
 * Return: 0, or an error: a jump is still there.
 */
int uhook_demote_around(struct mm_struct *mm, const struct uhook_mm *um, unsigned long vaddr)
{
	unsigned long site;
	int ret = 0;

	mmap_assert_locked(mm);
	for (site = vaddr - UHOOK_JUMP_MAX + 1; site <= vaddr && !ret; site++) {
		if (IS_ALIGNED(site, UPROBE_SWBP_INSN_SIZE))
			ret = uhook_demote_site(mm, um, site);
	}

	return ret;
}

/* Sites are added while we look, but not here: that takes the mmap lock. */
static int demote_area(struct mm_struct *mm, const struct uhook_mm *um,
		       const struct uhook_area *area, unsigned long start, unsigned long end)
{
	/* Pairs with enter_slot(): a relative may add some. */
	unsigned int nr, used = smp_load_acquire(&area->used);
	int ret = 0;

	for (nr = 0; nr < used && !ret; nr++) {
		unsigned long site = uhook_slot_nr(area, nr)->site;

		if (site && site < end && site + UHOOK_JUMP_MAX > start)
			ret = uhook_demote_site(mm, um, site);
	}

	return ret;
}

/**
 * uhook_demote - make breakpoints of all jumps in a range
 * @mm: where
 * @start: its first address
 * @end: the address behind it
 *
 * For those who move text, look at it or write to it. Tasks that use the jumps
 * go on; breakpoints are hit next, and become jumps again if they may.
 *
 * Context: task, with the mmap lock held.
 * Return: 0, or an error: a jump is still there.
 */
int uhook_demote(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	struct uhook_mm *um = uhook_mm_of(mm);
	unsigned int i;
	int ret = 0;

	mmap_assert_locked(mm);
	if (likely(!um || !uhook_has_jumps(um)))
		return 0;

	for (i = 0; i < um->nr_areas && !ret; i++) {
		if (uhook_has_bodies(um->areas[i]->kind))
			ret = demote_area(mm, um, um->areas[i], start, end);
	}

	return ret;
}

/**
 * uhook_demote_all - make breakpoints of all jumps of a process
 * @task: one of its threads, which has got a tracer, or may not read the clock any
 *	more
 *
 * A debugger sees breakpoints, and steps over them, but not jumps and what they
 * lead to. Those that may be jumps become that again when they are hit.
 *
 * Context: task; sleeps.
 * Return: 0, or an error: some are still there, and work.
 */
int uhook_demote_all(struct task_struct *task)
{
	struct mm_struct *mm = get_task_mm(task);
	int ret = 0;

	if (!mm)
		return 0;

	if (uhook_mm_of(mm)) {
		ret = mmap_read_lock_killable(mm);
		if (!ret) {
			ret = uhook_demote(mm, 0, TASK_SIZE_MAX);
			mmap_read_unlock(mm);
		}
	}
	mmput(mm);

	return ret;
}

/**
 * uhook_rseq_begins - current has registered for restartable sequences
 *
 * Until now it could not be learnt from it what is a critical section, in which no
 * jump may be.
 *
 * Context: task; sleeps.
 * Return: 0, or an error: some jumps are still there.
 */
int uhook_rseq_begins(void)
{
	struct uhook_mm *um;
	int ret;

	/* Either this is seen by who writes a jump, or that by us. */
	smp_mb();
	um = uhook_mm_of(current->mm);
	if (likely(!um || !READ_ONCE(um->before_rseq)))
		return 0;

	ret = uhook_demote_all(current);
	if (!ret)
		WRITE_ONCE(um->before_rseq, false);

	return ret;
}
