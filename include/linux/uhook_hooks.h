/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: interface to the rest of the kernel
 *
 * After the consumers of a uprobe have run, the task continues in a slot: a copy of the
 * probed instruction, followed by a jump to the instruction after the original, in a
 * mapping of the process named [uhook]. A hit takes one exception, for all users of
 * uprobes, without changes to them. The functions below let the rest of the kernel hide
 * slot addresses: an address in a slot stands for the site until the copy has run, and
 * for the instruction after the site from then on.
 *
 * <linux/uhook.h> is for modules that hook programs.
 */
#ifndef _LINUX_UHOOK_HOOKS_H
#define _LINUX_UHOOK_HOOKS_H

#include <linux/ptrace.h>
#include <linux/stddef.h>
#include <linux/types.h>

struct arch_uprobe;
struct inode;
struct mm_struct;
struct pt_regs;
struct task_struct;
struct uhook_site;
struct uprobe;
struct uprobe_consumer;
struct vm_area_struct;

/**
 * enum uhook_outcome - how a hit of a uprobe ended
 * @UHOOK_STEPPED: a copy was single-stepped, with a second exception
 * @UHOOK_EMULATED: the kernel emulated the instruction
 * @UHOOK_BOOSTED: the task continued in a slot
 * @UHOOK_USER: the task continued in a body, which ran handlers in the program
 * @UHOOK_INTERRUPTED: the task was in a slot, but a signal arrived before the copy had
 *	run, and the copy was stepped instead; also counted as boosted
 * @UHOOK_OUTCOMES: number of outcomes
 */
enum uhook_outcome {
	UHOOK_STEPPED,
	UHOOK_EMULATED,
	UHOOK_BOOSTED,
	UHOOK_USER,
	UHOOK_INTERRUPTED,
	UHOOK_OUTCOMES
};

/**
 * struct uhook_lookup - state of the counters at the look-up of a uprobe
 * @gone: number of removed uprobes whose address has the same hash
 * @unmapped: number of times that probed text was unmapped from the address space
 * @valid: true if the counters are known and the result may be cached
 */
struct uhook_lookup {
	long	gone;
	long	unmapped;
	bool	valid;
};

#ifdef CONFIG_UHOOK

void uhook_count(enum uhook_outcome outcome);

/* For uprobes, between rcu_read_lock_trace() and rcu_read_unlock_trace(). */
void uhook_begin_lookup(struct uhook_lookup *lookup);
void uhook_end_lookup(struct uhook_lookup *lookup, const struct uprobe *uprobe);
void uhook_uprobe_gone(const struct uprobe *uprobe);
struct uhook_site *uhook_find_site(unsigned long vaddr);
struct uprobe *uhook_site_uprobe(const struct uhook_site *site);
struct uhook_site *uhook_add_site(unsigned long vaddr, struct uprobe *uprobe,
				  const struct uhook_lookup *lookup);
bool uhook_boost(struct uhook_site *site, struct arch_uprobe *auprobe, struct pt_regs *regs);

/* For the code that manages address spaces. */
bool uhook_has_sites(const struct mm_struct *mm);
bool uhook_probe_has_gone(struct pt_regs *regs);
void uhook_munmap(struct mm_struct *mm);
void uhook_free_mm(struct mm_struct *mm);

/* For the code that shows instruction pointers of programs. */
unsigned long uhook_program_address(unsigned long ip);
unsigned long uhook_task_address(struct task_struct *task, unsigned long ip);
bool uhook_is_inside(unsigned long ip);
unsigned long uhook_sampled_address(unsigned long ip);

/* For signals. */
void uhook_before_signal(void);
void uhook_before_fault(struct task_struct *task);

#else /* !CONFIG_UHOOK */

static inline void uhook_count(enum uhook_outcome outcome) { }
static inline void uhook_begin_lookup(struct uhook_lookup *lookup) { }
static inline void uhook_end_lookup(struct uhook_lookup *lookup, const struct uprobe *uprobe) { }
static inline void uhook_uprobe_gone(const struct uprobe *uprobe) { }
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
static inline bool uhook_probe_has_gone(struct pt_regs *regs) { return false; }
static inline void uhook_munmap(struct mm_struct *mm) { }
static inline void uhook_free_mm(struct mm_struct *mm) { }
static inline unsigned long uhook_program_address(unsigned long ip) { return ip; }

static inline unsigned long uhook_task_address(struct task_struct *task, unsigned long ip)
{
	return ip;
}

static inline bool uhook_is_inside(unsigned long ip) { return false; }
static inline unsigned long uhook_sampled_address(unsigned long ip) { return ip; }
static inline void uhook_before_signal(void) { }
static inline void uhook_before_fault(struct task_struct *task) { }

#endif /* CONFIG_UHOOK */

/* The rest is for handlers that run in programs. */
#ifdef CONFIG_UHOOK_HANDLERS

/* For uprobes, between rcu_read_lock_trace() and rcu_read_unlock_trace(). */
bool uhook_enter_body(struct uhook_site *site, struct uprobe *uprobe,
		      struct arch_uprobe *auprobe, struct pt_regs *regs);
bool uhook_works_in_program(struct uprobe_consumer *uc);
void uhook_return_lost(struct uprobe *uprobe);
unsigned long uhook_breakpoint_site(unsigned long vaddr);
int uhook_hooks_change(struct mm_struct *mm, unsigned long vaddr);
int uhook_hooks_go(struct uprobe *uprobe, struct mm_struct *mm, unsigned long vaddr);

/* From uprobes; the last one with the mmap lock held. */
struct uprobe *uprobe_register_nosync(struct inode *inode, loff_t offset, loff_t ref_ctr_offset,
				      struct uprobe_consumer *uc);
bool uprobe_find_consumer(struct uprobe *uprobe,
			  bool (*match)(struct uprobe_consumer *uc, void *data), void *data);
bool uprobe_is_followed(struct uprobe *uprobe, unsigned int distance);
bool uprobe_is_at(struct uprobe *uprobe, struct vm_area_struct *vma, unsigned long vaddr);

/* From mm; with the mmap lock held. */
int uhook_read_text(struct mm_struct *mm, unsigned long vaddr, void *bytes, int len);
int uhook_write_text(struct mm_struct *mm, struct mm_struct *payer, unsigned long vaddr,
		     const void *expected, const void *bytes, int len, gfp_t how);

/* For the code that manages address spaces. */
int uhook_file_munmap(struct vm_area_struct *vma);
int uhook_dup_mmap(struct mm_struct *oldmm, struct mm_struct *mm);
int uhook_dup_mmap_end(struct mm_struct *mm);
void uhook_begin_process(struct task_struct *task);
void uhook_leave_mm(struct task_struct *task);
int uhook_demote(struct mm_struct *mm, unsigned long start, unsigned long end);
int uhook_demote_all(struct task_struct *task);
int uhook_mprotect(struct vm_area_struct *vma, unsigned long start, unsigned long end,
		   unsigned long newflags);
int uhook_rseq_begins(void);

/* For page faults. */
bool uhook_fixup_gate_fault(struct pt_regs *regs);

#else /* !CONFIG_UHOOK_HANDLERS */

static inline bool uhook_enter_body(struct uhook_site *site, struct uprobe *uprobe,
				    struct arch_uprobe *auprobe, struct pt_regs *regs)
{
	return false;
}

static inline bool uhook_works_in_program(struct uprobe_consumer *uc) { return false; }
static inline void uhook_return_lost(struct uprobe *uprobe) { }
static inline unsigned long uhook_breakpoint_site(unsigned long vaddr) { return vaddr; }

static inline int uhook_hooks_change(struct mm_struct *mm, unsigned long vaddr)
{
	return 0;
}

static inline int uhook_hooks_go(struct uprobe *uprobe, struct mm_struct *mm,
				 unsigned long vaddr)
{
	return 0;
}

static inline int uhook_file_munmap(struct vm_area_struct *vma) { return 0; }

static inline int uhook_dup_mmap(struct mm_struct *oldmm, struct mm_struct *mm)
{
	return 0;
}

static inline int uhook_dup_mmap_end(struct mm_struct *mm) { return 0; }
static inline void uhook_begin_process(struct task_struct *task) { }
static inline void uhook_leave_mm(struct task_struct *task) { }

static inline int uhook_demote(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	return 0;
}

static inline int uhook_demote_all(struct task_struct *task) { return 0; }

static inline int uhook_mprotect(struct vm_area_struct *vma, unsigned long start,
				 unsigned long end, unsigned long newflags)
{
	return 0;
}

static inline int uhook_rseq_begins(void) { return 0; }
static inline bool uhook_fixup_gate_fault(struct pt_regs *regs) { return false; }

#endif /* CONFIG_UHOOK_HANDLERS */

#if defined(CONFIG_UHOOK_HANDLERS) && defined(CONFIG_RSEQ)
bool rseq_is_in_section(unsigned long ip);
#else
static inline bool rseq_is_in_section(unsigned long ip) { return false; }
#endif

/* For the code that redirects a task that may be single-stepping a copied instruction. */
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

#endif /* _LINUX_UHOOK_HOOKS_H */
