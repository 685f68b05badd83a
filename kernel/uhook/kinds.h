/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: the interface of the kinds of hooks.
 *
 * Each kind is implemented in a file of its own: count.c, record.c, call.c, stubs.c.
 * Other code uses only the &struct uhook_kind in the counter of a hook; kinds.c has the
 * table of all kinds.
 */
#ifndef _KERNEL_UHOOK_KINDS_H
#define _KERNEL_UHOOK_KINDS_H

#include <linux/bits.h>
#include <linux/types.h>
#include <linux/uhook.h>

#include "verdict.h"

struct pt_regs;
struct task_struct;
struct uhook_area;
struct uhook_code;
struct uhook_counter;
struct uhook_mm;
struct uhook_wanted;
struct uhook_where;
struct uprobe;

/**
 * enum uhook_trait - properties of a kind, or of at least one hook of a set
 * @UHOOK_COUNTS: bodies count the hits
 * @UHOOK_LONG: bodies are long, and each of their handlers has a &struct uhook_cells
 * @UHOOK_FIRST: the code comes first in a body, before hits are counted
 * @UHOOK_RECORDS: bodies write to the ring of their area
 * @UHOOK_CALLS: bodies call code that the kernel cannot run in their place
 * @UHOOK_LOCAL: a child takes its breakpoint once before it may have the jump
 * @UHOOK_BREAKS: the breakpoint of the hook is in the body; for sets only
 * @UHOOK_FILTERED: the hook does not apply to all address spaces; for sets only
 */
enum uhook_trait {
	UHOOK_COUNTS	= BIT(0),
	UHOOK_LONG	= BIT(1),
	UHOOK_FIRST	= BIT(2),
	UHOOK_RECORDS	= BIT(3),
	UHOOK_CALLS	= BIT(4),
	UHOOK_LOCAL	= BIT(5),
	UHOOK_BREAKS	= BIT(6),
	UHOOK_FILTERED	= BIT(7),
};

/**
 * struct uhook_kind - a kind of hook
 * @name: name in user= of events, or NULL
 * @traits: traits of &enum uhook_trait
 * @check: checks a hook with this number of points and copies its parameters to its
 *	counter; returns 0 or an error, after uhook_fail() has reported it
 * @begin: called when a hook is registered
 * @end: called when a hook has been unregistered
 * @may_run: checks whether a task may run the handler
 * @find: finds in current's address space what the handler needs, with the mmap lock held
 *	for writing
 * @prepare: adds to an area, whose lock is held, the gate or code that the handler needs
 * @emit: appends the code of the handler to a body
 * @finish: called for the body at @addr before the address is published; @nr is the
 *	number of handlers of kinds with @finish that were finished before
 * @in_kernel: does at a hit the work that the program cannot do
 *
 * All members but @traits may be NULL or 0. Argument I is the index of the hook in the
 * set of the wanted body.
 */
struct uhook_kind {
	const char	*name;
	unsigned int	traits;
	int		(*check)(struct uhook_counter *counter, const struct uhook_ops *ops,
				 unsigned int nr);
	void		(*begin)(void);
	void		(*end)(void);
	bool		(*may_run)(const struct task_struct *task);
	enum uhook_verdict (*find)(struct uhook_mm *um, struct uhook_wanted *w, unsigned int i,
				   struct uprobe *uprobe);
	enum uhook_verdict (*prepare)(struct uhook_area *area, struct uhook_counter *counter);
	enum uhook_verdict (*emit)(const struct uhook_wanted *w, unsigned int i,
				   const struct uhook_where *p, struct uhook_code *code);
	enum uhook_verdict (*finish)(struct uhook_mm *um, const struct uhook_wanted *w,
				     unsigned int i, unsigned long addr, unsigned int nr);
	void		(*in_kernel)(struct uhook_ops *ops, struct pt_regs *regs);
};

extern const struct uhook_kind uhook_no_kind;
extern const struct uhook_kind uhook_count_kind;
extern const struct uhook_kind uhook_record_kind;
extern const struct uhook_kind uhook_code_kind;
extern const struct uhook_kind uhook_function_kind;
extern const struct uhook_kind uhook_stub_kind;

const struct uhook_kind *uhook_kind_of(enum uhook_user user);

#endif /* _KERNEL_UHOOK_KINDS_H */
