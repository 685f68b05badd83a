/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: hooks on programs, and user probes without the single step
 *
 * A hook, struct uhook_ops, calls a handler in the kernel whenever a program reaches
 * an instruction, or does its work in the program, without any exception if possible.
 *
 * After the consumers of a uprobe have run, the task continues in a slot: a copy of
 * the probed instruction and a jump to the instruction after the original, in a
 * mapping of the process named [uhook]. A hit takes one exception, for every user of
 * uprobes, without a change to them. The rest of the kernel uses the functions below
 * to make sure that no one sees an address in a slot: such an address means the site
 * as long as the copy has not run, and the next instruction after it has run.
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
 * enum uhook_kind - outcome of a hit of a uprobe
 * @UHOOK_STEPPED: the task single-stepped a copy, with a second exception
 * @UHOOK_EMULATED: the kernel emulated the instruction
 * @UHOOK_BOOSTED: the task continued in a slot
 * @UHOOK_USER: the task continued in a body, which ran handlers in the program
 * @UHOOK_INTERRUPTED: the task continued in a slot, but a signal came before the copy
 *	had run, and the instruction was stepped instead; also counted as boosted
 * @UHOOK_KINDS: number of outcomes
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
 * struct uhook_lookup - state of the counters at the look-up of a uprobe
 * @gone: number of removed uprobes whose address has the same hash
 * @unmapped: number of times that probed text was unmapped in the address space
 * @valid: the counters are known, and the result may be remembered
 */
struct uhook_lookup {
	long	gone;
	long	unmapped;
	bool	valid;
};

/**
 * enum uhook_user - work of a hook in the program, without the kernel
 * @UHOOK_USER_NONE: nothing
 * @UHOOK_USER_COUNT: count hits
 * @UHOOK_USER_RECORD: record hits, for the kernel to read later
 * @UHOOK_USER_CODE: run a copy of code provided by the hook's owner
 * @UHOOK_USER_FUNCTION: run a function of a file that the process has mapped
 * @UHOOK_USER_STUB: pass through a stub, for a processor's trace
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
 * struct uhook_record - a hit recorded by a program
 * @time: time of the hit, in nanoseconds of sched_clock()
 * @pid: thread, as numbered in the initial PID namespace; 0 if unknown
 * @tgid: process of the thread; 0 if unknown
 * @site: address of the instruction
 * @sp: stack pointer at the site
 * @args: values of the selected registers
 * @stack: words at @sp, if requested; those in the next page are 0
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
 * @inode: the file, which the owner holds, with its mount, while the hook is
 *	registered
 * @offset: offset of the instruction, in bytes; must be at the start of an instruction
 * @ref_ctr_offset: offset in the file of the counter of users (USDT semaphore), in
 *	bytes, or 0
 */
struct uhook_point {
	struct inode	*inode;
	loff_t		offset;
	loff_t		ref_ctr_offset;
};

struct uhook_attachment;
struct uhook_hits;
struct uhook_ops;

/* Called when an unregistered hook is no longer in use: uhook_unregister_async(). */
typedef void (*uhook_gone_t)(struct uhook_ops *ops, const struct uhook_hits *hits);

/* Maximum length of a handler's code, in bytes. */
#define UHOOK_CODE_MAX	2048

/* Maximum number of stubs of a hook. */
#define UHOOK_STUBS_MAX	65536

/**
 * struct uhook_ops - a hook on instructions of programs
 * @handler: called in the kernel at each hit, or NULL; see below
 * @ret_handler: called in the kernel when a function that was hit at its entry
 *	returns, or NULL; @func is the address of the entry
 * @filter: decides whether the hook applies to an address space; NULL for all. May be
 *	called at any time; call uhook_apply() when its result changes
 * @user: work in the program
 * @record: for @UHOOK_USER_RECORD, called for each record, some time later: every 10
 *	ms, when the process ends, and before the hook is gone; in the context of any
 *	task, with locks of uhook held, so it must neither call uhook nor access memory
 *	of programs or take their mmap lock. If the kernel records instead of the
 *	program, it is called at the hit, possibly by several tasks at once
 * @regs: registers to record, as offsets in struct pt_regs
 * @nr_regs: number of registers to record
 * @stack: whether to record the words at the stack pointer
 * @code: for @UHOOK_USER_CODE, a position-independent function that calls no code
 *	outside of itself; see uhook_gate.h
 * @code_size: length of @code in bytes, at most UHOOK_CODE_MAX
 * @function: for @UHOOK_USER_FUNCTION, the start of the function
 * @stubs: for @UHOOK_USER_STUB, the address of the first point's stub; those of the
 *	others follow, UHOOK_STUB_SIZE bytes apart. A multiple of the page size, at
 *	which processes have no mapping and never had other stubs. Points must be where
 *	a function is entered or left: on arm64, IP0 or IP1 changes there
 * @no_vectors: whether the code or function leaves vector registers unchanged
 * @in_body: whether the breakpoint for @handler is put into the body and not into the
 *	text, after the first hit in a process
 * @private: free for the owner
 * @attachment: internal; NULL while not registered
 * @leaving: internal; earlier registrations whose handlers may still run, or NULL
 * @refused: set by a failing uhook_register(): the number of the refused point, if any
 *
 * A hook without @handler and @ret_handler takes no exception after the first hit in a
 * process, if possible; see uhook/slots in tracefs. With them each hit takes one.
 *
 * The handlers are called in the context of the task that was hit, which may sleep
 * there, under rcu_read_lock_trace(); @regs are those of the program at the site or,
 * for @ret_handler, after the return. If @handler sets the instruction pointer, the
 * task continues there, and nothing else happens at this hit. The handlers return 0.
 *
 * The owner provides the memory, and must not change it while the hook is registered.
 * US8832666 also registers a kernel handler and a user handler together; the mainline
 * counterpart is struct uprobe_consumer.
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
 * struct uhook_hits - number of hits of a hook
 * @kernel: hits in the kernel without work in the program; with @user set, the kernel
 *	did the work instead, if it can
 * @user: hits in the program after an exception
 * @jumped: hits in the program without any exception
 * @lost: hits among these without a record, for lack of room
 * @missed: hits among these at which the owner's code or function was not called: no
 *	stack was free, it was running already, or the kernel handled the hit
 * @unreturned: calls that were not followed to their return, because too many calls
 *	with hooked returns were nested
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

/* For code that manages address spaces. */
bool uhook_has_sites(const struct mm_struct *mm);
void uhook_munmap(struct mm_struct *mm);
int uhook_file_munmap(struct vm_area_struct *vma);
int uhook_dup_mmap(struct mm_struct *oldmm, struct mm_struct *mm);
int uhook_dup_mmap_end(struct mm_struct *mm);
void uhook_free_mm(struct mm_struct *mm);
int uhook_demote(struct mm_struct *mm, unsigned long start, unsigned long end);
int uhook_demote_all(struct task_struct *task);
int uhook_rseq_begins(void);

/* For code that reports where a program is. */
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

/*
 * For code that sends a task elsewhere while it may be stepping the copy of an
 * instruction.
 */
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
