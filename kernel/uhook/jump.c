// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: replacing breakpoints by jumps.
 *
 * A site has nothing, a breakpoint, or a jump to its body or to a hop that leads to its
 * body. The text alone says which: a jump is uhook's if it leads to the body of its own
 * site. So no state has to follow when text is copied for a child, unmapped, or mapped
 * again.
 *
 * Only the bytes of the probed instruction are written (and, on x86_64, int3 padding
 * after a return), all at once: the page is replaced by a copy, and its page table entry
 * is cleared and flushed before the new one is set, so that no thread sees a half-written
 * jump. No thread can be inside a single instruction. A jump never crosses a page
 * boundary, so all its bytes appear and disappear together.
 *
 * The mmap lock protects all of this: it is held for writing to write a jump, and for
 * reading or writing to turn a jump into a breakpoint.
 */
#include <linux/mm.h>
#include <linux/hook_base.h>
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
#include "handlers.h"
#include "hops.h"
#include "jump.h"
#include "sets.h"
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

static enum uhook_jump_blocker blocker_of_thread(const struct task_struct *task,
						 const struct uhook_set *set)
{
	if (READ_ONCE(task->ptrace))
		return UHOOK_BLOCKER_TRACED;
	/* current's rseq area does not show the critical sections of that thread. */
	if (hook_base_has_rseq(task) && !hook_base_has_rseq(current))
		return UHOOK_BLOCKER_RSEQ;

	return uhook_may_run(set, task) ? UHOOK_NO_BLOCKER : UHOOK_BLOCKER_CLOCK;
}

/* Checks of each thread that may take a jump. */
struct asked {
	const struct uhook_set	*set;
	enum uhook_jump_blocker		blocker;
};

static void ask_thread(struct task_struct *task, void *data)
{
	struct asked *asked = data;

	asked->blocker = asked->blocker ?: blocker_of_thread(task, asked->set);
}

/* All threads, also of processes that share the address space, will take the jump. */
static enum uhook_jump_blocker blocker_of_process(const struct uhook_set *set)
{
	struct asked asked = { .set = set };

	uhook_visit_users(ask_thread, &asked);

	return asked.blocker;
}

static bool fits_page(unsigned long site)
{
	return offset_in_page(site) <= PAGE_SIZE - UHOOK_JUMP_MAX;
}

/* Whether a site is in an atomic sequence; an error if that is unknown now. */
static int is_in_atomic(struct mm_struct *mm, unsigned long site)
{
	unsigned int len = min_t(unsigned int, offset_in_page(site), UHOOK_BYTES_BEFORE);
	unsigned int more = UHOOK_BYTES_BEFORE - len;
	u8 before[UHOOK_BYTES_BEFORE];
	struct vm_area_struct *vma;
	int ret;

	if (!UHOOK_BYTES_BEFORE)
		return false;

	/* The program may be unable to read its own text (PROT_EXEC alone). */
	ret = uhook_read_text(mm, site - len, before + more, len);
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

static enum uhook_jump_blocker find_blocker(struct uprobe *uprobe, struct vm_area_struct *vma,
					    unsigned long site, const struct uhook_body *body)
{
	int atomic;

	/* Check this first: changes of consumers are not reported for writable text. */
	if (vma->vm_flags & VM_WRITE)
		return UHOOK_BLOCKER_WRITABLE;
	if (uprobe_find_consumer(uprobe, needs_kernel, vma->vm_mm))
		return UHOOK_BLOCKER_KERNEL;
	if (uprobe_is_followed(uprobe, UHOOK_JUMP_MAX))
		return UHOOK_BLOCKER_NEIGHBOUR;
	if (!fits_page(site))
		return UHOOK_BLOCKER_PAGE;
	if (arch_uhook_is_landing(vma, body->before))
		return UHOOK_BLOCKER_LANDING;

	atomic = is_in_atomic(vma->vm_mm, site);
	if (atomic)
		return atomic < 0 ? UHOOK_BLOCKER_ERROR : UHOOK_BLOCKER_ATOMIC;

	return UHOOK_NO_BLOCKER;
}

/* The bytes of a site with its breakpoint. */
static void with_breakpoint(const u8 *before, u8 *bytes)
{
	const uprobe_opcode_t insn = UPROBE_SWBP_INSN;

	memcpy(bytes, before, UHOOK_JUMP_MAX);
	memcpy(bytes, &insn, UPROBE_SWBP_INSN_SIZE);
}

/*
 * The target of the jump: the body, or a hop, which is made if needed. Related processes
 * share the address of the last hop without a lock; it only says where to look first.
 */
static enum uhook_jump_blocker find_target(struct uhook_mm *um, const struct uhook_targets *targets,
					   struct uhook_body *body, unsigned long addr,
				  unsigned long *target)
{
	enum uhook_jump_blocker blocker;

	*target = addr;
	if (!targets->forced && addr >= targets->first && addr <= targets->last)
		return UHOOK_NO_BLOCKER;

	*target = READ_ONCE(body->hop);
	blocker = uhook_take_hop(um, targets, addr, target);
	if (!blocker)
		WRITE_ONCE(body->hop, *target);

	return blocker;
}

/* The body that the jump at a site leads to, if the jump is uhook's; or 0. */
static unsigned long own_body(const struct uhook_mm *um, unsigned long site, const u8 *text)
{
	unsigned long target = arch_uhook_jump_target(site, text), hop;
	unsigned long addr;

	if (!target || uhook_translate(um, target, &addr) != UHOOK_BEFORE || addr != site)
		return 0;

	hop = uhook_hop_body(um, target);

	return hop ?: target;
}

/* The rest of uhook_jump_to(), after it has updated before_rseq. */
static enum uhook_jump_blocker jump_to(struct uhook_mm *um, struct uprobe *uprobe,
				       struct vm_area_struct *vma, unsigned long addr)
{
	const struct uhook_slot *slot;
	struct uhook_body *body = uhook_body_at(um, addr, &slot);
	unsigned long site = slot->site;
	u8 text[UHOOK_JUMP_MAX], expected[UHOOK_JUMP_MAX];
	struct uhook_targets targets;
	struct uhook_jump jump;
	enum uhook_jump_blocker blocker;
	unsigned long target;

	blocker = find_blocker(uprobe, vma, site, body);
	if (blocker)
		return blocker;

	/* Use the current bytes after the instruction. */
	if (uhook_read_text(vma->vm_mm, site, text, sizeof(text)))
		return UHOOK_BLOCKER_ERROR;
	/* The jump exists, and the task came through it to the breakpoint of the body. */
	if (own_body(um, site, text) == addr)
		return UHOOK_NO_BLOCKER;
	memcpy(text, body->before, body->before_len);

	if (uhook_jump_targets(site, text, slot->insn_len, &targets))
		return UHOOK_BLOCKER_TAKEN;
	blocker = find_target(um, &targets, body, addr, &target);
	if (blocker)
		return blocker;

	if (uhook_make_jump(site, text, slot->insn_len, target, &jump))
		return UHOOK_BLOCKER_TAKEN;
	/* The program has changed the bytes after a return. */
	if (jump.len != body->before_len)
		return UHOOK_BLOCKER_ERROR;

	/* Check threads last, because there may be very many. */
	blocker = blocker_of_process(uhook_set_of(um, body));
	if (blocker)
		return blocker;

	/* Other CPUs may have fetched the body's memory before the body was written. */
	uhook_sync_code();
	with_breakpoint(text, expected);
	if (uhook_write_text(vma->vm_mm, vma->vm_mm, site, expected, jump.bytes, jump.len,
			     __GFP_NORETRY | __GFP_NOWARN))
		return UHOOK_BLOCKER_ERROR;

	return UHOOK_NO_BLOCKER;
}

/**
 * uhook_jump_to - replace a breakpoint by a jump
 * @um: state of current's address space
 * @uprobe: uprobe of the breakpoint
 * @vma: mapping of the text
 * @addr: the address of the body
 *
 * Context: task, with @um->lock and the mmap lock for writing held, between
 * rcu_read_lock_trace() and rcu_read_unlock_trace().
 * Return: 0, or the reason why the breakpoint stays.
 */
enum uhook_jump_blocker uhook_jump_to(struct uhook_mm *um, struct uprobe *uprobe,
				      struct vm_area_struct *vma, unsigned long addr)
{
	bool before = um->before_rseq;
	enum uhook_jump_blocker blocker;

	lockdep_assert_held(&um->lock);
	mmap_assert_write_locked(vma->vm_mm);
	if (!hook_base_has_rseq(current)) {
		WRITE_ONCE(um->before_rseq, true);
		/* Pairs with the smp_mb() in uhook_rseq_begins(). */
		smp_mb();
	}

	blocker = jump_to(um, uprobe, vma, addr);
	/* No jump was written that uhook_rseq_begins() would have to undo. */
	if (blocker && !before)
		WRITE_ONCE(um->before_rseq, false);

	return blocker;
}

/**
 * uhook_demote_site - turn the jump of a site, if any, into a breakpoint
 * @mm: address space
 * @um: state of the address space
 * @site: address of the site, whose next hit looks for its body again
 *
 * Context: task, with the mmap lock held.
 * Return: 0, or an error if the jump is still there.
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

	ret = uhook_read_text(mm, site, text, sizeof(text));
	if (ret)
		return ret == -ESTALE ? 0 : ret;

	addr = own_body(um, site, text);
	if (!addr)
		return 0;

	body = uhook_body_at(um, addr, &slot);
	with_breakpoint(body->before, bytes);
	ret = uhook_write_text(mm, um->payer ?: mm, site, text, bytes, body->before_len, 0);

	/* -ESTALE: the text has been changed meanwhile. */
	return ret == -ESTALE ? 0 : ret;
}

/**
 * uhook_jump_stays - check whether the jump of a site is right although a consumer has gone
 * @mm: address space
 * @um: state of the address space
 * @uprobe: uprobe of the site
 * @site: address of the site
 *
 * Context: task, with the mmap lock and the register_rwsem of @uprobe held.
 * Return: true if there is a jump to a body of just the hooks that remain.
 */
bool uhook_jump_stays(struct mm_struct *mm, const struct uhook_mm *um, struct uprobe *uprobe,
		      unsigned long site)
{
	const struct uhook_slot *slot;
	unsigned long addr = 0;
	u8 text[UHOOK_JUMP_MAX];

	mmap_assert_locked(mm);
	if (fits_page(site) && !uhook_read_text(mm, site, text, sizeof(text)))
		addr = own_body(um, site, text);
	if (!addr)
		return false;

	return !uprobe_find_consumer(uprobe, needs_kernel, mm) &&
	       uhook_is_set_of(uhook_set_of(um, uhook_body_at(um, addr, &slot)), uprobe, mm);
}

/**
 * uhook_demote_around - turn jumps that use the bytes of an instruction into breakpoints
 * @mm: address space
 * @um: state of the address space
 * @vaddr: address of the instruction
 *
 * Context: task, with the mmap lock held.
 * Return: 0, or an error if a jump is still there.
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

/*
 * Slots may be added to the area meanwhile, but not with sites of this address space,
 * because that takes the mmap lock.
 */
static int demote_area(struct mm_struct *mm, const struct uhook_mm *um,
		       const struct uhook_area *area, unsigned long start, unsigned long end)
{
	/* Pairs with enter_slot(): another owner of the area may add slots. */
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
 * uhook_demote - turn all jumps in a range into breakpoints
 * @mm: address space
 * @start: first address of the range
 * @end: first address after the range
 *
 * For code that moves, reads or writes text. Tasks that are using the jumps are not
 * affected. Later hits take the breakpoints and write the jumps again if possible.
 *
 * Context: task, with the mmap lock held.
 * Return: 0, or an error if a jump is still there.
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
 * uhook_demote_all - turn all jumps of a process into breakpoints
 * @task: thread of the process that is now traced, or may no longer read the clock
 *
 * A debugger recognizes breakpoints and steps over them, but knows nothing of jumps and
 * bodies. Later hits write the jumps again if possible.
 *
 * Context: task; sleeps.
 * Return: 0, or an error if some jumps are still there, and work.
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
 * uhook_rseq_begins - demote jumps when current registers for restartable sequences
 *
 * Before the registration, writers of jumps could not learn from current which sites are
 * in critical sections, where jumps are not allowed.
 *
 * Context: task; sleeps.
 * Return: 0, or an error if some jumps are still there.
 */
int uhook_rseq_begins(void)
{
	struct uhook_mm *um;
	int ret;

	/* Either uhook_jump_to() sees the registration, or this function sees before_rseq set. */
	smp_mb();
	um = uhook_mm_of(current->mm);
	if (likely(!um || !READ_ONCE(um->before_rseq)))
		return 0;

	ret = uhook_demote_all(current);
	if (!ret)
		WRITE_ONCE(um->before_rseq, false);

	return ret;
}
