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
 * @members: the hooks, in the order in which they run
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
