// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: sets of hooks, each with the trampoline that calls exactly them, and
 * continues in the function or in its replacement.
 *
 * Sites share a set if their hooks are equal and in equal order, their replacement is
 * the same, their slot is at the same distance from the function, and the trampoline
 * is within their reach; a hash table finds the set. A redirected site without hooks
 * needs no trampoline: it jumps to the replacement if the jump reaches it. A set is
 * made before the first site uses it and never changes. Sites that have the set count
 * as its users; when the last one leaves, the set is retired and freed after a grace
 * period, because a task may still be running in its trampoline. A set that no site
 * ever had is freed at once.
 *
 * All under fhook_mutex, except fhook_set_free(), which takes it.
 */
#include <linux/fhook_arch.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/memory.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "core.h"
#include "exits.h"
#include "report.h"
#include "retire.h"
#include "set.h"
#include "text.h"
#include "trampoline.h"

#define SET_HASH_BITS	9

static DEFINE_HASHTABLE(fhook_sets, SET_HASH_BITS);

/* Sets that were made for a transaction and that no site has yet. */
static LIST_HEAD(unused_sets);

static unsigned int last_id;

/**
 * struct gate - a word that trampolines check, alive as long as any of them
 * @value: 0 to continue in the function, 1 in the replacement
 * @users: number of sets with this gate, plus one for a switch in progress
 */
struct gate {
	u32		value;
	unsigned int	users;
};

/**
 * fhook_gate_alloc() - allocate the gate of one switch
 * @value: its initial value
 *
 * The gate is not part of the patch: after a switch that failed, the patch may be
 * freed while a task is in a trampoline that is about to read the gate.
 *
 * Return: the word, to be released by fhook_gate_put(), or NULL.
 */
u32 *fhook_gate_alloc(u32 value)
{
	struct gate *gate = kmalloc(sizeof(*gate), GFP_KERNEL);

	lockdep_assert_held(&fhook_mutex);
	if (!gate)
		return NULL;

	gate->value = value;
	gate->users = 1;

	return &gate->value;
}

static void gate_get(const u32 *word)
{
	if (word)
		container_of(word, struct gate, value)->users++;
}

/**
 * fhook_gate_put() - release a gate
 * @word: its word, or NULL
 */
void fhook_gate_put(const u32 *word)
{
	lockdep_assert_held(&fhook_mutex);
	if (word && !--container_of(word, struct gate, value)->users)
		kfree(container_of(word, struct gate, value));
}

/**
 * struct spec - the set that a site needs
 * @hooks: its hooks, in the order in which they run
 * @num: number of hooks
 * @target: address of the function that runs instead, or 0
 * @gate: word that enables @target while it is not 0, or NULL
 * @site: address of the slot
 * @func_offset: distance from the function to the return address of the slot's call,
 *	in bytes
 */
struct spec {
	struct fhook_hook	**hooks;
	unsigned int		num;
	unsigned long		target;
	const u32		*gate;
	unsigned long		site;
	u8			func_offset;
};

static u32 spec_key(const struct spec *spec)
{
	u32 key = jhash(spec->hooks, spec->num * sizeof(*spec->hooks),
			spec->func_offset);

	key = jhash(&spec->target, sizeof(spec->target), key);

	return jhash(&spec->gate, sizeof(spec->gate), key);
}

static bool has_these(const struct fhook_set *set,
		      struct fhook_hook *const *hooks)
{
	unsigned int i;

	for (i = 0; i < set->num; i++) {
		if (set->members[i].hook != hooks[i] || set->members[i].dead)
			return false;
	}

	return true;
}

static struct fhook_set *set_find(const struct spec *spec, u32 key)
{
	struct fhook_set *set;

	hash_for_each_possible(fhook_sets, set, node, key) {
		if (set->key == key && set->num == spec->num &&
		    set->target == spec->target && set->gate == spec->gate &&
		    set->func_offset == spec->func_offset &&
		    fhook_arch_reaches(spec->site, set->dest) &&
		    has_these(set, spec->hooks))
			return set;
	}

	return NULL;
}

/* Full registers if any hook needs them; no guard if no hook needs it. */
static unsigned int set_flags(struct fhook_hook *const *hooks, unsigned int num)
{
	unsigned int i, flags = FHOOK_FL_UNGUARDED;

	for (i = 0; i < num; i++) {
		flags |= hooks[i]->ops->flags & FHOOK_FL_REGS;
		if (!(hooks[i]->ops->flags & FHOOK_FL_UNGUARDED))
			flags &= ~FHOOK_FL_UNGUARDED;
	}

	return flags;
}

static int make_text(struct fhook_set *set, unsigned long site,
		     struct fhook_report *report)
{
	int err;

	if (!set->num && !set->gate &&
	    fhook_arch_reaches(site, (void *)set->target)) {
		set->dest = (void *)set->target;
		return 0;
	}

	err = fhook_tramp_make(set, site, report);
	if (err)
		return err;
	set->dest = set->text;

	return 0;
}

static struct fhook_set *set_alloc(const struct spec *spec, u32 key,
				   struct fhook_report *report)
{
	struct fhook_set *set;
	unsigned int i;

	set = kzalloc(struct_size(set, members, spec->num), GFP_KERNEL);
	if (!set) {
		fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
			   "no memory for a set of %u hooks", spec->num);
		return NULL;
	}

	set->num = spec->num;
	set->key = key;
	set->target = spec->target;
	set->gate = spec->gate;
	set->func_offset = spec->func_offset;
	set->flags = set_flags(spec->hooks, spec->num);
	set->id = ++last_id;
	for (i = 0; i < spec->num; i++)
		set->members[i].hook = spec->hooks[i];

	return set;
}

/* Find or make the set for a spec; NULL if the spec is empty. */
static struct fhook_set *set_get(const struct spec *spec,
				 struct fhook_report *report)
{
	u32 key = spec_key(spec);
	struct fhook_set *set;
	unsigned int i;
	int err;

	if (!spec->num && !spec->target)
		return NULL;

	set = set_find(spec, key);
	if (set)
		return set;

	set = set_alloc(spec, key, report);
	if (!set)
		return ERR_PTR(-ENOMEM);

	err = fhook_exits_make(set, report);
	if (!err)
		err = make_text(set, spec->site, report);
	if (err) {
		fhook_exits_put(set->exits, false);
		kfree_rcu(set, rcu);
		return ERR_PTR(err);
	}
	gate_get(set->gate);

	for (i = 0; i < spec->num; i++)
		spec->hooks[i]->sets++;
	hash_add(fhook_sets, &set->node, key);
	list_add(&set->retired.list, &unused_sets);

	return set;
}

static bool runs_before(const struct fhook_hook *a, const struct fhook_hook *b)
{
	if (a->ops->priority != b->ops->priority)
		return a->ops->priority > b->ops->priority;

	return a->seq < b->seq;
}

/* Allocate a list with room for the hooks of a set and one more. */
static struct fhook_hook **hook_list(unsigned int num,
				     struct fhook_report *report)
{
	struct fhook_hook **hooks;

	hooks = kmalloc_array(num + 1, sizeof(*hooks), GFP_KERNEL);
	if (!hooks)
		fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
			   "no memory for a list of %u hooks", num);

	return hooks;
}

/**
 * fhook_set_with() - find or make a set with one more hook
 * @old: the set, or NULL for no hooks
 * @redirected: whether the redirect of @old, if any, is still valid
 * @hook: the hook, which is not in @old
 * @site: address of the slot, which must reach the trampoline
 * @func_offset: as in struct spec
 * @report: report of the error
 *
 * Return: the set, or an ERR_PTR. A new one is dropped by fhook_set_drop_unused()
 * unless a site takes it first.
 */
struct fhook_set *fhook_set_with(struct fhook_set *old, bool redirected,
				 struct fhook_hook *hook, unsigned long site, u8 func_offset,
				 struct fhook_report *report)
{
	struct spec spec = {
		.target		= old && redirected ? old->target : 0,
		.gate		= old && redirected ? old->gate : NULL,
		.site		= site,
		.func_offset	= func_offset,
	};
	unsigned int i, old_num = old ? old->num : 0;
	struct fhook_hook *other;
	struct fhook_set *set;
	bool placed = false;

	lockdep_assert_held(&fhook_mutex);
	spec.hooks = hook_list(old_num, report);
	if (!spec.hooks)
		return ERR_PTR(-ENOMEM);

	for (i = 0; i < old_num; i++) {
		if (old->members[i].dead)
			continue;
		other = old->members[i].hook;
		if (!placed && !runs_before(other, hook)) {
			spec.hooks[spec.num++] = hook;
			placed = true;
		}
		spec.hooks[spec.num++] = other;
	}
	if (!placed)
		spec.hooks[spec.num++] = hook;

	set = set_get(&spec, report);
	kfree(spec.hooks);

	return set;
}

/* Find or make the set for a spec with the hooks of a set except one. */
static struct fhook_set *set_variant(struct spec *spec, struct fhook_set *old,
				     const struct fhook_hook *without,
				     struct fhook_report *report)
{
	unsigned int i, old_num = old ? old->num : 0;
	struct fhook_set *set;

	/* Removing a site's last hook must not depend on memory. */
	if (!spec->target && (!old_num || (old_num == 1 && without)))
		return NULL;

	spec->hooks = hook_list(old_num, report);
	if (!spec->hooks)
		return ERR_PTR(-ENOMEM);

	for (i = 0; i < old_num; i++) {
		if (!old->members[i].dead && old->members[i].hook != without)
			spec->hooks[spec->num++] = old->members[i].hook;
	}

	set = set_get(spec, report);
	kfree(spec->hooks);

	return set;
}

/**
 * fhook_set_redirected() - find or make a set that continues elsewhere
 * @old: the set, or NULL for no hooks
 * @target: address to continue at, 0 for the function itself
 * @gate: word that enables @target while it is not 0, or NULL
 * @site: address of the slot, which must reach the trampoline
 * @func_offset: as in struct spec
 * @report: report of the error
 *
 * Return: the set, NULL if it would be empty, or an ERR_PTR.
 */
struct fhook_set *fhook_set_redirected(struct fhook_set *old,
				       unsigned long target, const u32 *gate,
				       unsigned long site, u8 func_offset,
				       struct fhook_report *report)
{
	struct spec spec = {
		.target		= target,
		.gate		= gate,
		.site		= site,
		.func_offset	= func_offset,
	};

	lockdep_assert_held(&fhook_mutex);
	return set_variant(&spec, old, NULL, report);
}

/**
 * fhook_set_without() - find or make a set with one hook less
 * @old: the set
 * @redirected: whether the redirect of @old, if any, is still valid
 * @hook: a hook in it
 * @site: address of the slot, which must reach the trampoline
 * @report: report of the error
 *
 * Return: the set, NULL if nothing is left, or an ERR_PTR.
 */
struct fhook_set *fhook_set_without(struct fhook_set *old, bool redirected,
				    struct fhook_hook *hook,
				    unsigned long site,
				    struct fhook_report *report)
{
	struct spec spec = {
		.target		= redirected ? old->target : 0,
		.gate		= redirected ? old->gate : NULL,
		.site		= site,
		.func_offset	= old->func_offset,
	};

	lockdep_assert_held(&fhook_mutex);
	return set_variant(&spec, old, hook, report);
}

/**
 * fhook_set_has() - check whether a set has a hook
 * @set: the set, or NULL for no hooks
 * @hook: the hook
 */
bool fhook_set_has(const struct fhook_set *set, const struct fhook_hook *hook)
{
	unsigned int i;

	for (i = 0; set && i < set->num; i++) {
		if (set->members[i].hook == hook && !set->members[i].dead)
			return true;
	}

	return false;
}

/**
 * fhook_set_get() - count a site as a user of a set
 * @set: the set, or NULL
 */
void fhook_set_get(struct fhook_set *set)
{
	lockdep_assert_held(&fhook_mutex);
	if (set && !set->users++)
		list_del_init(&set->retired.list);
}

static void set_free(struct fhook_set *set, bool used)
{
	unsigned int i;

	if (set->text)
		fhook_text_free(set);
	fhook_exits_put(set->exits, used);
	fhook_gate_put(set->gate);
	for (i = 0; i < set->num; i++)
		fhook_hook_put(set->members[i].hook);
	kfree_rcu(set, rcu);
}

/* Free a set, from a work item. */
static void fhook_set_free(struct fhook_retired *retired)
{
	mutex_lock(&fhook_mutex);
	set_free(container_of(retired, struct fhook_set, retired), true);
	mutex_unlock(&fhook_mutex);
}

/**
 * fhook_set_put() - remove a site from the users of a set
 * @set: the set, or NULL
 */
void fhook_set_put(struct fhook_set *set)
{
	lockdep_assert_held(&fhook_mutex);
	if (!set || --set->users)
		return;

	hash_del(&set->node);
	fhook_retire(&set->retired, NULL, fhook_set_free);
}

/**
 * fhook_set_drop_unused() - free the sets that no site has taken
 *
 * Ends a transaction, whether it succeeded or not.
 */
void fhook_set_drop_unused(void)
{
	struct fhook_set *set, *tmp;

	lockdep_assert_held(&fhook_mutex);
	list_for_each_entry_safe(set, tmp, &unused_sets, retired.list) {
		list_del(&set->retired.list);
		hash_del(&set->node);
		set_free(set, false);
	}
}

/**
 * fhook_set_kill() - make all trampolines skip a hook
 * @hook: the hook, which no site should have any more; NULL for all hooks
 *
 * For sites that could not leave their set, because there was no memory for another
 * one or because someone else has changed the slot: unregistering must not fail.
 * Allocates nothing.
 */
void fhook_set_kill(struct fhook_hook *hook)
{
	struct fhook_set *set;
	unsigned int i, bucket;

	lockdep_assert_held(&fhook_mutex);
	mutex_lock(&text_mutex);
	hash_for_each(fhook_sets, bucket, set, node) {
		for (i = 0; i < set->num; i++) {
			if ((hook && set->members[i].hook != hook) ||
			    set->members[i].dead)
				continue;
			set->members[i].dead = true;
			if (set->members[i].exit)
				fhook_exit_kill(set->members[i].exit);
			if (set->members[i].call)
				fhook_arch_call_kill(set->text +
						     set->members[i].call);
		}
	}
	fhook_arch_site_flush();
	mutex_unlock(&text_mutex);
}
