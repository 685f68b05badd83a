// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: what happens at a hit when hooks do something in the program.
 *
 * The first hit of a site in a process makes a body, and puts a jump in the place
 * of the breakpoint if nobody wants to be called in the kernel; that hit goes on
 * in the body, and so do those that still take the breakpoint. Where there can be
 * no body the kernel does in its stead what the handlers would have done.
 *
 * A site keeps the body that is made for the hooks that are there. When one comes
 * or goes uprobes tell, with the mmap lock held, and the next hit looks again; so
 * what is decided here is decided with that lock held for writing.
 *
 * The three forms of US9336001 and IPCOM000199322 are states of a site: a
 * breakpoint whose handler in the kernel moves the instruction pointer to the
 * body; a jump to a body that begins with a breakpoint; and a jump to one without.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/rseq.h>
#include <linux/sched.h>
#include <linux/uhook.h>
#include <linux/uhook_hooks.h>
#include <asm/uhook.h>

#include "consumers.h"
#include "jump.h"
#include "rings.h"
#include "sites.h"
#include "slots.h"
#include "stubs.h"
#include "sums.h"
#include "tracefs.h"

/* There is no body: do here what hooks do in the program, if they can. */
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

/* Exceptions that went on in bodies which do not count. */
static DEFINE_PER_CPU(unsigned long, uncounted);

/*
 * Where a task goes on that comes from a breakpoint, and count it: the body counts
 * for its hooks, too. 0 if the task cannot do what they want.
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

/* What the handlers of a set need in the process, and whether current can run them. */
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

/* The body is there, and nobody knows it yet. */
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

	/* Who has come while the program could write here did not tell. */
	if (site->body && site->bar == UHOOK_BAR_WRITABLE)
		uhook_forget_body(um, site->vaddr);
	/* It may have a jump by now, which others go through. */
	if (site->body) {
		if (site->bar)
			site->bar = uhook_jump_to(um, uprobe, vma, site->body);
		return;
	}

	wanted.set = uhook_make_set(uprobe, current->mm);
	if (IS_ERR_OR_NULL(wanted.set)) {
		WRITE_ONCE(site->body_verdict, wanted.set ? UHOOK_NO_MEMORY : UHOOK_NO_HOOK);
		return;
	}

	verdict = take_body(um, &wanted, uprobe, &addr);
	uhook_put_set(wanted.set);
	if (verdict) {
		WRITE_ONCE(site->body_verdict, verdict);
		return;
	}

	site->bar = uhook_jump_to(um, uprobe, vma, addr);
	/* Whoever sees the address sees what is there: body_of(). */
	smp_store_release(&site->body, addr);
}

/* From a tenth of a second on, half as often each time: some bars never pass. */
#define FIRST_PAUSE	(HZ / 10)
#define MAX_DOUBLED	6

static unsigned long pause_of(struct uhook_site *site)
{
	unsigned int tries = READ_ONCE(site->tries);

	if (tries < MAX_DOUBLED)
		WRITE_ONCE(site->tries, tries + 1);

	return FIRST_PAUSE << tries;
}

/* Not at each hit. */
static bool looked_lately(const struct uhook_site *site)
{
	return time_before(jiffies, READ_ONCE(site->again));
}

static void look_for_body(struct uhook_site *site, struct uprobe *uprobe,
			  struct arch_uprobe *auprobe)
{
	struct uhook_mm *um = uhook_mm_of(current->mm);

	/* Looks at memory of the program, and so does not like the lock. */
	if (rseq_is_in_section(site->vaddr)) {
		WRITE_ONCE(site->body_verdict, UHOOK_IN_RSEQ);
		return;
	}

	if (mutex_lock_killable(&um->lock))
		return;
	/* Who was hit while another one made it has waited, and has it now. */
	if (!looked_lately(site) && !mmap_write_lock_killable(current->mm)) {
		make_body(um, site, uprobe, auprobe);
		WRITE_ONCE(site->again, jiffies + pause_of(site));
		mmap_write_unlock(current->mm);
	}
	mutex_unlock(&um->lock);
}

/* Is a bar one that goes, without anybody telling? */
static bool may_pass(enum uhook_bar bar)
{
	switch (bar) {
	case UHOOK_BAR_WRITABLE:
	case UHOOK_BAR_TRACED:
	case UHOOK_BAR_SHARED:
	case UHOOK_BAR_CLOCK:
	case UHOOK_BAR_RSEQ:
	case UHOOK_BAR_ERROR:
		return true;
	default:
		return false;
	}
}

/* Areas that are shared take nothing new until the relatives have gone who have them. */
static bool may_have_body(enum uhook_verdict verdict)
{
	return verdict == UHOOK_FULL || uhook_may_try(verdict);
}

static unsigned long body_of(struct uhook_site *site, struct uprobe *uprobe,
			     struct arch_uprobe *auprobe)
{
	/* Pairs with make_body(). */
	unsigned long body = smp_load_acquire(&site->body);

	if (body ? !may_pass(READ_ONCE(site->bar)) : !may_have_body(READ_ONCE(site->body_verdict)))
		return body;
	if (looked_lately(site))
		return body;

	look_for_body(site, uprobe, auprobe);

	/* The same. */
	return smp_load_acquire(&site->body);
}

/**
 * uhook_enter_body - let hooks do in the program what they do there
 * @site: what was hit, or NULL
 * @uprobe: the uprobe
 * @auprobe: its instruction
 * @regs: the task's registers, at the site, after the consumers
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace() of the hit;
 * sleeps when the body has to be made.
 * Return: true if the task will go on in a body, which does the rest; false if
 * the instruction has to be dealt with.
 */
bool uhook_enter_body(struct uhook_site *site, struct uprobe *uprobe,
		      struct arch_uprobe *auprobe, struct pt_regs *regs)
{
	unsigned long addr = 0;

	/* A debugger would see the code of the body. */
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
 * uhook_hooks_change - who is interested in a place changes, or a breakpoint does
 * @mm: where
 * @vaddr: the place
 *
 * Jumps over it, and those that need its bytes, become breakpoints.
 *
 * Context: task, with the mmap lock held.
 * Return: 0, or an error: a jump is still there.
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
 * uhook_hits_jumped - how many hits there were that no exception told of
 *
 * A task that the kernel has sent to a body may not have counted yet. Those that only
 * go by way of a stub are not known.
 *
 * Context: task; sleeps.
 * Return: the number, of all processes.
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
