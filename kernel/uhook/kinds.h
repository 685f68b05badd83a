/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uhook: what a kind of hook does in the program.
 *
 * Each kind is a file: count.c, record.c, call.c, stubs.c. The others know a kind by its
 * &struct uhook_kind alone, which a hook's counter has; kinds.c has the table of all.
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
 * enum uhook_trait - what is true of a kind, or of one of the hooks of a set
 * @UHOOK_COUNTS: bodies count its hits
 * @UHOOK_LONG: its bodies are long, and each handler of them has a &struct uhook_block
 * @UHOOK_FIRST: its code comes first in a body, before hits are counted
 * @UHOOK_RECORDS: bodies write to the ring of their area
 * @UHOOK_CALLS: bodies call something, which the kernel cannot do in their stead
 * @UHOOK_LOCAL: a child does not share the jump before it was asked for
 * @UHOOK_BREAKS: the breakpoint of the hook is in the body; no kind has it
 * @UHOOK_FILTERED: the hook is not meant for all address spaces; no kind has it
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
 * @name: its name in user= of events, or NULL
 * @traits: of &enum uhook_trait
 * @check: copies what a hook with so many points asks for to its counter; returns 0 or an
 *	error, having said why with uhook_fail()
 * @begin: called when there is one more hook
 * @end: called when there is one less
 * @may_run: says whether a task may run the handler
 * @find: finds for current what the handler of a body needs in its address space, with
 *	the mmap lock held for writing
 * @prepare: makes in an area, whose lock is held, what the handler calls
 * @emit: appends the code of the handler to that of a body
 * @finish: called when the body is at @addr, which nobody knows yet; @nr of the handlers of
 *	kinds with this function have been finished before
 * @in_kernel: does at a hit what the program cannot do
 *
 * All but @traits may be NULL or 0. The hook in question is number I of the set of what
 * is wanted.
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
