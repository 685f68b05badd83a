// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: leaving slots and bodies, and what others see of them.
 *
 * A task is in a slot for one instruction and a jump, but it may be interrupted
 * there. Before its registers become visible they are made those of a program
 * without slots:
 *  - a signal, a tracer's stop or a core dump, all of which pass
 *    get_signal(): once the copy has run the task is after the site. Before,
 *    the hit goes on as a single step, during which uprobes hold signals back:
 *    going back to the site would count it twice. A string instruction that is
 *    not over then comes back to the slot, and is stepped again;
 *  - a fault of the copy is a fault at the site, as it is when it is stepped;
 *  - who only looks (samples, stack traces, rseq, /proc) translates.
 */
#include <linux/mm_types.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/uhook_hooks.h>
#include <linux/uprobes.h>

#include "translate.h"

static unsigned long address_in(const struct mm_struct *mm, unsigned long ip)
{
	struct uhook_mm *um = uhook_mm_of(mm);
	unsigned long addr;

	if (!um || uhook_translate(um, ip, &addr) == UHOOK_ELSEWHERE)
		return ip;

	return addr;
}

/**
 * uhook_program_address - where current is, as its program has it
 * @ip: where it is, in user space
 *
 * Context: any, NMI too.
 * Return: the program's address if @ip is in a slot, or @ip.
 */
unsigned long uhook_program_address(unsigned long ip)
{
	struct mm_struct *mm = current->mm;

	return mm ? address_in(mm, ip) : ip;
}

/**
 * uhook_task_address - where another task is, as its program has it
 * @task: the task
 * @ip: where it is, in user space
 *
 * Context: task; sleeps.
 * Return: the program's address if @ip is in a slot, or @ip.
 */
unsigned long uhook_task_address(struct task_struct *task, unsigned long ip)
{
	struct mm_struct *mm = get_task_mm(task);

	if (!mm)
		return ip;

	ip = address_in(mm, ip);
	mmput(mm);

	return ip;
}

/**
 * uhook_is_inside - is current in a handler of a body?
 * @ip: where it is, in user space
 *
 * Context: any.
 * Return: true if its registers are not those of its program.
 */
bool uhook_is_inside(unsigned long ip)
{
	struct uhook_mm *um = current->mm ? uhook_mm_of(current->mm) : NULL;
	unsigned long addr;

	return um && uhook_translate(um, ip, &addr) == UHOOK_INSIDE;
}

/**
 * uhook_sampled_address - the instruction pointer that goes with current's other registers
 * @ip: where it is, in user space
 *
 * In a slot, and around the copy at the end of a body, they are the program's, and so is
 * what this returns. In a handler they are the handler's: its stack pointer would be taken
 * for that of the program at the site.
 *
 * Context: any, NMI too.
 * Return: the program's address, or @ip.
 */
unsigned long uhook_sampled_address(unsigned long ip)
{
	struct uhook_mm *um = current->mm ? uhook_mm_of(current->mm) : NULL;
	unsigned long addr;

	switch (um ? uhook_translate(um, ip, &addr) : UHOOK_ELSEWHERE) {
	case UHOOK_ELSEWHERE:
	case UHOOK_INSIDE:
		return ip;
	default:
		return addr;
	}
}

/**
 * uhook_before_signal - current is going to see signals
 *
 * If it is in a slot it leaves it: to the next instruction if the copy has run;
 * if not, the copy is stepped, and the signals wait for that. When the uprobe
 * has gone the instruction itself is at the site. The same at the end of a body;
 * in its handlers signals are what they are anywhere.
 *
 * Context: get_signal(), before uprobe_deny_signal(); sleeps.
 */
void uhook_before_signal(void)
{
	struct uhook_mm *um = current->mm ? uhook_mm_of(current->mm) : NULL;
	struct pt_regs *regs = current_pt_regs();
	unsigned long ip = instruction_pointer(regs), addr;
	enum uhook_place place;

	if (likely(!um))
		return;

	place = uhook_translate(um, ip, &addr);
	if (place != UHOOK_AT_COPY && place != UHOOK_BEHIND)
		return;

	instruction_pointer_set(regs, addr);
	/* Who dies does so at the site, whether the hit is finished or not. */
	if (place == UHOOK_AT_COPY && !fatal_signal_pending(current) && uprobe_step(regs, ip))
		uhook_count(UHOOK_INTERRUPTED);
}

/**
 * uhook_before_fault - a task gets a signal for what it just did
 * @task: which
 *
 * If it is current, and in a slot or at the end of a body, the copy's fault
 * becomes the program's. Run again, the site is hit again, as it is when the
 * fault comes from a step. (The few forced signals that are not the instruction's
 * fault, such as that for a page of memory that has failed, make a hit count
 * twice; the end of a debugger's step, which may come before any copy, is left to
 * uhook_before_signal().)
 *
 * Context: any but NMI.
 */
void uhook_before_fault(struct task_struct *task)
{
	struct pt_regs *regs = current_pt_regs();
	enum uhook_place place;
	struct uhook_mm *um;
	unsigned long addr;

	um = task == current && current->mm ? uhook_mm_of(current->mm) : NULL;
	if (!um)
		return;

	place = uhook_translate(um, instruction_pointer(regs), &addr);
	if (place == UHOOK_AT_COPY || place == UHOOK_BEHIND)
		instruction_pointer_set(regs, addr);
}
