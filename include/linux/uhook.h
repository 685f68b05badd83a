/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: hooks on user programs
 *
 * A hook, struct uhook_ops, is called in the kernel when a program reaches an
 * instruction, or does its work in the program itself, without an exception where
 * possible. <linux/uhook_hooks.h> is the interface to the rest of the kernel.
 */
#ifndef _LINUX_UHOOK_H
#define _LINUX_UHOOK_H

#include <linux/bits.h>
#include <linux/types.h>
#include <linux/uhook_gate.h>
#include <linux/uhook_ring.h>

struct inode;
struct mm_struct;
struct pt_regs;

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
 * @stack: words at @sp, if requested; words on the next page read as 0
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

/**
 * struct uhook_point - an instruction of a file
 * @inode: the file; the owner of the hook holds it, and its mount, while the hook is
 *	registered
 * @offset: offset of the instruction, in bytes; must be at the start of an instruction
 * @ref_ctr_offset: offset of the reference counter (USDT semaphore) in the file, in
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
 * enum uhook_ops_flags - options of a hook
 * @UHOOK_FL_IN_BODY: after the first hit in a process, put the breakpoint for
 *	&uhook_ops.handler into the body that the site jumps to, not into the program text
 * @UHOOK_FL_NO_VECTORS: the code or function leaves vector registers alone
 * @UHOOK_FL_STACK: records include the words at the stack pointer
 * @UHOOK_FL_ALL: all flags
 */
enum uhook_ops_flags {
	UHOOK_FL_IN_BODY	= BIT(0),
	UHOOK_FL_NO_VECTORS	= BIT(1),
	UHOOK_FL_STACK		= BIT(2),
	UHOOK_FL_ALL		= UHOOK_FL_IN_BODY | UHOOK_FL_NO_VECTORS | UHOOK_FL_STACK,
};

/**
 * enum uhook_error - reason of a failed registration, for programs
 * @UHOOK_ERR_NONE: no error
 * @UHOOK_ERR_OPS: the hook is incomplete, or has unknown flags
 * @UHOOK_ERR_BUSY: the hook is registered already
 * @UHOOK_ERR_REGISTER: a register cannot be recorded, or there are too many
 * @UHOOK_ERR_CODE: the code is too long, or not for this processor
 * @UHOOK_ERR_STUBS: stubs cannot be at that address, or there are too many
 * @UHOOK_ERR_POINT: uprobes refused a point
 * @UHOOK_ERR_NO_MEMORY: an allocation failed
 * @UHOOK_ERR_KILLED: the registering task is being killed
 */
enum uhook_error {
	UHOOK_ERR_NONE,
	UHOOK_ERR_OPS,
	UHOOK_ERR_BUSY,
	UHOOK_ERR_REGISTER,
	UHOOK_ERR_CODE,
	UHOOK_ERR_STUBS,
	UHOOK_ERR_POINT,
	UHOOK_ERR_NO_MEMORY,
	UHOOK_ERR_KILLED,
};

/**
 * struct uhook_report - error report of a failed registration
 * @error: the reason, for programs
 * @point: index of the refused point, for UHOOK_ERR_POINT
 * @text: the reason as a sentence, without a newline
 */
struct uhook_report {
	enum uhook_error	error;
	unsigned int		point;
	char			text[160];
};

/**
 * struct uhook_ops - a hook on instructions of programs
 * @handler: called in the kernel at each hit, or NULL; see below
 * @ret_handler: called in the kernel when a function that was hit at its entry returns,
 *	or NULL; @func is the address of the entry
 * @filter: tells whether the hook applies to an address space, or NULL if it applies to
 *	all; may be called at any time; call uhook_apply() after its answers change
 * @user: work of the hook in the program
 * @record: for @UHOOK_USER_RECORD, called for each record some time after the hit: every
 *	10 ms, when the process ends, and before the unregistered hook is released. Runs
 *	in the context of any task, under uhook's locks and a spinlock: it must not sleep,
 *	call uhook or access memory of programs. If the kernel records instead of the
 *	program, it is called at the hit, possibly by several tasks at once
 * @regs: registers to record, as offsets in struct pt_regs
 * @nr_regs: number of registers to record
 * @code: for @UHOOK_USER_CODE, a position-independent function that calls no code outside
 *	of itself; see uhook_gate.h
 * @code_size: length of @code in bytes, up to UHOOK_CODE_MAX
 * @function: for @UHOOK_USER_FUNCTION, the start of the function
 * @stubs: for @UHOOK_USER_STUB, the address of the stub of the first point; the stubs of
 *	the other points follow, UHOOK_STUB_SIZE bytes apart. A multiple of the page size,
 *	at a range that no process has mapped and that has never held other stubs. Points
 *	must be function entries or exits: on arm64, stubs change IP0 or IP1
 * @flags: flags of &enum uhook_ops_flags
 * @name: name of the hook in the log
 * @report: error report to fill if registration fails, instead of logging the error; or
 *	NULL to log it
 * @private: data of the owner
 * @attachment: uhook's data; NULL while not registered
 * @leaving: uhook's data; earlier registrations whose handlers may still run, or NULL
 *
 * A hook without @handler and @ret_handler takes no exception after the first hit in a
 * process, if possible; see uhook/slots in tracefs. A hook with one of them takes an
 * exception at each hit.
 *
 * The handlers are called under rcu_read_lock_trace() in the context of the task that was
 * hit, and may sleep. @regs are the registers of the program at the site or, for
 * @ret_handler, after the return. If @handler sets the instruction pointer, the task
 * continues there and the rest of this hit is skipped. The handlers return 0.
 *
 * The owner provides the memory. Only @private and @report may change while the hook is
 * registered. US8832666 also registers a kernel handler and a user handler together;
 * struct uprobe_consumer is mainline's counterpart.
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
	const void		*code;
	size_t			code_size;
	struct uhook_point	function;
	unsigned long		stubs;
	unsigned int		flags;
	const char		*name;
	struct uhook_report	*report;
	void			*private;
	struct uhook_attachment	*attachment;
	struct uhook_attachment	*leaving;
};

/**
 * struct uhook_hits - number of hits of a hook
 * @kernel: hits handled in the kernel without work in the program; with @user set, the
 *	kernel did the work instead, where it can
 * @user: hits handled in the program after an exception
 * @jumped: hits handled in the program without an exception
 * @lost: hits, of those above, without a record because there was no room for one
 * @missed: hits, of those above, at which the owner's code or function was not called: no
 *	stack was free, the handler was already running, or the kernel handled the hit
 * @unreturned: calls whose return was not followed because too many calls with hooked
 *	returns were nested
 */
struct uhook_hits {
	u64	kernel;
	u64	user;
	u64	jumped;
	u64	lost;
	u64	missed;
	u64	unreturned;
};

#ifdef CONFIG_UHOOK_HANDLERS

int uhook_register(struct uhook_ops *ops, const struct uhook_point *points, unsigned int nr);
int uhook_apply(struct uhook_ops *ops, bool add);
void uhook_unregister(struct uhook_ops *ops, struct uhook_hits *hits);
void uhook_unregister_async(struct uhook_ops *ops, uhook_gone_t gone);
void uhook_barrier(void);
void uhook_get_hits(struct uhook_ops *ops, struct uhook_hits *hits);
void uhook_get_words(struct uhook_ops *ops, u64 words[UHOOK_DATA_WORDS]);

#endif /* CONFIG_UHOOK_HANDLERS */

#endif /* _LINUX_UHOOK_H */
