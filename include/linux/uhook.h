/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: hooks on programs, and user probes without the single step
 *
 * A hook, struct uhook_ops, is called in the kernel where programs come to an
 * instruction, or does its work in the program, without any exception if that can
 * be.
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
#include <linux/uhook_gate.h>
#include <linux/uhook_ring.h>

struct arch_uprobe;
struct mm_struct;
struct pt_regs;
struct task_struct;
struct uhook_site;
struct uprobe;
struct uprobe_consumer;
struct vm_area_struct;

/**
 * enum uhook_kind - how a hit of a uprobe ended
 * @UHOOK_STEPPED: by a single step of a copy, with a second exception
 * @UHOOK_EMULATED: the kernel did what the instruction does
 * @UHOOK_BOOSTED: in a slot
 * @UHOOK_USER: in a body, which ran handlers in the program
 * @UHOOK_INTERRUPTED: in a slot, but a signal came before the copy had run, and
 *	it was stepped instead; counted as boosted as well
 * @UHOOK_KINDS: how many kinds there are
 */
enum uhook_kind {
	UHOOK_STEPPED,
	UHOOK_EMULATED,
	UHOOK_BOOSTED,
	UHOOK_USER,
	UHOOK_INTERRUPTED,
	UHOOK_KINDS
};

/**
 * struct uhook_lookup - when a uprobe was looked up
 * @gone: how many uprobes had gone by then whose address has the same hash
 * @unmapped: how often probed text had been unmapped in the address space
 * @valid: whether that is known, and what is found is to be remembered
 */
struct uhook_lookup {
	long	gone;
	long	unmapped;
	bool	valid;
};

/**
 * enum uhook_user - what a hook does in the program, without the kernel
 * @UHOOK_USER_NONE: nothing
 * @UHOOK_USER_COUNT: it counts its hits
 * @UHOOK_USER_RECORD: it records them, for the kernel to read later
 * @UHOOK_USER_CODE: it runs code of the hook's owner, which is copied
 * @UHOOK_USER_FUNCTION: it runs a function of a file that the process has mapped
 * @UHOOK_USER_STUB: it goes by way of a stub, for a processor's trace to see
 */
enum uhook_user {
	UHOOK_USER_NONE,
	UHOOK_USER_COUNT,
	UHOOK_USER_RECORD,
	UHOOK_USER_CODE,
	UHOOK_USER_FUNCTION,
	UHOOK_USER_STUB,
};

/**
 * struct uhook_record - a hit that a program has recorded
 * @time: when, in nanoseconds of sched_clock()
 * @pid: the thread, as the first namespace numbers it; 0 if it is not known
 * @tgid: its process; 0 if that is not known
 * @site: the address of the instruction
 * @sp: the stack pointer there
 * @args: the registers that were chosen
 * @stack: the words at @sp, if they were asked for; those of the next page are 0
 */
struct uhook_record {
	u64		time;
	pid_t		pid;
	pid_t		tgid;
	unsigned long	site;
	unsigned long	sp;
	u64		args[UHOOK_RECORD_ARGS];
	u64		stack[UHOOK_RECORD_STACK];
};

struct inode;

/**
 * struct uhook_point - an instruction of a file
 * @inode: the file, which the owner keeps, with its mount, while registered
 * @offset: of the instruction, in bytes; at the boundary of one
 * @ref_ctr_offset: of the counter of its users (USDT's semaphore) in the file,
 *	in bytes, or 0
 */
struct uhook_point {
	struct inode	*inode;
	loff_t		offset;
	loff_t		ref_ctr_offset;
};

struct uhook_attachment;
struct uhook_hits;
struct uhook_ops;

/* Called when a hook that was unregistered is gone: uhook_unregister_async(). */
typedef void (*uhook_gone_t)(struct uhook_ops *ops, const struct uhook_hits *hits);

/* How long the code of a handler may be, in bytes. */
#define UHOOK_CODE_MAX	2048

/* How many stubs a hook may have. */
#define UHOOK_STUBS_MAX	65536

/**
 * struct uhook_ops - a hook on instructions of programs
 * @handler: called in the kernel at each hit, or NULL; see below
 * @ret_handler: called in the kernel when a function that was hit at its entry
 *	returns, or NULL; @func is the address of the entry
 * @filter: says for which address spaces the hook is meant, or NULL for all; may
 *	be called at any time; when it answers otherwise than before, uhook_apply()
 * @user: what happens in the program
 * @record: for @UHOOK_USER_RECORD, called for each record, some time later: every
 *	10 ms, when the process ends, and before the hook is gone; in the context of
 *	some task, with locks of uhook held, inside of which it may neither call
 *	uhook nor touch memory of programs or their mmap lock. Where the kernel records
 *	in the program's stead, it is called at the hit, maybe by several at once
 * @regs: which registers are recorded, as offsets in struct pt_regs
 * @nr_regs: how many
 * @stack: whether the words at the stack pointer are, too
 * @code: for @UHOOK_USER_CODE, a function that runs wherever it is, and calls none
 *	outside; see uhook_gate.h
 * @code_size: its length, in bytes, up to UHOOK_CODE_MAX
 * @function: for @UHOOK_USER_FUNCTION, where it begins
 * @stubs: for @UHOOK_USER_STUB, the address of the stub of the first point; those of
 *	the others follow, UHOOK_STUB_SIZE bytes apart. A multiple of the size of a
 *	page, where processes have nothing, and never had other stubs. Points have to
 *	be where a function is entered or left: on arm64, IP0 or IP1 changes there
 * @no_vectors: whether code or function leave vector registers alone
 * @in_body: whether the breakpoint for @handler goes where the site jumps to, and
 *	not into the text, after the first hit in a process
 * @private: the owner's
 * @attachment: uhook's; NULL when not registered
 * @leaving: uhook's; earlier registrations whose handlers may still run, or NULL
 * @refused: set by uhook_register() when it fails: the number of the point that is
 *	to blame, if one is
 *
 * A hook without @handler and @ret_handler costs no exception once it was hit
 * in a process, where that can be done; see uhook/slots in tracefs. With them it
 * costs one.
 *
 * The handlers are called in the context of the task that was hit, which may
 * sleep there, under rcu_read_lock_trace(); @regs are those of the program at
 * the site, or, for @ret_handler, behind the return. @handler may set the
 * instruction pointer, and the task then goes on there; nothing else happens
 * at that hit. They return 0.
 *
 * Owner's memory; stays as it is while registered. US8832666 registers a kernel
 * handler and a user handler together likewise; struct uprobe_consumer is
 * mainline's counterpart.
 */
struct uhook_ops {
	int			(*handler)(struct uhook_ops *ops, struct pt_regs *regs);
	int			(*ret_handler)(struct uhook_ops *ops, unsigned long func,
					       struct pt_regs *regs);
	bool			(*filter)(struct uhook_ops *ops, struct mm_struct *mm);
	enum uhook_user		user;
	void			(*record)(struct uhook_ops *ops, const struct uhook_record *record);
	unsigned int		regs[UHOOK_RECORD_ARGS];
	unsigned int		nr_regs;
	bool			stack;
	const void		*code;
	size_t			code_size;
	struct uhook_point	function;
	unsigned long		stubs;
	bool			no_vectors;
	bool			in_body;
	void			*private;
	struct uhook_attachment	*attachment;
	struct uhook_attachment	*leaving;
	unsigned int		refused;
};

/**
 * struct uhook_hits - how often a hook was hit
 * @kernel: in the kernel, and nothing happened in the program; with @user set,
 *	the kernel did it in its stead, if it can
 * @user: in the program, after an exception
 * @jumped: in the program, without any exception
 * @lost: how many of these have no record, because there was no room for it
 * @missed: at how many of these the owner's code or function was not called:
 *	there was no stack, it was running already, or the kernel could not
 * @unreturned: how many calls were not followed to their return, because too many
 *	functions whose returns are hooked had called each other; none of the others
 */
struct uhook_hits {
	u64	kernel;
	u64	user;
	u64	jumped;
	u64	lost;
	u64	missed;
	u64	unreturned;
};

#ifdef CONFIG_UHOOK

/* For modules, and for events. */
int uhook_register(struct uhook_ops *ops, const struct uhook_point *points, unsigned int nr);
int uhook_apply(struct uhook_ops *ops);
void uhook_unregister(struct uhook_ops *ops, struct uhook_hits *hits);
void uhook_unregister_async(struct uhook_ops *ops, uhook_gone_t gone);
void uhook_barrier(void);
void uhook_hold_hits(void);
void uhook_release_hits(void);
void uhook_held_hits(const struct uhook_ops *ops, struct uhook_hits *hits);
void uhook_get_hits(struct uhook_ops *ops, struct uhook_hits *hits);
void uhook_flush(void);
void uhook_get_words(struct uhook_ops *ops, u64 words[UHOOK_DATA_WORDS]);

void uhook_count(enum uhook_kind kind);

/* For uprobes, between rcu_read_lock_trace() and rcu_read_unlock_trace(). */
void uhook_begin_lookup(struct uhook_lookup *lookup);
void uhook_end_lookup(struct uhook_lookup *lookup, const struct uprobe *uprobe);
void uhook_uprobe_gone(const struct uprobe *uprobe);
struct uhook_site *uhook_find_site(unsigned long vaddr);
struct uprobe *uhook_site_uprobe(const struct uhook_site *site);
struct uhook_site *uhook_add_site(unsigned long vaddr, struct uprobe *uprobe,
				  const struct uhook_lookup *lookup);
bool uhook_boost(struct uhook_site *site, struct arch_uprobe *auprobe, struct pt_regs *regs);
bool uhook_enter_body(struct uhook_site *site, struct uprobe *uprobe,
		      struct arch_uprobe *auprobe, struct pt_regs *regs);
bool uhook_is_consumer(struct uprobe_consumer *uc);
void uhook_return_lost(struct uprobe *uprobe);
unsigned long uhook_breakpoint_site(unsigned long vaddr);
int uhook_hooks_change(struct mm_struct *mm, unsigned long vaddr);

/* From uprobes; the latter three with the mmap lock held. */
bool uprobe_find_consumer(struct uprobe *uprobe,
			  bool (*match)(struct uprobe_consumer *uc, void *data), void *data);
bool uprobe_is_followed(struct uprobe *uprobe, unsigned int distance);
bool uprobe_is_at(struct uprobe *uprobe, struct vm_area_struct *vma, unsigned long vaddr);
int uprobe_read_text(struct mm_struct *mm, unsigned long vaddr, void *bytes, int len);
int uprobe_write_text(struct mm_struct *mm, struct mm_struct *payer, unsigned long vaddr,
		      const void *expected, const void *bytes, int len, gfp_t how);

/* For those who own address spaces. */
bool uhook_has_sites(const struct mm_struct *mm);
void uhook_munmap(struct mm_struct *mm);
int uhook_file_munmap(struct vm_area_struct *vma);
int uhook_dup_mmap(struct mm_struct *oldmm, struct mm_struct *mm);
int uhook_dup_mmap_end(struct mm_struct *mm);
void uhook_free_mm(struct mm_struct *mm);
int uhook_demote(struct mm_struct *mm, unsigned long start, unsigned long end);
int uhook_demote_all(struct task_struct *task);
int uhook_rseq_begins(void);

/* For those who look at where a program is. */
unsigned long uhook_program_address(unsigned long ip);
unsigned long uhook_task_address(struct task_struct *task, unsigned long ip);
bool uhook_is_inside(unsigned long ip);
unsigned long uhook_sampled_address(unsigned long ip);

/* For signals. */
void uhook_before_signal(void);
void uhook_before_fault(struct task_struct *task);
bool uhook_mark_is_gone(struct pt_regs *regs);

#else /* !CONFIG_UHOOK */

static inline void uhook_count(enum uhook_kind kind) { }
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
static inline void uhook_munmap(struct mm_struct *mm) { }
static inline int uhook_file_munmap(struct vm_area_struct *vma) { return 0; }

static inline int uhook_dup_mmap(struct mm_struct *oldmm, struct mm_struct *mm)
{
	return 0;
}

static inline void uhook_free_mm(struct mm_struct *mm) { }
static inline int uhook_dup_mmap_end(struct mm_struct *mm) { return 0; }

static inline int uhook_demote(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	return 0;
}

static inline int uhook_hooks_change(struct mm_struct *mm, unsigned long vaddr)
{
	return 0;
}

static inline int uhook_demote_all(struct task_struct *task) { return 0; }
static inline int uhook_rseq_begins(void) { return 0; }
static inline void uhook_return_lost(struct uprobe *uprobe) { }
static inline bool uhook_is_consumer(struct uprobe_consumer *uc) { return false; }
static inline unsigned long uhook_breakpoint_site(unsigned long vaddr) { return vaddr; }

static inline bool uhook_enter_body(struct uhook_site *site, struct uprobe *uprobe,
				    struct arch_uprobe *auprobe, struct pt_regs *regs)
{
	return false;
}

static inline unsigned long uhook_program_address(unsigned long ip) { return ip; }

static inline unsigned long uhook_task_address(struct task_struct *task, unsigned long ip)
{
	return ip;
}

static inline bool uhook_is_inside(unsigned long ip) { return false; }
static inline unsigned long uhook_sampled_address(unsigned long ip) { return ip; }
static inline void uhook_before_signal(void) { }
static inline void uhook_before_fault(struct task_struct *task) { }
static inline bool uhook_mark_is_gone(struct pt_regs *regs) { return false; }

#endif /* CONFIG_UHOOK */

#if defined(CONFIG_UHOOK) && defined(CONFIG_RSEQ)
bool rseq_is_in_section(unsigned long ip);
#else
static inline bool rseq_is_in_section(unsigned long ip) { return false; }
#endif

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
