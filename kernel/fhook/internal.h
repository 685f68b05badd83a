/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: what its files share.
 *
 *	report.c	errors, each with a sentence
 *	core.c		the lock, the list of hooks, the life of a hook
 *	extension.c	parts that let slots lead to stubs of their own
 *	pattern.c	filters: which functions a user means
 *	sites.c		tables of sites, and which set each site in use has
 *	text.c		memory of trampolines, and their names
 *	set.c		sets of hooks, each with its trampoline
 *	change.c	transactions: many sites from one set to another
 *	retire.c	freeing what may still be running
 *	frame.c		calls whose return is hooked
 *	exits.c		what a set does when its functions return
 *	stack.c		the shadow stacks of tasks
 *	span.c		which sites a hook has
 *	hook.c		registration: the API
 *	replacers.c	modules with replacements
 *	redirect.c	replacing functions: the API
 *	function.c	functions by name, and their code
 *	consistency.c	switching a whole patch while no task is inside its functions
 *	switch.c	everything off, and on again
 *	module.c	modules and init memory that come and go
 *	tracefs.c	the files in tracefs' fhook/
 *	calltrace/	the sequence of calls, by a block of jumps
 *	arch/		the slot, the trampoline, the registers
 *
 * Everything that decides holds fhook_mutex: tables, sets, hooks, spans.
 * Order of locks: fhook_mutex, module_mutex, text_mutex. What runs without
 * it: trampolines (they read nothing but what was written into them),
 * frame.c (which belongs to the task that runs), and the look-ups of trampoline
 * addresses in text.c, which use RCU.
 */
#ifndef _FHOOK_INTERNAL_H
#define _FHOOK_INTERNAL_H

#include <linux/fhook.h>
#include <linux/fhook_redirect.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu-defs.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/xarray.h>
#include <asm/fhook_arch.h>
#include <asm/fhook_pieces.h>

#include "extension.h"

/**
 * struct fhook_stat - what the trampolines count, per CPU and hook
 * @hits: calls that the hook has seen
 * @missed: calls refused by the recursion guard, or for want of room for the
 *	return address
 */
struct fhook_stat {
	u64	hits;
	u64	missed;
};

/**
 * struct fhook_table - the sites of vmlinux or of a module
 * @list: in fhook_tables, vmlinux first
 * @mod: the module, NULL for vmlinux
 * @base: what the offsets count from
 * @sites: sorted offsets of the slots in bytes
 * @num: how many there are
 * @used: index of a site to the &struct fhook_set that it has; sites that are
 *	not there have none
 * @init_start: begin of text that is freed after init; sites in it are gone
 *	once @init_gone
 * @init_end: end of it
 * @init_gone: init text has been freed
 * @rcu: for fhook_text_reserved()
 *
 * A site is named by its table and its index there. All under fhook_mutex.
 */
struct fhook_table {
	struct list_head	list;
	struct module		*mod;
	unsigned long		base;
	s32			*sites;
	unsigned int		num;
	struct xarray		used;
	unsigned long		init_start;
	unsigned long		init_end;
	bool			init_gone;
	struct rcu_head		rcu;
};

/* This site is not to be touched any more: somebody else changed its bytes. */
#define FHOOK_SITE_FOREIGN	XA_MARK_0
/* So it has kept a set that goes on where nobody redirects it to any more. */
#define FHOOK_SITE_STALE	XA_MARK_1

/**
 * struct fhook_pattern - one pattern of a filter
 * @func: name or glob, NULL for every function
 * @len: of @func without its final '*', for a prefix
 * @mod: module, NULL for any and for none
 * @offset: where it stands in what the user wrote
 * @kind: how @func is to be matched
 * @functions: while resolving: functions found
 * @found: while resolving: sites found
 */
struct fhook_pattern {
	char		*func;
	unsigned int	len;
	char		*mod;
	unsigned int	offset;
	enum {
		FHOOK_MATCH_ALL,
		FHOOK_MATCH_NAME,
		FHOOK_MATCH_PREFIX,
		FHOOK_MATCH_GLOB,
	}		kind;
	unsigned int	functions;
	unsigned int	found;
};

/**
 * struct fhook_filter - a list of patterns
 * @text: copy of what the user wrote, cut into pieces
 * @names: how many patterns are plain names; they come first, sorted
 * @num: how many patterns
 * @patterns: them
 */
struct fhook_filter {
	char			*text;
	unsigned int		names;
	unsigned int		num;
	struct fhook_pattern	patterns[] __counted_by(num);
};

/**
 * struct fhook_span - the sites of one hook in one table
 * @list: in &fhook_hook.spans
 * @table: the table
 * @num: how many
 * @sites: their indices, ascending
 */
struct fhook_span {
	struct list_head	list;
	struct fhook_table	*table;
	unsigned int		num;
	u32			sites[] __counted_by(num);
};

/**
 * struct fhook_retired - something to free after a grace period
 * @list: in a list of retire.c
 * @busy: whether something else still needs it, or NULL
 * @free: called from a work item once nothing can be running in it
 */
struct fhook_retired {
	struct list_head	list;
	bool			(*busy)(struct fhook_retired *retired);
	void			(*free)(struct fhook_retired *retired);
};

/**
 * struct fhook_hook - what fhook keeps of a registered ops
 * @list: in fhook_hooks, in the order of their registration
 * @ops: the ops
 * @stat: its counters
 * @spans: its sites
 * @filter: which functions, for modules to come; NULL if given by address
 * @notfilter: which of them not, or NULL
 * @owner: module that the callback is in, pinned while @retired is queued
 * @pinned: @owner is
 * @exit: its exit callback while that may be called, else NULL; read without
 *	the mutex
 * @seq: when it was registered, for the order on a site
 * @sets: sets and exits that it is in, retired ones too, and one while it is
 *	registered; freed with the last
 * @retired: for the grace period after unregistering
 * @done: the user's callback after that
 */
struct fhook_hook {
	struct list_head	list;
	struct fhook_ops	*ops;
	struct fhook_stat __percpu *stat;
	struct list_head	spans;
	struct fhook_filter	*filter;
	struct fhook_filter	*notfilter;
	struct module		*owner;
	bool			pinned;
	fhook_exit_t		exit;
	u64			seq;
	unsigned int		sets;
	struct fhook_retired	retired;
	fhook_done_t		done;
};

/**
 * struct fhook_exit - a hook of a set that has an exit callback
 * @hook: the hook
 * @data: where its data are in a frame, in bytes; 0 if it wants none
 * @dead: as in &struct fhook_member; read without the mutex
 */
struct fhook_exit {
	struct fhook_hook	*hook;
	u32			data;
	bool			dead;
};

/**
 * struct fhook_exits - what a set does when its functions return
 * @pending: how many frames wait for that; only the sum means something
 * @stub: what functions return to instead
 * @size: of a frame with all data, in bytes
 * @all: &fhook_frame.declined if nobody wants the exit
 * @retired: once the set is gone
 * @num: how many hooks
 * @exits: them, in the order of the set
 */
struct fhook_exits {
	long __percpu		*pending;
	void			(*stub)(void);
	u32			size;
	u32			all;
	struct fhook_retired	retired;
	unsigned int		num;
	struct fhook_exit	exits[] __counted_by(num);
};

/**
 * struct fhook_frame - a call whose return is, or may be, hooked
 * @ret: where the function was to return to
 * @key: what unwinders find it by, 0 until the return is hooked
 * @func: the function
 * @exits: of its set
 * @size: with the data that follow, in bytes: there the next older one begins
 * @declined: a bit for each of @exits that does not want this call
 */
struct fhook_frame {
	unsigned long		ret;
	unsigned long		key;
	unsigned long		func;
	const struct fhook_exits *exits;
	u32			size;
	u32			declined;
};

/**
 * struct fhook_stack - the calls of a task whose returns are hooked
 * @top: the youngest; it grows downwards
 */
struct fhook_stack {
	void			*top;
};

#define FHOOK_STACK_SIZE	SZ_4K

/* There is a frame that belongs to no call, so that there is always one. */
#define FHOOK_NO_KEY		ULONG_MAX

static inline void *fhook_stack_end(struct fhook_stack *stack)
{
	return (void *)stack + FHOOK_STACK_SIZE - sizeof(struct fhook_frame);
}

/**
 * struct fhook_member - a hook in a set
 * @hook: the hook
 * @exit: if it has an exit callback, that, else NULL
 * @call: where in the trampoline the call of its entry callback is, in bytes; 0
 *	if it has none
 * @dead: it was unregistered and the call goes nowhere, see
 *	fhook_set_kill()
 */
struct fhook_member {
	struct fhook_hook	*hook;
	struct fhook_exit	*exit;
	u32			call;
	bool			dead;
};

/**
 * enum fhook_state - what a slot does
 * @FHOOK_NOP: nothing
 * @FHOOK_CALL: it calls a trampoline
 * @FHOOK_JUMP: it jumps to where the function is to go on instead
 */
enum fhook_state {
	FHOOK_NOP,
	FHOOK_CALL,
	FHOOK_JUMP,
};

/**
 * struct fhook_set - what a site does: its hooks, and where it goes on
 * @node: in the hash of sets
 * @key: hash of the hooks, of @func_offset, @target and @gate
 * @users: sites that have this set; it is retired when there are none
 * @func_offset: from the function to where the slot's call returns to, bytes
 * @target: the function that runs instead, 0 for none
 * @gate: it does so only while this is not 0; NULL for always
 * @dest: what the slot branches to: the trampoline, or with no hooks @target
 * @flags: of &enum fhook_ops_flags, what the trampoline has
 * @exits: what is done when a function returns, NULL if nothing
 * @text: the trampoline, NULL if there is none
 * @size: of the place that it has, in bytes
 * @id: names the trampoline
 * @announced: perf has been told of it
 * @arch: what unwinding needs
 * @retired: for the grace period
 * @rcu: for look-ups by address
 * @num: how many hooks, 0 for a function that is only redirected
 * @members: them, in the order in which they run
 */
struct fhook_set {
	struct hlist_node	node;
	u32			key;
	unsigned int		users;
	u8			func_offset;
	unsigned long		target;
	const u32		*gate;
	const void		*dest;
	unsigned int		flags;
	struct fhook_exits	*exits;
	void			*text;
	unsigned int		size;
	unsigned int		id;
	bool			announced;
	struct fhook_arch_tramp	arch;
	struct fhook_retired	retired;
	struct rcu_head		rcu;
	unsigned int		num;
	struct fhook_member	members[] __counted_by(num);
};

static inline enum fhook_state fhook_set_state(const struct fhook_set *set)
{
	if (!set)
		return FHOOK_NOP;

	return set->num || set->gate ? FHOOK_CALL : FHOOK_JUMP;
}

/* Does the only hook want exits? Then a trampoline has less to find out. */
static inline bool fhook_set_one_exit(const struct fhook_set *set)
{
	return set->exits && set->num == 1;
}

/* Do its sites lead to a stub of an extension? */
static inline bool fhook_set_is_stub(const struct fhook_set *set)
{
	return set && set->target && fhook_is_stub(set->target);
}

static inline const void *fhook_set_dest(const struct fhook_set *set)
{
	return set ? set->dest : NULL;
}

/**
 * struct fhook_change - one site from one set to another
 * @table: the table of the site
 * @site: its index
 * @old: the set it has, NULL for none
 * @new: the set it is to have, NULL for none
 */
struct fhook_change {
	struct fhook_table	*table;
	u32			site;
	struct fhook_set	*old;
	struct fhook_set	*new;
};

/**
 * struct fhook_range - the code of a function
 * @start: its first byte
 * @end: behind its last
 */
struct fhook_range {
	unsigned long		start;
	unsigned long		end;
};

/**
 * struct fhook_ranges - functions that no task is to be in
 * @num: how many
 * @range: them
 */
struct fhook_ranges {
	unsigned int		num;
	struct fhook_range	range[] __counted_by(num);
};

/* Is an address in one of the functions? */
static inline bool fhook_in_ranges(const struct fhook_ranges *ranges,
				   unsigned long addr)
{
	unsigned int i;

	for (i = 0; i < ranges->num; i++) {
		if (addr >= ranges->range[i].start &&
		    addr < ranges->range[i].end)
			return true;
	}

	return false;
}

/**
 * struct fhook_txn - changes that happen together or not at all
 * @changes: the sites
 * @detach: it only takes hooks away, and must not fail for a site that somebody
 *	else has written to
 * @skip_foreign: leave out such a site, rather than fail
 * @foreign: set when a site could not be detached
 * @num: how many are in use
 * @max: how many there is room for
 * @report: what went wrong
 */
struct fhook_txn {
	struct fhook_change	*changes;
	unsigned int		num;
	unsigned int		max;
	bool			detach;
	bool			skip_foreign;
	bool			foreign;
	struct fhook_report	*report;
};

extern struct mutex fhook_mutex;
extern struct list_head fhook_hooks;
extern struct list_head fhook_tallies;
extern struct list_head fhook_tables;
extern bool fhook_switched_off;
extern struct dentry *fhook_tracefs_dir;

/* report.c */
__printf(5, 6)
int fhook_fail(struct fhook_report *report, enum fhook_error error, int err,
	       unsigned long addr, const char *fmt, ...);

void fhook_fail_at(struct fhook_report *report, unsigned long func);
void fhook_report_out(struct fhook_report *to, const char *name,
		      const struct fhook_report *report);

/* core.c */
struct module *fhook_module_of(const void *addr);
void fhook_hook_put(struct fhook_hook *hook);
void fhook_hook_count(const struct fhook_hook *hook, u64 *hits, u64 *missed);

/* pattern.c */
struct fhook_filter *fhook_filter_parse(const char *text,
					struct fhook_report *report);
void fhook_filter_free(struct fhook_filter *filter);
void fhook_filter_reset(struct fhook_filter *filter);
void fhook_filter_select(struct fhook_filter *filter,
			 struct fhook_table *table, unsigned long *sites);
int fhook_filter_check(struct fhook_filter *filter,
		       struct fhook_report *report);

/* sites.c */
unsigned long fhook_site_addr(const struct fhook_table *table, u32 site);
unsigned long fhook_site_func(const struct fhook_table *table, u32 site);
bool fhook_site_stale(const struct fhook_table *table, u32 site);
bool fhook_site_gone(const struct fhook_table *table, u32 site);
int fhook_table_find(const struct fhook_table *table, unsigned long func);
struct fhook_table *fhook_table_of(unsigned long addr);
unsigned int fhook_table_first(const struct fhook_table *table,
			       unsigned long addr);
void fhook_sites_sort(s32 *sites, unsigned int num);

/* text.c */
void *fhook_text_alloc(struct fhook_set *set, unsigned long site,
		       unsigned int size);
void fhook_text_write(struct fhook_set *set, const void *code,
		      unsigned int size);
void fhook_text_free(struct fhook_set *set);
const struct fhook_set *fhook_text_find(unsigned long addr);

/* set.c */
struct fhook_set *fhook_set_with(struct fhook_set *old, bool redirected,
				 struct fhook_hook *hook, unsigned long site,
				 u8 func_offset, struct fhook_report *report);
struct fhook_set *fhook_set_without(struct fhook_set *old, bool redirected,
				    struct fhook_hook *hook,
				    unsigned long site,
				    struct fhook_report *report);
struct fhook_set *fhook_set_redirected(struct fhook_set *old,
				       unsigned long target, const u32 *gate,
				       unsigned long site, u8 func_offset,
				       struct fhook_report *report);
bool fhook_set_has(const struct fhook_set *set, const struct fhook_hook *hook);
void fhook_set_get(struct fhook_set *set);
u32 *fhook_gate_alloc(u32 value);
void fhook_gate_put(const u32 *gate);
void fhook_set_put(struct fhook_set *set);
void fhook_set_drop_unused(void);
void fhook_set_kill(struct fhook_hook *hook);

/* change.c */
int fhook_txn_add(struct fhook_txn *txn, struct fhook_table *table, u32 site,
		  struct fhook_hook *hook);
int fhook_txn_del(struct fhook_txn *txn, struct fhook_table *table, u32 site,
		  struct fhook_hook *hook);
int fhook_txn_redirect(struct fhook_txn *txn, struct fhook_table *table,
		       u32 site, unsigned long target, const u32 *gate);
int fhook_txn_reverse(struct fhook_txn *txn, const struct fhook_txn *other);
void fhook_txn_hold(struct fhook_txn *txn);
void fhook_txn_commit_held(struct fhook_txn *txn);
void fhook_txn_abort_held(struct fhook_txn *txn);
int fhook_txn_commit(struct fhook_txn *txn);
void fhook_txn_abort(struct fhook_txn *txn);
bool fhook_table_clear(struct fhook_table *table);

/* retire.c */
void fhook_retire(struct fhook_retired *retired,
		  bool (*busy)(struct fhook_retired *retired),
		  void (*free)(struct fhook_retired *retired));
unsigned int fhook_retired_busy(void);

/* exits.c */
int fhook_exits_make(struct fhook_set *set, struct fhook_report *report);
void fhook_exits_put(struct fhook_exits *exits, bool used);

/* frame.c */
void fhook_frame_pop(struct fhook_frame *frame);
void fhook_return_handler(struct fhook_regs *fregs);
void fhook_regs_return_handler(struct fhook_regs *fregs);
void fhook_frames_drop(struct fhook_stack *stack);

/* stack.c */
int fhook_stacks_want(struct fhook_report *report);

/* span.c */
struct fhook_span *fhook_span_select(struct fhook_hook *hook,
				     struct fhook_table *table,
				     struct fhook_report *report);
struct fhook_span *fhook_span_find(struct list_head *spans,
				   const struct fhook_table *table);
int fhook_spans_by_addr(struct list_head *spans, const unsigned long *addrs,
			unsigned int num, struct fhook_report *report);
int fhook_spans_select(struct fhook_hook *hook, struct list_head *spans,
		       struct fhook_report *report);
void fhook_spans_free(struct list_head *spans);
int fhook_spans_change(struct fhook_txn *txn, struct fhook_hook *hook,
		       struct list_head *old, struct list_head *new);

/* hook.c */
void fhook_hook_detach(struct fhook_hook *hook);

/* redirect.c */
extern struct list_head fhook_patches;

const struct fhook_patch *fhook_patch_of(const struct fhook_table *table,
					 u32 site);
int fhook_patches_attach(struct module *mod, struct fhook_report *report);
void fhook_patches_forget(struct fhook_table *table, u32 first, u32 last,
			  bool init);
void fhook_patches_of_going(struct module *mod);

/* replacers.c */
int fhook_replacers_add(const struct fhook_patch *patch,
			struct fhook_report *report);
void fhook_replacers_pin(const struct fhook_patch *patch);
void fhook_replacer_forget(struct module *mod);

/* function.c */
int fhook_redirect_find(struct fhook_redirect *redirect,
			const struct module *coming,
			struct fhook_report *report);
struct fhook_ranges *fhook_patch_ranges(const struct fhook_patch *patch,
					bool functions, bool replacements,
					struct fhook_report *report);

/* consistency.c */
#ifdef CONFIG_HAVE_RELIABLE_STACKTRACE
int fhook_switch_consistently(const struct fhook_ranges *ranges, u32 *gate, u32 value,
			      struct fhook_report *report);
void fhook_wait_until_left(const struct fhook_ranges *ranges, const char *name);
#else
static inline int
fhook_switch_consistently(const struct fhook_ranges *ranges, u32 *gate, u32 value,
			  struct fhook_report *report)
{
	return -EOPNOTSUPP;
}

static inline void
fhook_wait_until_left(const struct fhook_ranges *ranges, const char *name)
{
}
#endif

/* switch.c */
int fhook_switch(bool on);

/* arch/.../kernel/fhook*.c */
int fhook_arch_sites(struct fhook_table *table);
unsigned int fhook_arch_module_sites(struct module *mod, unsigned long base);
unsigned int fhook_arch_func_offset(unsigned long site);
unsigned int fhook_arch_tramp_size(const struct fhook_set *set);
unsigned int fhook_arch_tramp_build(struct fhook_set *set, void *code);
void *fhook_arch_text_alloc(unsigned long first, unsigned long last,
			    unsigned int size);
void fhook_arch_text_write(void *text, const void *code, unsigned int size);
void fhook_arch_text_clear(void *text, unsigned int size);
bool fhook_arch_site_has(unsigned long site, enum fhook_state state,
			 const void *dest);
void fhook_arch_site_queue(unsigned long site, enum fhook_state state,
			   const void *dest);
void fhook_arch_site_flush(void);
void fhook_arch_call_kill(void *call);

#endif /* _FHOOK_INTERNAL_H */
