// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: boost, which continues a task in a slot instead of single-stepping it; and
 * counts of the outcomes of hits.
 *
 * A task stays in a slot for one instruction and a jump; leave.c hides this from others.
 * A task that a debugger single-steps does not enter slots.
 *
 * The booster of kprobes is mainline's counterpart; US9336001 also returns from the
 * trampoline to the next instruction.
 */
#include <linux/mm_types.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/uhook_hooks.h>
#include <linux/uprobes.h>
#include <asm/uhook.h>

#include "sites.h"
#include "slots.h"
#include "tracefs.h"

static DEFINE_PER_CPU(unsigned long, hits[UHOOK_OUTCOMES]);

/* Count a hit with this outcome. */
void uhook_count(enum uhook_outcome outcome)
{
	this_cpu_inc(hits[outcome]);
}

/* Number of hits with this outcome, in all processes. */
unsigned long uhook_hits_of(enum uhook_outcome outcome)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(hits[outcome], cpu));

	return sum;
}

static unsigned long make_slot(struct uhook_site *site, struct arch_uprobe *auprobe)
{
	const struct uhook_wanted wanted = {
		.site	= site->vaddr,
		.insn	= &auprobe->insn,
		.size	= sizeof(auprobe->insn),
	};
	struct uhook_mm *um = uhook_mm_of(current->mm);
	enum uhook_verdict verdict;
	unsigned long addr;

	if (mutex_lock_killable(&um->lock))
		return 0;

	addr = site->slot;
	if (addr || !uhook_may_try(READ_ONCE(site->verdict)))
		goto unlock;

	verdict = uhook_take_slot(um, &wanted, &addr);
	if (verdict) {
		WRITE_ONCE(site->verdict, verdict);
		addr = 0;
		goto unlock;
	}
	/* Publish the slot before its address: uhook_boost(). */
	smp_store_release(&site->slot, addr);
unlock:
	mutex_unlock(&um->lock);

	return addr;
}

/**
 * uhook_boost - let a task continue in a slot
 * @site: the site that was hit, or NULL
 * @auprobe: the instruction of the uprobe
 * @regs: registers of current at the site, after the consumers have run
 *
 * Context: between rcu_read_lock_trace() and rcu_read_unlock_trace() of the hit; sleeps
 * if the slot has to be made.
 * Return: true if the task continues in a slot, false if the instruction has to be
 * stepped.
 */
bool uhook_boost(struct uhook_site *site, struct arch_uprobe *auprobe, struct pt_regs *regs)
{
	unsigned long slot;

	if (!site)
		return false;

	if (!arch_uhook_may_boost(regs)) {
		if (READ_ONCE(site->verdict) == UHOOK_UNDECIDED)
			WRITE_ONCE(site->verdict, UHOOK_BY_TASK);
		return false;
	}

	/* Pairs with make_slot(). */
	slot = smp_load_acquire(&site->slot);
	if (!slot && uhook_may_try(READ_ONCE(site->verdict)))
		slot = make_slot(site, auprobe);
	if (!slot)
		return false;

	instruction_pointer_set(regs, slot);
	uhook_count(UHOOK_BOOSTED);

	return true;
}
