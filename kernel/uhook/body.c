// SPDX-License-Identifier: GPL-2.0
/*
 * uhook: the record of a body.
 *
 * &struct uhook_body of a slot that is a body refers to the set of hooks whose handlers it
 * runs. With &uhook_mm.counts held, the set changes when a body of other hooks has the
 * code that is wanted.
 */
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/string.h>
#include <linux/uhook_code.h>

#include "areas.h"
#include "handlers.h"
#include "sets.h"
#include "sums.h"
#include "wanted.h"

static bool has_set(const struct uhook_mm *um, const struct uhook_area *area, unsigned int nr,
		    const struct uhook_set *set)
{
	return uhook_same_set(uhook_set_of(um, uhook_body_nr(area, nr)), set);
}

/**
 * uhook_may_adopt - check whether a body can be the body of a set
 * @um: the address space
 * @area: the area of the body
 * @nr: the number of the body there
 * @set: the set
 *
 * Context: @um->counts held.
 * Return: true if it runs the handlers of the same hooks, or if no other process has it.
 */
bool uhook_may_adopt(const struct uhook_mm *um, const struct uhook_area *area, unsigned int nr,
		     const struct uhook_set *set)
{
	lockdep_assert_held(&um->counts);

	return has_set(um, area, nr, set) || refcount_read(&area->ref) == 1;
}

/**
 * uhook_adopt_body - let a body count for a set from now on
 * @um: the address space
 * @area: the area of the body
 * @nr: the number of the body there
 * @set: the set, whose code is that of the body
 *
 * A task that is on its way into the body already counts for the new hooks. The hooks of
 * the previous set are no longer wanted, because this process alone has the body.
 *
 * Context: @um->counts held.
 */
void uhook_adopt_body(struct uhook_mm *um, struct uhook_area *area, unsigned int nr,
		      struct uhook_set *set)
{
	struct uhook_body *body = uhook_body_nr(area, nr);
	struct uhook_set *old = uhook_set_of(um, body);

	lockdep_assert_held(&um->counts);
	if (uhook_same_set(old, set))
		return;

	uhook_fold_body(um, area, nr);
	refcount_inc(&set->ref);
	rcu_assign_pointer(body->set, set);
	uhook_put_set(old);
}

/* How many bytes a jump replaces depends on the bytes of the file after the instruction. */
static u8 len_before(const struct uhook_wanted *w, u8 insn_len)
{
	struct uhook_targets targets;

	if (uhook_jump_targets(w->site, w->insn, insn_len, &targets) || targets.forced)
		return min_t(u8, insn_len, UHOOK_JUMP_MAX);

	return UHOOK_JUMP_MAX;
}

/**
 * uhook_has_before - check whether a jump to a body would replace the present bytes of its site
 * @body: record of the body
 * @w: the body that is wanted
 * @insn_len: the length of the instruction, in bytes
 *
 * Return: false if an instruction with the same code in bodies was there earlier.
 */
bool uhook_has_before(const struct uhook_body *body, const struct uhook_wanted *w, u8 insn_len)
{
	return body->before_len == len_before(w, insn_len) &&
	       !memcmp(body->before, w->insn, body->before_len);
}

/**
 * uhook_fill_body - record a new body
 * @body: its record
 * @w: the body that was wanted
 * @insn_len: the length of the instruction, in bytes
 */
void uhook_fill_body(struct uhook_body *body, const struct uhook_wanted *w, u8 insn_len)
{
	refcount_inc(&w->set->ref);
	rcu_assign_pointer(body->set, w->set);
	memcpy(body->before, w->insn, UHOOK_JUMP_MAX);
	body->before_len = len_before(w, insn_len);
}

/**
 * uhook_prepare_handlers - make the code in an area that the handlers of a set call
 * @area: the area, whose lock is held
 * @set: the set
 *
 * The area keeps the code for later bodies.
 *
 * Return: the verdict.
 */
enum uhook_verdict uhook_prepare_handlers(struct uhook_area *area, const struct uhook_set *set)
{
	enum uhook_verdict verdict = UHOOK_GRANTED;
	unsigned int i;

	lockdep_assert_held(&area->lock);
	for (i = 0; i < set->nr && !verdict; i++) {
		struct uhook_counter *counter = set->counters[i];

		if (counter->kind->prepare)
			verdict = counter->kind->prepare(area, counter);
	}

	return verdict;
}

/**
 * uhook_put_bodies - release the hooks of the bodies of an area
 * @area: the area, which no address space has any more
 */
void uhook_put_bodies(struct uhook_area *area)
{
	struct uhook_set *set;
	unsigned int i;

	for (i = 0; i < area->used; i++) {
		set = rcu_dereference_protected(uhook_body_nr(area, i)->set, true);
		/* The code of a handler has none. */
		if (set)
			uhook_put_set(set);
	}
	for (i = 0; i < area->nr_codes; i++)
		uhook_put_counter(area->codes[i].counter);
}
