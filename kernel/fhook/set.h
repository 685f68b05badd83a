/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: sets of hooks, each with its trampoline.
 */
#ifndef _FHOOK_SET_H
#define _FHOOK_SET_H

#include <linux/fhook.h>
#include <linux/fhook_arch.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "core.h"
#include "exits.h"
#include "extension.h"
#include "retire.h"

/**
 * struct fhook_member - a hook in a set
 * @hook: the hook
 * @exit: entry in the exits of the set if the hook has an exit callback, else NULL
 * @call: offset of the call of the entry callback in the trampoline, in bytes; 0 if the
 *	hook has no entry callback
 * @dead: whether the hook was unregistered and the call replaced, see fhook_set_kill()
 */
struct fhook_member {
	struct fhook_hook	*hook;
	struct fhook_exit	*exit;
	u32			call;
	bool			dead;
};

/**
 * struct fhook_set - hooks and redirect of sites, with their trampoline
 * @node: link in the hash of sets
 * @key: hash of the hooks, of @func_offset, @target and @gate
 * @users: number of sites with this set; the set is retired when it falls to 0
 * @func_offset: distance from the function to the return address of the slot's call, in
 *	bytes
 * @target: address of the function that runs instead, 0 for none
 * @gate: word that enables @target while it is not 0, NULL if @target is always enabled
 * @dest: target of the branch in the slot: the trampoline, or @target if there is none
 * @flags: values of &enum fhook_ops_flags that the trampoline provides
 * @exits: exits of the hooks, NULL if no hook has an exit callback
 * @text: address of the trampoline, NULL if there is none
 * @size: size of the memory at @text, in bytes
 * @id: number in the name of the trampoline
 * @announced: whether perf has been notified of the trampoline
 * @arch: description of the trampoline for unwinding
 * @retired: queue entry for the grace period
 * @rcu: for look-ups by address
 * @num: number of hooks, 0 for a function that is only redirected
 * @members: hooks in the order in which they run
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

/* Is the only hook one with an exit callback? Then the trampoline needs fewer checks. */
static inline bool fhook_set_one_exit(const struct fhook_set *set)
{
	return set->exits && set->num == 1;
}

/* Do the sites with this set lead to a stub of an extension? */
static inline bool fhook_set_is_stub(const struct fhook_set *set)
{
	return set && set->target && fhook_is_stub(set->target);
}

static inline const void *fhook_set_dest(const struct fhook_set *set)
{
	return set ? set->dest : NULL;
}

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

#endif /* _FHOOK_SET_H */
