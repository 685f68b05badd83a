/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook - function hooks: no-op slots at function entries, patched at run
 * time into calls of trampolines that carry exactly the hooks of that site.
 *
 * A user fills one &struct fhook_ops and makes one call:
 *
 *	static int on_read(struct fhook_ops *ops, unsigned long ip,
 *			   unsigned long parent_ip, struct fhook_regs *fregs,
 *			   void *data)
 *	{
 *		pr_info("%ps reads %lu bytes\n",
 *			(void *)fhook_regs_get_parent(fregs),
 *			fhook_regs_get_arg(fregs, 2));
 *		return 0;
 *	}
 *
 *	static struct fhook_ops ops = { .name = "demo", .entry = on_read };
 *
 *	err = fhook_register(&ops, "vfs_read", NULL);
 *	...
 *	fhook_unregister(&ops);
 *
 * Everything here may sleep and is to be called from task context, except the
 * register accessors, which are for callbacks. Callbacks run in the context of the
 * hooked function, which may be an NMI; they must not sleep and must not register
 * or unregister.
 *
 * The mainline counterpart is <linux/fprobe.h>, of which this is a superset.
 */
#ifndef _LINUX_FHOOK_H
#define _LINUX_FHOOK_H

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/types.h>

struct fhook_frame;
struct fhook_hook;
struct fhook_ops;
struct fhook_regs;
struct llist_node;
struct module;
struct task_struct;

/**
 * typedef fhook_entry_t - callback at the entry of a hooked function
 * @ops: the ops that was registered
 * @ip: address of the hooked function (of its first byte, as kallsyms has it)
 * @parent_ip: return address as found, which fhook or another tracer may have
 *	replaced; fhook_regs_get_parent() returns the caller
 * @fregs: the registers at entry, see the fhook_regs_*() accessors
 * @data: storage of this call, NULL unless the ops requests some
 *
 * Runs with preemption disabled and with fhook's recursion guard of this context
 * held, unless the ops has %FHOOK_FL_UNGUARDED. Must not sleep.
 *
 * Return: 0, or another value to decline the exit callback of this call, as a
 * non-zero return of an fprobe entry handler does.
 */
typedef int (*fhook_entry_t)(struct fhook_ops *ops, unsigned long ip,
			     unsigned long parent_ip, struct fhook_regs *fregs,
			     void *data);

/**
 * typedef fhook_exit_t - callback at the return of a hooked function
 * @ops: the ops that was registered
 * @ip: address of the hooked function
 * @ret_ip: address in the caller at which the call continues, even if other tracers
 *	have replaced the return address
 * @fregs: registers at the return: the return value can be read and changed
 * @data: storage of this call, with the contents written by the entry callback,
 *	which finds it uninitialized; NULL if the ops requests none
 *
 * Runs with preemption disabled and with fhook's recursion guard of this context
 * held. Must not sleep. Called exactly once for each call of the entry callback
 * that did not decline it, except for functions that never return, and for calls
 * that return after the ops was unregistered or while fhook is switched off.
 */
typedef void (*fhook_exit_t)(struct fhook_ops *ops, unsigned long ip,
			     unsigned long ret_ip, struct fhook_regs *fregs,
			     void *data);

/**
 * enum fhook_ops_flags - options of an ops
 * @FHOOK_FL_REGS: save a full &struct pt_regs, so that fhook_get_regs() returns it
 *	(ftrace: FTRACE_OPS_FL_SAVE_REGS)
 * @FHOOK_FL_UNGUARDED: the callback takes care of recursion and of preemption
 *	itself (ftrace: FTRACE_OPS_FL_RECURSION not set). A set of hooks has no
 *	guard only if all of its ops have this flag.
 * @FHOOK_FL_LOOSE: a pattern without a match is no error, because it may match in a
 *	module that is loaded later, or have matched in one that was unloaded; use
 *	it together with fhook_check_filter() if the user writes the pattern
 */
enum fhook_ops_flags {
	FHOOK_FL_REGS		= BIT(0),
	FHOOK_FL_UNGUARDED	= BIT(1),
	FHOOK_FL_LOOSE		= BIT(2),
};

/**
 * enum fhook_error - kinds of errors, for programs
 * @FHOOK_ERR_NONE: no error
 * @FHOOK_ERR_OFF: fhook is switched off, by fhook=off or tracefs' fhook/enabled
 * @FHOOK_ERR_OPS: the ops is incomplete, or has flags that do not exist
 * @FHOOK_ERR_BUSY: the ops is registered already, or is still being retired
 * @FHOOK_ERR_NOT_REGISTERED: the ops is not registered
 * @FHOOK_ERR_PATTERN: the pattern is malformed
 * @FHOOK_ERR_OFFSET: the pattern names a function and an offset in it
 * @FHOOK_ERR_NO_FUNCTION: no function has this name or matches this glob
 * @FHOOK_ERR_CLONES: no function has this name, but clones or parts of it made by
 *	the compiler do, with a suffix
 * @FHOOK_ERR_NO_SLOT: the function exists, but has no slot (notrace, noinstr,
 *	assembly, or part of fhook itself)
 * @FHOOK_ERR_BYTES: the site does not have the bytes that fhook wrote
 * @FHOOK_ERR_NO_MEMORY: an allocation failed
 * @FHOOK_ERR_NO_ROOM: no trampoline memory within reach of the site
 * @FHOOK_ERR_TOO_MANY: no trampoline has room for this number of hooks
 * @FHOOK_ERR_REDIRECT: a redirect leads nowhere, to itself or in a circle
 * @FHOOK_ERR_TAKEN: someone else has redirected or live-patched this function, or traces
 *	its calls
 * @FHOOK_ERR_TASK: a task is inside a function that is to be redirected
 */
enum fhook_error {
	FHOOK_ERR_NONE,
	FHOOK_ERR_OFF,
	FHOOK_ERR_OPS,
	FHOOK_ERR_BUSY,
	FHOOK_ERR_NOT_REGISTERED,
	FHOOK_ERR_PATTERN,
	FHOOK_ERR_OFFSET,
	FHOOK_ERR_NO_FUNCTION,
	FHOOK_ERR_CLONES,
	FHOOK_ERR_NO_SLOT,
	FHOOK_ERR_BYTES,
	FHOOK_ERR_NO_MEMORY,
	FHOOK_ERR_NO_ROOM,
	FHOOK_ERR_TOO_MANY,
	FHOOK_ERR_REDIRECT,
	FHOOK_ERR_TAKEN,
	FHOOK_ERR_TASK,
};

/**
 * struct fhook_report - description of a failed call
 * @error: kind of the error, for programs
 * @offset: position in the filter string (or the notfilter string, if the error is
 *	there), in bytes, for %FHOOK_ERR_PATTERN, %FHOOK_ERR_OFFSET,
 *	%FHOOK_ERR_NO_FUNCTION, %FHOOK_ERR_CLONES and %FHOOK_ERR_NO_SLOT
 * @addr: address of the site or function concerned, else 0
 * @text: sentence for a person, without a newline
 */
struct fhook_report {
	enum fhook_error	error;
	unsigned int		offset;
	unsigned long		addr;
	char			text[160];
};

/**
 * struct fhook_tally - counts that outlive the registrations of an ops
 * @name: name shown in tracefs' fhook/stat while no ops with this tally is
 *	registered
 *
 * The counts of all ops with this tally stay in fhook/stat from fhook_tally_add()
 * to fhook_tally_remove(), like those of kprobe events in kprobe_profile.
 */
struct fhook_tally {
	const char		*name;
	/* private: under fhook's mutex */
	u64			hits;
	u64			missed;
	unsigned int		hooks;
	struct list_head	list;
};

/**
 * struct fhook_ops - one user's hook
 * @entry: called at the entry of each hooked function; may be NULL if @exit is not
 * @exit: called when the function returns, or NULL. The task keeps the return
 *	address until then; a call for which it has no room is counted as missed,
 *	and neither callback is called
 * @data_size: number of bytes carried from @entry to @exit of each call, at most
 *	%FHOOK_MAX_DATA
 * @name: name of the hook in tracefs, in the log and in reports; must stay valid
 *	until the ops has been unregistered
 * @private: free for the user
 * @priority: ops of one function run from the highest priority to the lowest; ops
 *	of equal priority run in the order of their registration
 * @flags: values of &enum fhook_ops_flags
 * @report: if not NULL, a failing call fills it and writes nothing to the log; if
 *	NULL, the sentence goes to the log
 * @tally: keeps the counts of this ops when it is unregistered, or NULL
 *
 * While the ops is registered, only @private and @report may be changed. The ops
 * must stay allocated until it has been unregistered: for fhook_unregister() until
 * that returns, for fhook_unregister_async() until its callback has run. A superset
 * of &struct fprobe: filters, registration by address and by symbol, per-ops miss
 * counts (in tracefs' fhook/stat).
 */
struct fhook_ops {
	fhook_entry_t		entry;
	fhook_exit_t		exit;
	size_t			data_size;
	const char		*name;
	void			*private;
	int			priority;
	unsigned int		flags;
	struct fhook_report	*report;
	struct fhook_tally	*tally;
	/* private: written under fhook's mutex; NULL while not in use */
	struct fhook_hook	*hook;
};

/* The maximum of &fhook_ops.data_size, in bytes. */
#define FHOOK_MAX_DATA		256

/**
 * typedef fhook_done_t - called when an ops is no longer in use
 * @ops: the ops; it may be freed or registered again from this point on
 *
 * Until this is called, the ops must not be registered again, even if registration
 * would succeed. Runs in a work item and may sleep, but must not wait for fhook,
 * nor take a lock under which others wait for fhook, such as event_mutex and
 * trace_types_lock.
 */
typedef void (*fhook_done_t)(struct fhook_ops *ops);

#ifdef CONFIG_FHOOK

#include <asm/fhook.h>

/* Runs instead of a skipped function: returns, and does nothing else. */
void fhook_just_return(void);

/**
 * fhook_regs_skip() - return from the hooked function instead of running it
 * @fregs: the registers at a site, in an entry callback
 * @val: the return value
 *
 * Other hooks of the function are called as if it had run, and exit callbacks get
 * @val. The caller is responsible for all effects that the function should have
 * had: locks, references, output through pointers. In the kernel, only functions
 * marked ALLOW_ERROR_INJECTION() are known to be safe to skip.
 */
static __always_inline void
fhook_regs_skip(struct fhook_regs *fregs, unsigned long val)
{
	fhook_regs_set_retval(fregs, val);
	fhook_regs_set_ip(fregs, (unsigned long)fhook_just_return);
}

/**
 * fhook_regs_get_arg() - read an integer argument
 * @fregs: the registers at a site
 * @n: index of the argument, from 0
 *
 * Return: the argument; 0 if it is not passed in a register, and in an exit
 * callback, where the registers have been reused.
 */
static __always_inline unsigned long
fhook_regs_get_arg(struct fhook_regs *fregs, unsigned int n)
{
	unsigned long *arg = fhook_regs_arg(fregs, n);

	return arg ? *arg : 0;
}

/**
 * fhook_regs_set_arg() - change an integer argument
 * @fregs: the registers at a site
 * @n: index of the argument, from 0; nothing happens if it is not passed in a
 *	register, or in an exit callback
 * @val: the new value
 */
static __always_inline void
fhook_regs_set_arg(struct fhook_regs *fregs, unsigned int n, unsigned long val)
{
	unsigned long *arg = fhook_regs_arg(fregs, n);

	if (arg)
		*arg = val;
}

unsigned long fhook_regs_get_parent(const struct fhook_regs *fregs);

int fhook_register(struct fhook_ops *ops, const char *filter,
		   const char *notfilter);
int fhook_register_ips(struct fhook_ops *ops, const unsigned long *addrs,
		       unsigned int num);
int fhook_register_syms(struct fhook_ops *ops, const char *const *syms,
			unsigned int num);
int fhook_retarget(struct fhook_ops *ops, const char *filter,
		   const char *notfilter);
int fhook_unregister(struct fhook_ops *ops);
int fhook_unregister_async(struct fhook_ops *ops, fhook_done_t done);
void fhook_barrier(void);
bool fhook_is_registered(const struct fhook_ops *ops);
void fhook_count(const struct fhook_ops *ops, u64 *hits, u64 *missed);
int fhook_check_filter(const char *filter, struct fhook_report *report);
void fhook_tally_add(struct fhook_tally *tally);
void fhook_tally_remove(struct fhook_tally *tally);

DECLARE_PER_CPU(unsigned int, fhook_guard);

/* For the rest of the kernel: module loader, unwinder, other owners of text. */

/*
 * A task dies of an oops, perhaps in a callback: release the guard, so that later
 * calls are not refused. Must be called while the task cannot leave the CPU on
 * which it was in the callback; if it can, it was in none, and the guard of any CPU
 * that it is on is clear.
 */
static inline void fhook_task_dead(void)
{
	this_cpu_write(fhook_guard, 0);
}

void fhook_init(void);
void fhook_fork(struct task_struct *task);
void fhook_task_restart(struct task_struct *task);
void fhook_task_free(struct task_struct *task);
unsigned long fhook_ret_addr(struct task_struct *task,
			     struct fhook_frame **cursor, unsigned long addr,
			     unsigned long key);
bool is_fhook_return(unsigned long addr);
unsigned long fhook_find_caller(unsigned long addr, unsigned long key,
				struct llist_node *node);
void fhook_module_init(struct module *mod);
int fhook_module_coming(struct module *mod);
void fhook_module_going(struct module *mod);
void fhook_free_init(struct module *mod);
bool is_fhook_trampoline(unsigned long addr);
bool fhook_text_reserved(const void *start, const void *end);
unsigned long fhook_slot_end(unsigned long addr);
unsigned long fhook_slot_start(unsigned long addr);
int fhook_address_lookup(unsigned long addr, unsigned long *size,
			 unsigned long *offset, char **modname,
			 const unsigned char **modbuildid, char *name);
int fhook_get_kallsym(unsigned int num, unsigned long *value, char *type,
		      char *name, char *module_name, int *exported);

#else /* !CONFIG_FHOOK */

static inline int fhook_register(struct fhook_ops *ops, const char *filter,
				 const char *notfilter)
{
	return -EOPNOTSUPP;
}

static inline int fhook_register_ips(struct fhook_ops *ops,
				     const unsigned long *addrs,
				     unsigned int num)
{
	return -EOPNOTSUPP;
}

static inline int fhook_register_syms(struct fhook_ops *ops,
				      const char *const *syms, unsigned int num)
{
	return -EOPNOTSUPP;
}

static inline int fhook_retarget(struct fhook_ops *ops, const char *filter,
				 const char *notfilter)
{
	return -EOPNOTSUPP;
}

static inline int fhook_unregister(struct fhook_ops *ops)
{
	return -EOPNOTSUPP;
}

static inline int fhook_unregister_async(struct fhook_ops *ops,
					 fhook_done_t done)
{
	return -EOPNOTSUPP;
}

static inline void fhook_barrier(void) { }

static inline bool fhook_is_registered(const struct fhook_ops *ops)
{
	return false;
}

static inline void fhook_count(const struct fhook_ops *ops, u64 *hits,
			       u64 *missed)
{
	*hits = 0;
	*missed = 0;
}

static inline int fhook_check_filter(const char *filter,
				     struct fhook_report *report)
{
	return -EOPNOTSUPP;
}

static inline void fhook_tally_add(struct fhook_tally *tally) { }
static inline void fhook_tally_remove(struct fhook_tally *tally) { }
static inline void fhook_task_dead(void) { }
static inline void fhook_init(void) { }
static inline void fhook_fork(struct task_struct *task) { }
static inline void fhook_task_restart(struct task_struct *task) { }
static inline void fhook_task_free(struct task_struct *task) { }

static inline unsigned long fhook_ret_addr(struct task_struct *task,
					   struct fhook_frame **cursor,
					   unsigned long addr,
					   unsigned long key)
{
	return addr;
}

static inline bool is_fhook_return(unsigned long addr)
{
	return false;
}

static inline unsigned long fhook_find_caller(unsigned long addr,
					      unsigned long key,
					      struct llist_node *node)
{
	return addr;
}

static inline void fhook_module_init(struct module *mod) { }
static inline int fhook_module_coming(struct module *mod) { return 0; }
static inline void fhook_module_going(struct module *mod) { }
static inline void fhook_free_init(struct module *mod) { }

static inline bool is_fhook_trampoline(unsigned long addr)
{
	return false;
}

static inline bool fhook_text_reserved(const void *start, const void *end)
{
	return false;
}

static inline unsigned long fhook_slot_end(unsigned long addr)
{
	return addr;
}

static inline unsigned long fhook_slot_start(unsigned long addr)
{
	return addr;
}

static inline int fhook_address_lookup(unsigned long addr, unsigned long *size,
				       unsigned long *offset, char **modname,
				       const unsigned char **modbuildid,
				       char *name)
{
	return 0;
}

static inline int fhook_get_kallsym(unsigned int num, unsigned long *value,
				    char *type, char *name, char *module_name,
				    int *exported)
{
	return -ERANGE;
}

#endif /* CONFIG_FHOOK */

#endif /* _LINUX_FHOOK_H */
