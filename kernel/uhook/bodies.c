// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: entering bodies, at hits of hooks that do work in the program.
 *
 * The first hit of a site in a process makes a body, and replaces the breakpoint by a
 * jump if no consumer needs to be called in the kernel. That hit continues in the body,
 * and so do later hits that still take the breakpoint. Where no body is possible, the
 * kernel does the work of the handlers instead.
 *
 * A site keeps the body that was made for its present hooks. When a hook is added or
 * removed, uprobes call uhook_hooks_change() with the mmap lock held, and the next hit
 * looks for a body again; so decisions here are made with that lock held for writing.
 *
 * The three forms of US9336001 and IPCOM000199322 are states of a site: a breakpoint
 * whose handler in the kernel moves the instruction pointer to the body, a jump to a body
 * that begins with a breakpoint, and a jump to a body without one.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rseq.h>
#include <linux/sched.h>
#include <linux/uhook.h>
#include <linux/uhook_hooks.h>
#include <asm/uhook.h>

#include "areas.h"
#include "consumers.h"
#include "counters.h"
#include "handlers.h"
#include "hops.h"
#include "jump.h"
#include "kinds.h"
#include "rings.h"
#include "sets.h"
#include "sites.h"
#include "slots.h"
#include "stubs.h"
#include "sums.h"
#include "tracefs.h"
#include "translate.h"

/* Without a body, do the work of a hook in the kernel, where possible. */
static bool hit_consumer(struct uprobe_consumer *uc, void *regs)
{
	struct uhook_ops *ops = uhook_consumer_ops(uc);
	struct uhook_counter *counter;

	if (!ops || !uhook_needs_body(ops) || !uhook_wanted_in(ops, current->mm))
		return false;

	counter = uhook_consumer_counter(uc);
	uhook_count_user(counter, false);
	if (counter->kind->in_kernel)
		counter->kind->in_kernel(ops, regs);

	return false;
}

/* Exceptions after which the task continued in a body that does not count. */
static DEFINE_PER_CPU(unsigned long, uncounted);

/*
 * Count a hit whose breakpoint was taken, for all hooks of the body, because the body
 * counts it, too. Return the address in the body at which the task continues, or 0 if the
 * task may not run the handlers.
 */
static unsigned long enter(const struct uhook_mm *um, unsigned long addr)
{
	const struct uhook_slot *slot;
	const struct uhook_set *set;
	unsigned int i;

	rcu_read_lock();
	set = rcu_dereference(uhook_body_at(um, addr, &slot)->set);
	if (!uhook_may_run(set, current))
		addr = 0;
	for (i = 0; addr && i < set->nr; i++)
		uhook_count_user(set->counters[i], true);
	if (addr && !(set->traits & UHOOK_COUNTS))
		this_cpu_inc(uncounted);
	if (addr && (set->traits & UHOOK_BREAKS))
		addr += UPROBE_SWBP_INSN_SIZE;
	rcu_read_unlock();

	return addr;
}

/* Find what the handlers of a set need in the process, and check that current may run them. */
static enum uhook_verdict find_all(struct uhook_mm *um, struct uhook_wanted *wanted,
				   struct uprobe *uprobe)
{
	enum uhook_verdict verdict = UHOOK_GRANTED;
	unsigned int i;

	if (!uhook_may_run(wanted->set, current))
		return UHOOK_NO_CLOCK;
	for (i = 0; i < wanted->set->nr && !verdict; i++) {
		const struct uhook_kind *kind = wanted->set->counters[i]->kind;

		if (kind->find)
			verdict = kind->find(um, wanted, i, uprobe);
	}

	return verdict;
}

/* Finish a body, whose address has not been published yet. */
static enum uhook_verdict finish_all(struct uhook_mm *um, const struct uhook_wanted *wanted,
				     unsigned long addr)
{
	enum uhook_verdict verdict = UHOOK_GRANTED;
	unsigned int i, nr = 0;

	for (i = 0; i < wanted->set->nr && !verdict; i++) {
		const struct uhook_kind *kind = wanted->set->counters[i]->kind;

		if (kind->finish)
			verdict = kind->finish(um, wanted, i, addr, nr++);
	}

	return verdict;
}

static enum uhook_verdict take_body(struct uhook_mm *um, struct uhook_wanted *wanted,
				    struct uprobe *uprobe, unsigned long *addr)
{
	enum uhook_verdict verdict = find_all(um, wanted, uprobe);

	if (verdict)
		return verdict;
	if (wanted->set->traits & UHOOK_BREAKS)
		WRITE_ONCE(um->breaks, true);

	return uhook_take_slot(um, wanted, addr) ?: finish_all(um, wanted, *addr);
}

static void make_body(struct uhook_mm *um, struct uhook_site *site, struct uprobe *uprobe,
		      struct arch_uprobe *auprobe)
{
	struct uhook_wanted wanted = {
		.site	= site->vaddr,
		.insn	= &auprobe->insn,
		.size	= sizeof(auprobe->insn),
	};
	struct vm_area_struct *vma = vma_lookup(current->mm, site->vaddr);
	enum uhook_verdict verdict;
	unsigned long addr;

	if (!vma || !uprobe_is_at(uprobe, vma, site->vaddr) || !uhook_is_known(um, site))
		return;

	/* Hooks added while the text was writable were not reported. */
	if (site->body && site->blocker == UHOOK_BLOCKER_WRITABLE)
		uhook_forget_body(um, site->vaddr);
	/* Other threads may have written the jump meanwhile. */
	if (site->body) {
		if (site->blocker)
			site->blocker = uhook_jump_to(um, uprobe, vma, site->body);
		return;
	}

	wanted.set = uhook_make_set(uprobe, current->mm);
	if (IS_ERR_OR_NULL(wanted.set)) {
		WRITE_ONCE(site->body_verdict, wanted.set ? UHOOK_NO_MEMORY : UHOOK_NO_HOOK);
		return;
	}

	wanted.kind = wanted.set->traits & UHOOK_LONG ? UHOOK_LONG_BODIES : UHOOK_BODIES;
	verdict = take_body(um, &wanted, uprobe, &addr);
	uhook_put_set(wanted.set);
	if (verdict) {
		WRITE_ONCE(site->body_verdict, verdict);
		return;
	}

	site->blocker = uhook_jump_to(um, uprobe, vma, addr);
	/* Publish the body before its address: body_of(). */
	smp_store_release(&site->body, addr);
}

/* Retry after 0.1 s, and double the pause each time: some obstacles are permanent. */
#define FIRST_PAUSE	(HZ / 10)
#define MAX_DOUBLED	6

static unsigned long pause_of(struct uhook_site *site)
{
	unsigned int tries = READ_ONCE(site->tries);

	if (tries < MAX_DOUBLED)
		WRITE_ONCE(site->tries, tries + 1);

	return FIRST_PAUSE << tries;
}

/* Limit the rate of retries. */
static bool looked_lately(const struct uhook_site *site)
{
	return time_before(jiffies, READ_ONCE(site->again));
}

/* Returns the address of a function that has to be read first, or 0. */
static unsigned long try_body(struct uhook_site *site, struct uprobe *uprobe,
			      struct arch_uprobe *auprobe)
{
	struct uhook_mm *um = uhook_mm_of(current->mm);
	unsigned long unread;

	if (mutex_lock_killable(&um->lock))
		return 0;
	/* Another thread may have made the body while this one waited. */
	if (!looked_lately(site) && !mmap_write_lock_killable(current->mm)) {
		make_body(um, site, uprobe, auprobe);
		WRITE_ONCE(site->again, jiffies + pause_of(site));
		mmap_write_unlock(current->mm);
	}
	unread = um->unread;
	um->unread = 0;
	mutex_unlock(&um->lock);

	return unread;
}

static void look_for_body(struct uhook_site *site, struct uprobe *uprobe,
			  struct arch_uprobe *auprobe)
{
	unsigned long unread;

	/* Reads memory of the program, so call it before taking the mmap lock. */
	if (rseq_is_in_section(site->vaddr)) {
		WRITE_ONCE(site->body_verdict, UHOOK_IN_RSEQ);
		return;
	}

	unread = try_body(site, uprobe, auprobe);
	/* The file system may take its time, so no lock is held. Then hits need not wait. */
	if (unread && !fault_in_readable((const char __user *)unread, 1)) {
		WRITE_ONCE(site->again, jiffies);
		try_body(site, uprobe, auprobe);
	}
}

/* Whether the reason may vanish without a notification. */
static bool may_pass(enum uhook_jump_blocker blocker)
{
	switch (blocker) {
	case UHOOK_BLOCKER_WRITABLE:
	case UHOOK_BLOCKER_NEIGHBOUR:
	case UHOOK_BLOCKER_TRACED:
	case UHOOK_BLOCKER_SHARED:
	case UHOOK_BLOCKER_CLOCK:
	case UHOOK_BLOCKER_RSEQ:
	case UHOOK_BLOCKER_ERROR:
		return true;
	default:
		return false;
	}
}

/* UHOOK_FULL is temporary if areas are shared: retry, the other owners may have exited. */
static bool may_have_body(enum uhook_verdict verdict)
{
	return verdict == UHOOK_FULL || uhook_may_try(verdict);
}

static unsigned long body_of(struct uhook_site *site, struct uprobe *uprobe,
			     struct arch_uprobe *auprobe)
{
	/* Pairs with make_body(). */
	unsigned long body = smp_load_acquire(&site->body);

	if (body ? !may_pass(READ_ONCE(site->blocker)) :
		   !may_have_body(READ_ONCE(site->body_verdict)))
		return body;
	if (looked_lately(site))
		return body;

	look_for_body(site, uprobe, auprobe);

	/* Pairs with make_body(). */
	return smp_load_acquire(&site->body);
}

/**
 * uhook_enter_body - continue a hit in a body, which runs the handlers in the program
 * @site: the site that was hit, or NULL
 * @uprobe: the uprobe
 * @auprobe: its instruction
 * @regs: registers of current at the site, after the consumers have run
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace() of the hit; sleeps
 * if the body has to be made.
 * Return: true if the task continues in a body, which does the rest; false if the caller
 * must step, boost or emulate the instruction.
 */
bool uhook_enter_body(struct uhook_site *site, struct uprobe *uprobe,
		      struct arch_uprobe *auprobe, struct pt_regs *regs)
{
	unsigned long addr = 0;

	/* Do not show a debugger the code of a body. */
	if (site && arch_uhook_may_boost(regs) && !current->ptrace)
		addr = body_of(site, uprobe, auprobe);
	if (addr && !rseq_is_in_section(site->vaddr))
		addr = enter(uhook_mm_of(current->mm), addr);
	else
		addr = 0;
	if (!addr) {
		uprobe_find_consumer(uprobe, hit_consumer, regs);
		return false;
	}

	instruction_pointer_set(regs, addr);
	uhook_count(UHOOK_USER);

	return true;
}

/**
 * uhook_breakpoint_site - find the site of a breakpoint
 * @vaddr: address of the breakpoint in current's address space
 *
 * Context: task, or the exception of the breakpoint.
 * Return: the site, if the breakpoint is in a body; otherwise @vaddr.
 */
unsigned long uhook_breakpoint_site(unsigned long vaddr)
{
	struct uhook_mm *um = uhook_mm_of(current->mm);
	unsigned long site;

	if (likely(!um || !READ_ONCE(um->breaks)))
		return vaddr;

	return uhook_translate(um, vaddr, &site) == UHOOK_BEFORE ? site : vaddr;
}

/**
 * uhook_hooks_change - react to a change of consumers or of a breakpoint
 * @mm: address space
 * @vaddr: address of the changed instruction
 *
 * Turn jumps at this address, and jumps that need its bytes, into breakpoints.
 *
 * Context: task, with the mmap lock held.
 * Return: 0, or an error if a jump is still there.
 */
int uhook_hooks_change(struct mm_struct *mm, unsigned long vaddr)
{
	struct uhook_mm *um = uhook_mm_of(mm);

	mmap_assert_locked(mm);
	if (!um)
		return 0;

	uhook_forget_body(um, vaddr);

	return uhook_has_jumps(um) ? uhook_demote_around(mm, um, vaddr) : 0;
}

/**
 * uhook_hooks_go - react to a consumer that has gone, or applies to fewer processes
 * @uprobe: its uprobe, which others remain of
 * @mm: address space
 * @vaddr: address of the instruction
 *
 * A jump that suits those that remain stays: an unprivileged user may open and close an
 * event for his own processes in a loop, and the hits of others must not pay for it.
 *
 * Context: task, with the mmap lock and the register_rwsem of @uprobe held.
 * Return: 0, or an error if a jump is still there that must not be.
 */
int uhook_hooks_go(struct uprobe *uprobe, struct mm_struct *mm, unsigned long vaddr)
{
	struct uhook_mm *um = uhook_mm_of(mm);

	mmap_assert_locked(mm);

	return um && uhook_jump_stays(mm, um, uprobe, vaddr) ? 0 : uhook_hooks_change(mm, vaddr);
}

/**
 * uhook_hits_jumped - number of hits without an exception
 *
 * The result may lag: a task that the kernel has sent to a body may not have counted yet.
 * Hits that only go through a stub are not included.
 *
 * Context: task; sleeps.
 * Return: the number of hits in all processes.
 */
u64 uhook_hits_jumped(void)
{
	s64 jumped;
	int cpu;

	uhook_hold_counts();
	jumped = uhook_bodies_run();
	uhook_release_counts();
	jumped -= uhook_hits_of(UHOOK_USER);
	for_each_possible_cpu(cpu)
		jumped += READ_ONCE(per_cpu(uncounted, cpu));

	return max(jumped, 0);
}

/**
 * uhook_put_handlers - add up and free the data that bodies of an address space wrote
 * @um: the address space, which no task uses any more
 *
 * Its hops and stubs are freed as well, its areas are not.
 */
void uhook_put_handlers(struct uhook_mm *um)
{
	uhook_fold_data(um);
	uhook_put_hops(um);
	uhook_put_stubs(um);
}
