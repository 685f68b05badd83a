// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: leaving slots and bodies, and hiding them from others.
 *
 * A task is in a slot for one instruction and a jump, but it may be interrupted there.
 * Before its registers become visible, they are changed to those of a program without
 * slots:
 * - For a signal, a tracer's stop or a core dump, all of which pass get_signal(): if the copy
 *   has run, the task moves to the instruction after the site. If not, the copy is
 *   single-stepped, while uprobes hold signals back, because going back to the site would
 *   count the hit twice. An unfinished string instruction then returns to the slot, and is
 *   stepped again.
 * - A fault of the copy is reported at the site, as it is when it is stepped.
 * - Code that only reads addresses (samples, stack traces, rseq, /proc) translates them.
 * - A breakpoint of a uprobe that has gone meanwhile is not the program's.
 */
#include <linux/hook_base.h>
#include <linux/mm_types.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <linux/uhook_hooks.h>
#include <linux/uprobes.h>

#include "translate.h"

/*
 * Where there are no uprobes any more: is a breakpoint still there, which is the
 * program's own then, or a debugger's? Code of uhook has some as well.
 */
static bool is_programs_breakpoint(struct pt_regs *regs)
{
	unsigned long vaddr = uprobe_get_swbp_addr(regs);
	uprobe_opcode_t opcode;

	if (uhook_breakpoint_site(vaddr) != vaddr ||
	    copy_from_user_nofault(&opcode, (void __user *)vaddr, sizeof(opcode)) ||
	    !is_swbp_insn(&opcode))
		return false;

	/* A new breakpoint is written after the flag is set: install_breakpoint(). */
	smp_rmb();
	return !mm_flags_test(MMF_HAS_UPROBES, current->mm);
}

/**
 * uhook_probe_has_gone - check whether a breakpoint was a uprobe's that has gone since
 * @regs: registers at the breakpoint
 *
 * Another task may have found that there are no uprobes any more after current has come to
 * the breakpoint of the last one, and be right.
 *
 * Context: the exception.
 * Return: true if current is to look at its text again; false if the address space has
 *	uprobes, or the breakpoint is the program's own.
 */
bool uhook_probe_has_gone(struct pt_regs *regs)
{
	return !mm_flags_test(MMF_HAS_UPROBES, current->mm) && uhook_has_sites(current->mm) &&
	       !is_programs_breakpoint(regs);
}

static unsigned long address_in(const struct mm_struct *mm, unsigned long ip)
{
	struct uhook_mm *um = uhook_mm_of(mm);
	unsigned long addr;

	if (!um || uhook_translate(um, ip, &addr) == UHOOK_ELSEWHERE)
		return ip;

	return addr;
}

/**
 * uhook_program_address - translate current's instruction pointer
 * @ip: instruction pointer in user space
 *
 * Context: any, also NMI.
 * Return: the program's address if @ip is in a slot, otherwise @ip.
 */
unsigned long uhook_program_address(unsigned long ip)
{
	struct mm_struct *mm = current->mm;

	return mm ? address_in(mm, ip) : ip;
}

/**
 * uhook_task_address - translate another task's instruction pointer
 * @task: the task
 * @ip: instruction pointer in user space
 *
 * Context: task; sleeps.
 * Return: the program's address if @ip is in a slot, otherwise @ip.
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
 * uhook_is_inside - check whether current is in a handler of a body
 * @ip: instruction pointer in user space
 *
 * Context: any.
 * Return: true if current's registers are not those of its program.
 */
bool uhook_is_inside(unsigned long ip)
{
	struct uhook_mm *um = current->mm ? uhook_mm_of(current->mm) : NULL;
	unsigned long addr;

	return um && uhook_translate(um, ip, &addr) == UHOOK_INSIDE;
}

/**
 * uhook_sampled_address - translate an instruction pointer that is sampled with registers
 * @ip: instruction pointer in user space
 *
 * In a slot, and around the copy at the end of a body, the registers are the program's,
 * so this returns the program's address. In a handler the registers are the handler's,
 * and so is the returned address: with the program's address, the handler's stack pointer
 * would be taken for that of the program at the site.
 *
 * Context: any, also NMI.
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
 * uhook_before_signal - leave a slot before signals are delivered to current
 *
 * If current is in a slot, move it to the next instruction if the copy has run; if not,
 * single-step the copy, and delay the signals until then. If the uprobe has been removed,
 * move current to the site, which has the original instruction again. The same applies at
 * the end of a body; handlers can take signals anywhere.
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
	/* A killed task dies at the site, whether the hit is finished or not. */
	if (place == UHOOK_AT_COPY && !fatal_signal_pending(current) && uprobe_step(regs, ip))
		uhook_count(UHOOK_INTERRUPTED);
}

/**
 * uhook_before_fault - leave a slot before a task gets a signal for a fault
 * @task: the task
 *
 * If @task is current, and in a slot or at the end of a body, make the fault of the copy
 * one of the program's instruction. If the instruction is restarted, the site is hit
 * again, as after a fault of a single step. (A few forced signals are not the
 * instruction's fault, such as that for a failed page of memory; they make a hit count
 * twice. The end of a debugger's step, which may come before any copy, is left to
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
