// SPDX-License-Identifier: GPL-2.0
/*
 * fhook: assembling trampolines.
 *
 * The sequence of a trampoline is the same on every architecture and is generated here; the
 * architecture provides the instructions, see <linux/fhook_arch.h>. assemble() runs twice.
 * The first pass measures without writing, so that memory of that size can be allocated.
 * The second pass knows the address and writes to a buffer. Only a trampoline that is no
 * larger than measured is copied to its memory. Afterwards only its calls may change: each
 * can be replaced if its hook is unregistered before the trampoline is freed.
 *
 * All under fhook_mutex, except fhook_tramp_layout().
 */
#include <linux/align.h>
#include <linux/fhook_arch.h>
#include <linux/kconfig.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core.h"
#include "exits.h"
#include "frame.h"
#include "report.h"
#include "set.h"
#include "text.h"
#include "trampoline.h"

/* Limit of the offsets in a trampoline, and of an event that perf is sent. */
#define MAX_TRAMPOLINE	SZ_32K

/**
 * struct route - positions in a trampoline, in bytes; 0 for none
 * @guard_try: target of the jump from @context
 * @framed: position at which EXIT_FRAME has been set, to a frame or to NULL
 * @entered: end of all code for exits
 * @preempt_out: end of the guard
 * @restore: start of the piece that removes the stack frame
 * @context: end of the branch that is taken in contexts other than a task
 * @miss: end of the branch that is taken if the guard is held
 * @no_frame: ends of the branches that are taken if there is no room for a frame
 * @declined: end of the branch that is taken if no hook wants the exit
 * @resched: ends of the branches that are taken to reschedule
 */
struct route {
	unsigned int	guard_try;
	unsigned int	framed;
	unsigned int	entered;
	unsigned int	preempt_out;
	unsigned int	restore;
	unsigned int	context;
	unsigned int	miss;
	unsigned int	no_frame[2];
	unsigned int	declined;
	unsigned int	resched[2];
};

static void emit_jump(struct fhook_asm *as, unsigned int target)
{
	fhook_asm_aim(as, fhook_arch_emit_jump(as), target);
}

/* Exit callbacks get their registers from the stub that the function returns to. */
static bool needs_regs(const struct fhook_set *set)
{
	const struct fhook_ops *ops;
	unsigned int i;

	for (i = 0; i < set->num; i++) {
		ops = set->members[i].hook->ops;
		if (ops->entry && ops->flags & FHOOK_FL_REGS)
			return true;
	}

	return false;
}

static bool has_guard(const struct fhook_set *set)
{
	return !(set->flags & FHOOK_FL_UNGUARDED);
}

/* Callbacks must not sleep: let a debug build detect it even without the guard. */
static bool has_preempt(const struct fhook_set *set)
{
	return has_guard(set) || IS_ENABLED(CONFIG_DEBUG_ATOMIC_SLEEP);
}

static void emit_guard_in(struct fhook_asm *as, struct route *route)
{
	fhook_asm_piece(as, PIECE_GUARD_IN);
	route->context = fhook_arch_emit_if(as, FHOOK_IF_BITS);
	route->guard_try = as->pos;
	fhook_arch_emit_guard_try(as);
	route->miss = fhook_arch_emit_if(as, FHOOK_IF_BITS);
	fhook_asm_piece(as, PIECE_GUARD_TAKE);
}

/* Make a frame for the exits of this call. */
static void emit_frame(struct fhook_asm *as, const struct fhook_exits *exits,
		       struct route *route)
{
	fhook_arch_emit_frame_stack(as);
	route->no_frame[0] = fhook_arch_emit_if(as, FHOOK_IF_NO_STACK);
	fhook_arch_emit_frame_take(as, exits->size, exits);
	route->no_frame[1] = fhook_arch_emit_if(as, FHOOK_IF_NO_ROOM);
	fhook_arch_emit_frame_fill(as, exits->size, exits);
	route->framed = as->pos;
}

/* Take over the return address, if a hook wants the exit. */
static void emit_frame_enter(struct fhook_asm *as, const struct fhook_set *set,
			     struct route *route)
{
	const struct fhook_exits *exits = set->exits;
	unsigned int none = 0;

	if (!fhook_set_one_exit(set)) {
		fhook_asm_piece(as, PIECE_FRAME_TEST);
		none = fhook_arch_emit_if(as, FHOOK_IF_NO_FRAME);
		fhook_arch_emit_frame_all(as, exits->all);
		route->declined = fhook_arch_emit_if(as, FHOOK_IF_NOBODY);
	}
	fhook_arch_emit_frame_enter(as, exits->pending, exits->stub);
	if (none)
		fhook_asm_land(as, none);
	route->entered = as->pos;
}

/*
 * Without room for the exit, the entry callback is not called either: count the call as
 * missed and jump over the hook. Returns the position at which that jump ends.
 */
static unsigned int emit_missed(struct fhook_asm *as,
				const struct fhook_hook *hook)
{
	unsigned int has_frame, next;

	fhook_asm_piece(as, PIECE_FRAME_TEST);
	has_frame = fhook_arch_emit_if(as, FHOOK_IF_FRAME);
	fhook_arch_emit_count(as, hook->stat, true);
	next = fhook_arch_emit_jump(as);
	fhook_asm_land(as, has_frame);

	return next;
}

/* Record in the frame that a hook declines the exit. */
static void emit_decline(struct fhook_asm *as, unsigned int bit)
{
	unsigned int accepted = fhook_arch_emit_if(as, FHOOK_IF_ACCEPTED);

	fhook_arch_emit_decline(as, bit);
	fhook_asm_land(as, accepted);
}

static void emit_hook(struct fhook_asm *as, struct fhook_set *set,
		      unsigned int nr, struct route *route)
{
	struct fhook_member *member = &set->members[nr];
	const struct fhook_hook *hook = member->hook;
	const struct fhook_exit *exit = member->exit;
	unsigned int next = 0;

	if (nr)
		fhook_arch_emit_args_again(as);
	if (exit && !fhook_set_one_exit(set))
		next = emit_missed(as, hook);
	if (exit && exit->data && hook->ops->entry)
		fhook_arch_emit_data(as, exit->data);
	fhook_arch_emit_count(as, hook->stat, false);

	if (hook->ops->entry) {
		member->call = fhook_arch_emit_entry(as, hook->ops, nr,
						     exit ? exit->data : 0);
		if (fhook_set_one_exit(set))
			route->declined = fhook_arch_emit_if(as, FHOOK_IF_DECLINED);
		else if (exit)
			emit_decline(as, exit - set->exits->exits);
	}

	if (next)
		fhook_asm_land(as, next);
}

static void emit_hooks(struct fhook_asm *as, struct fhook_set *set,
		       struct route *route)
{
	unsigned int i;

	fhook_arch_emit_args(as);
	if (set->exits)
		emit_frame(as, set->exits, route);
	for (i = 0; i < set->num; i++)
		emit_hook(as, set, i, route);
	if (set->exits)
		emit_frame_enter(as, set, route);
}

static void emit_preempt_out(struct fhook_asm *as, struct route *route)
{
	fhook_asm_piece(as, PIECE_PREEMPT_OUT);
	if (!fhook_arch_resched())
		return;

	route->resched[0] = fhook_arch_emit_if(as, FHOOK_IF_RESCHED);
	if (!fhook_pieces[PIECE_PREEMPT_AGAIN].len)
		return;
	fhook_asm_piece(as, PIECE_PREEMPT_AGAIN);
	route->resched[1] = fhook_arch_emit_if(as, FHOOK_IF_RESCHED);
}

/* The guard is held: count the call as missed, and continue. */
static void emit_guard_paths(struct fhook_asm *as, const struct fhook_set *set,
			     const struct route *route)
{
	unsigned int i;

	fhook_asm_land(as, route->context);
	fhook_asm_piece(as, PIECE_CONTEXT);
	emit_jump(as, route->guard_try);

	fhook_asm_land(as, route->miss);
	for (i = 0; i < set->num; i++)
		fhook_arch_emit_count(as, set->members[i].hook->stat, true);
	emit_jump(as, route->preempt_out);
}

/* There is no room for the return address, or no hook wants the exit. */
static void emit_exit_paths(struct fhook_asm *as, const struct fhook_set *set,
			    const struct route *route)
{
	fhook_asm_land(as, route->no_frame[0]);
	fhook_asm_land(as, route->no_frame[1]);
	if (fhook_set_one_exit(set)) {
		fhook_arch_emit_count(as, set->members[0].hook->stat, true);
		emit_jump(as, route->entered);
	} else {
		fhook_asm_piece(as, PIECE_FRAME_NONE);
		emit_jump(as, route->framed);
	}

	if (!route->declined)
		return;
	fhook_asm_land(as, route->declined);
	fhook_asm_piece(as, PIECE_FRAME_POP);
	fhook_arch_emit_call(as, fhook_frame_pop);
	emit_jump(as, route->entered);
}

/* Paths that are rarely taken, placed after the return. */
static void emit_slow_paths(struct fhook_asm *as, const struct fhook_set *set,
			    const struct route *route)
{
	const struct fhook_ops *ops;
	unsigned int i;

	if (has_guard(set))
		emit_guard_paths(as, set, route);
	if (set->exits)
		emit_exit_paths(as, set, route);

	if (route->resched[0]) {
		fhook_asm_land(as, route->resched[0]);
		if (route->resched[1])
			fhook_asm_land(as, route->resched[1]);
		fhook_arch_emit_resched(as);
		emit_jump(as, route->restore);
	}

	for (i = 0; i < set->num; i++) {
		ops = set->members[i].hook->ops;
		if (ops->entry)
			fhook_arch_emit_veneer(as, set->members[i].call,
					       ops->entry);
	}
}

/* Runs once to measure, and once to write. */
static void assemble(struct fhook_asm *as, struct fhook_set *set)
{
	struct route route = {};

	/* The trampoline is needed only because a branch in the slot does not reach the target. */
	if (!set->num && !set->gate) {
		fhook_arch_emit_far_jump(as, set->target);
		return;
	}

	fhook_arch_emit_save(as);
	if (set->target)
		fhook_arch_emit_redirect(as, set->target, set->gate);
	if (has_preempt(set))
		fhook_asm_piece(as, PIECE_PREEMPT_IN);
	if (has_guard(set))
		emit_guard_in(as, &route);

	emit_hooks(as, set, &route);

	if (has_guard(set))
		fhook_asm_piece(as, PIECE_GUARD_OUT);
	route.preempt_out = as->pos;
	if (has_preempt(set))
		emit_preempt_out(as, &route);
	route.restore = as->pos;
	fhook_arch_emit_restore(as);

	emit_slow_paths(as, set, &route);
}

/* The length of a trampoline as measured, including literals. */
static unsigned int asm_size(const struct fhook_asm *as)
{
	return as->room + as->max_literals * sizeof(long);
}

/**
 * fhook_tramp_measure() - measure the maximum length of a trampoline
 * @set: the set, with its hooks and flags
 * @as: set to the lengths of code and literals, which suffice at any address
 */
void fhook_tramp_measure(struct fhook_set *set, struct fhook_asm *as)
{
	lockdep_assert_held(&fhook_mutex);
	*as = (struct fhook_asm) {
		.layout		= &set->arch,
		.func_offset	= set->func_offset,
		.regs		= needs_regs(set),
		.redirected	= set->target,
		.keep		= set->num > 1,
	};
	assemble(as, set);
	as->room = ALIGN(as->pos, sizeof(long));
	as->max_literals = as->literals;
}

/**
 * fhook_tramp_write() - write a trampoline to a buffer
 * @set: the set; the address at which the trampoline will run is in its text
 * @as: lengths from fhook_tramp_measure()
 * @code: the buffer
 *
 * Also stores in the set the positions of calls in the trampoline, and the description for
 * unwinding.
 *
 * Return: true if the trampoline is complete, false if it does not fit.
 */
bool fhook_tramp_write(struct fhook_set *set, struct fhook_asm *as, void *code)
{
	lockdep_assert_held(&fhook_mutex);
	fhook_arch_text_fill(code, asm_size(as));
	as->code = code;
	as->text = (unsigned long)set->text;
	as->pos = 0;
	as->literals = 0;
	assemble(as, set);

	return as->pos <= as->room && as->literals <= as->max_literals &&
	       !as->misfit;
}

/**
 * fhook_tramp_place() - copy a trampoline to executable memory
 * @set: the set
 * @as: lengths from fhook_tramp_measure()
 * @site: address of a slot that must reach the trampoline
 * @report: report of the error
 *
 * Return: 0 or an error, with no part of the trampoline in executable memory.
 */
int fhook_tramp_place(struct fhook_set *set, struct fhook_asm *as,
		      unsigned long site, struct fhook_report *report)
{
	unsigned int size = asm_size(as);
	bool fits;
	void *code;

	lockdep_assert_held(&fhook_mutex);
	if (!fhook_text_alloc(set, site, size))
		return fhook_fail(report, FHOOK_ERR_NO_ROOM, -ENOSPC, 0,
				  "no executable memory for a trampoline of %u hooks within reach of %ps",
				  set->num, (void *)site);

	code = kvmalloc(size, GFP_KERNEL);
	if (!code) {
		fhook_text_free(set);
		return fhook_fail(report, FHOOK_ERR_NO_MEMORY, -ENOMEM, 0,
				  "no memory for a trampoline of %u hooks",
				  set->num);
	}

	fits = fhook_tramp_write(set, as, code);
	if (fits)
		fhook_text_write(set, code, size);
	kvfree(code);
	if (fits)
		return 0;

	fhook_text_free(set);
	return fhook_fail(report, FHOOK_ERR_NO_ROOM, -ENOSPC, 0,
			  "a trampoline of %u hooks does not fit in the %u bytes that were measured for it: please report this fault of fhook",
			  set->num, size);
}

/**
 * fhook_tramp_make() - generate the trampoline of a set
 * @set: the set, with its hooks and flags
 * @site: address of a slot that must reach the trampoline
 * @report: report of the error
 *
 * Return: 0 or an error.
 */
int fhook_tramp_make(struct fhook_set *set, unsigned long site,
		     struct fhook_report *report)
{
	struct fhook_asm as;

	fhook_tramp_measure(set, &as);
	if (asm_size(&as) > MAX_TRAMPOLINE)
		return fhook_fail(report, FHOOK_ERR_TOO_MANY, -ENOSPC, 0,
				  "%u are too many hooks for one function",
				  set->num);

	return fhook_tramp_place(set, &as, site, report);
}

/**
 * fhook_tramp_layout() - get the description of the trampoline at an address
 * @addr: any address
 * @offset: set to the offset of @addr in the trampoline, in bytes
 *
 * For unwinders, from any context with preemption disabled.
 *
 * Return: the description for the architecture's unwinder, NULL if the address is in no
 * trampoline.
 */
const struct fhook_arch_tramp *fhook_tramp_layout(unsigned long addr,
						  unsigned long *offset)
{
	const struct fhook_set *set = fhook_text_find(addr);

	if (!set)
		return NULL;
	*offset = addr - (unsigned long)set->text;

	return &set->arch;
}
