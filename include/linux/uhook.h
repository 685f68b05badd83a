/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: hooks on programs
 *
 * A hook, struct uhook_ops, is called in the kernel where programs come to an
 * instruction, or does its work in the program, without any exception if that can
 * be.
 * <linux/uhook_hooks.h> has what the rest of the kernel calls.
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
 * enum uhook_ops_flags - what a hook asks for
 * @UHOOK_FL_IN_BODY: the breakpoint for &uhook_ops.handler goes where the site jumps to,
 *	and not into the text, after the first hit in a process
 * @UHOOK_FL_NO_VECTORS: the code or function leaves vector registers alone
 * @UHOOK_FL_STACK: records have the words at the stack pointer
 * @UHOOK_FL_ALL: all of these
 */
enum uhook_ops_flags {
	UHOOK_FL_IN_BODY	= BIT(0),
	UHOOK_FL_NO_VECTORS	= BIT(1),
	UHOOK_FL_STACK		= BIT(2),
	UHOOK_FL_ALL		= UHOOK_FL_IN_BODY | UHOOK_FL_NO_VECTORS | UHOOK_FL_STACK,
};

/**
 * enum uhook_error - what went wrong, for a program
 * @UHOOK_ERR_NONE: nothing
 * @UHOOK_ERR_OPS: the hook is incomplete, or has flags that do not exist
 * @UHOOK_ERR_BUSY: the hook is registered already
 * @UHOOK_ERR_REGISTER: a register cannot be recorded, or there are too many
 * @UHOOK_ERR_CODE: the code is too long, or is not for this processor
 * @UHOOK_ERR_STUBS: stubs cannot be at that address, or there are too many
 * @UHOOK_ERR_POINT: uprobes refuse a point
 * @UHOOK_ERR_NO_MEMORY: an allocation failed
 * @UHOOK_ERR_KILLED: the task that registers is being killed
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
 * struct uhook_report - where a failed registration says what failed, and where
 * @error: what, for a program
 * @point: the number of the point that is refused, for UHOOK_ERR_POINT
 * @text: a sentence for a person, without a newline
 */
struct uhook_report {
	enum uhook_error	error;
	unsigned int		point;
	char			text[160];
};

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
 * @code: for @UHOOK_USER_CODE, a function that runs wherever it is, and calls none
 *	outside; see uhook_gate.h
 * @code_size: its length, in bytes, up to UHOOK_CODE_MAX
 * @function: for @UHOOK_USER_FUNCTION, where it begins
 * @stubs: for @UHOOK_USER_STUB, the address of the stub of the first point; those of
 *	the others follow, UHOOK_STUB_SIZE bytes apart. A multiple of the size of a
 *	page, where processes have nothing, and never had other stubs. Points have to
 *	be where a function is entered or left: on arm64, IP0 or IP1 changes there
 * @flags: of &enum uhook_ops_flags
 * @name: names the hook in the log
 * @report: if not NULL, a registration that fails fills it and leaves the log alone;
 *	if NULL, the same sentence goes to the log
 * @private: the owner's
 * @attachment: uhook's; NULL when not registered
 * @leaving: uhook's; earlier registrations whose handlers may still run, or NULL
 *
 * A hook without @handler and @ret_handler takes no exception after the first hit in a
 * process, if possible; see uhook/slots in tracefs. With them each hit takes one.
 *
 * The handlers are called in the context of the task that was hit, which may sleep
 * there, under rcu_read_lock_trace(); @regs are those of the program at the site or,
 * for @ret_handler, after the return. If @handler sets the instruction pointer, the
 * task continues there, and nothing else happens at this hit. The handlers return 0.
 *
 * Owner's memory; while registered only @private and @report may change. US8832666
 * registers a kernel handler and a user handler together likewise; struct
 * uprobe_consumer is mainline's counterpart.
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

int uhook_register(struct uhook_ops *ops, const struct uhook_point *points, unsigned int nr);
int uhook_apply(struct uhook_ops *ops);
void uhook_unregister(struct uhook_ops *ops, struct uhook_hits *hits);
void uhook_unregister_async(struct uhook_ops *ops, uhook_gone_t gone);
void uhook_barrier(void);
void uhook_get_hits(struct uhook_ops *ops, struct uhook_hits *hits);
void uhook_get_words(struct uhook_ops *ops, u64 words[UHOOK_DATA_WORDS]);

#endif /* CONFIG_UHOOK */

#endif /* _LINUX_UHOOK_H */
