/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: user probes without the single step
 *
 * After the consumers of a uprobe have run, the task goes on in a slot: a copy
 * of the probed instruction and a jump behind the original, in a mapping of
 * the process named [uhook]. A hit is one exception, for every user of
 * uprobes and without their asking. What follows is what the rest of the
 * kernel needs to know so that nobody ever sees an address in a slot: such an
 * address means the site while the copy has not run, and the instruction
 * behind the site once it has.
 */
#ifndef _LINUX_UHOOK_H
#define _LINUX_UHOOK_H

#include <linux/ptrace.h>
#include <linux/stddef.h>
#include <linux/types.h>

struct arch_uprobe;
struct mm_struct;
struct pt_regs;
struct task_struct;
struct uhook_site;
struct uprobe;

/**
 * enum uhook_kind - how a hit of a uprobe ended
 * @UHOOK_STEPPED: by a single step of a copy, with a second exception
 * @UHOOK_EMULATED: the kernel did what the instruction does
 * @UHOOK_BOOSTED: in a slot
 * @UHOOK_INTERRUPTED: in a slot, but a signal came before the copy had run, and
 *	it was stepped instead; counted as boosted as well
 * @UHOOK_KINDS: how many kinds there are
 */
enum uhook_kind {
	UHOOK_STEPPED,
	UHOOK_EMULATED,
	UHOOK_BOOSTED,
	UHOOK_INTERRUPTED,
	UHOOK_KINDS
};

/**
 * struct uhook_lookup - when a uprobe was looked up
 * @gone: how many uprobes had gone by then, anywhere
 * @unmapped: how often probed text had been unmapped in the address space
 * @valid: whether that is known, and what is found is to be remembered
 */
struct uhook_lookup {
	long	gone;
	long	unmapped;
	bool	valid;
};

#ifdef CONFIG_UHOOK

void uhook_count(enum uhook_kind kind);

/* For uprobes, between rcu_read_lock_trace() and rcu_read_unlock_trace(). */
void uhook_begin_lookup(struct uhook_lookup *lookup);
void uhook_uprobe_gone(void);
struct uhook_site *uhook_find_site(unsigned long vaddr);
struct uprobe *uhook_site_uprobe(const struct uhook_site *site);
struct uhook_site *uhook_add_site(unsigned long vaddr, struct uprobe *uprobe,
				  const struct uhook_lookup *lookup);
bool uhook_boost(struct uhook_site *site, struct arch_uprobe *auprobe, struct pt_regs *regs);

/* For those who own address spaces. */
bool uhook_has_sites(const struct mm_struct *mm);
void uhook_munmap(struct mm_struct *mm);
int uhook_dup_mmap(struct mm_struct *oldmm, struct mm_struct *mm);
void uhook_free_mm(struct mm_struct *mm);

/* For those who look at where a program is. */
unsigned long uhook_program_address(unsigned long ip);
unsigned long uhook_task_address(struct task_struct *task, unsigned long ip);

/* For signals. */
void uhook_before_signal(void);
void uhook_before_fault(struct task_struct *task);

#else /* !CONFIG_UHOOK */

static inline void uhook_count(enum uhook_kind kind) { }
static inline void uhook_begin_lookup(struct uhook_lookup *lookup) { }
static inline void uhook_uprobe_gone(void) { }
static inline struct uhook_site *uhook_find_site(unsigned long vaddr) { return NULL; }

static inline struct uprobe *uhook_site_uprobe(const struct uhook_site *site)
{
	return NULL;
}

static inline struct uhook_site *uhook_add_site(unsigned long vaddr, struct uprobe *uprobe,
						const struct uhook_lookup *lookup)
{
	return NULL;
}

static inline bool uhook_boost(struct uhook_site *site, struct arch_uprobe *auprobe,
			       struct pt_regs *regs)
{
	return false;
}

static inline bool uhook_has_sites(const struct mm_struct *mm) { return false; }
static inline void uhook_munmap(struct mm_struct *mm) { }

static inline int uhook_dup_mmap(struct mm_struct *oldmm, struct mm_struct *mm)
{
	return 0;
}

static inline void uhook_free_mm(struct mm_struct *mm) { }
static inline unsigned long uhook_program_address(unsigned long ip) { return ip; }

static inline unsigned long uhook_task_address(struct task_struct *task, unsigned long ip)
{
	return ip;
}

static inline void uhook_before_signal(void) { }
static inline void uhook_before_fault(struct task_struct *task) { }

#endif /* CONFIG_UHOOK */

/* For those who send a task elsewhere while it may step the copy of an instruction. */
#ifdef CONFIG_UPROBES
unsigned long uprobe_program_address(struct pt_regs *regs);
void uprobe_cancel_step(struct pt_regs *regs);
#else
static inline unsigned long uprobe_program_address(struct pt_regs *regs)
{
	return instruction_pointer(regs);
}

static inline void uprobe_cancel_step(struct pt_regs *regs) { }
#endif

#endif /* _LINUX_UHOOK_H */
