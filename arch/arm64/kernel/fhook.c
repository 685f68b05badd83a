// SPDX-License-Identifier: GPL-2.0
/*
 * fhook on arm64: trampolines.
 *
 * A trampoline is put together from the pieces of fhook_64.S in a buffer and
 * then written to its place through the patching alias; from then on it is
 * only executed, but for its calls, each of which may be made to go nowhere
 * when the hook is gone before the trampoline. Behind its code stand the
 * literals that it loads: the address of the guard, and for each hook its ops,
 * its counters and its callback.
 *
 * Callers hold fhook_mutex, and text_mutex too where they change a call.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/cpufeature.h>
#include <linux/fhook.h>
#include <linux/kasan.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/fhook_pieces.h>
#include <asm/insn.h>
#include <asm/patching.h>

#include "../../../kernel/fhook/arch.h"
#include "../../../kernel/fhook/core.h"
#include "../../../kernel/fhook/exits.h"
#include "../../../kernel/fhook/extension.h"
#include "../../../kernel/fhook/frame.h"
#include "../../../kernel/fhook/set.h"

/* The templates and struct fhook_regs have to agree, see fhook_64.S. */
static_assert(offsetof(struct fhook_regs, frame_fp) == sizeof(struct pt_regs));
static_assert(sizeof(struct fhook_regs) == sizeof(struct pt_regs) + 32);
static_assert(sizeof(struct fhook_regs) % 16 == 0);
static_assert(offsetof(struct fhook_stat, missed) == 8);
static_assert(BIT(FHOOK_SOFTIRQ_SHIFT) == SOFTIRQ_OFFSET);
static_assert(FHOOK_SOFTIRQ_MASK == SOFTIRQ_MASK);
static_assert(FHOOK_HARDIRQ_MASK == HARDIRQ_MASK);
static_assert(FHOOK_NMI_MASK == NMI_MASK);

/* The literals: of all, and of each hook. */
enum {
	LITERAL_GUARD,
	LITERAL_RESCHED,
	LITERAL_STACK,
	LITERAL_SIZE,
	LITERAL_EXITS,
	LITERAL_ALL,
	LITERAL_PENDING,
	LITERAL_STUB,
	LITERAL_POP,
	LITERAL_TARGET,
	LITERALS,
};

enum {
	LITERAL_OPS,
	LITERAL_STAT,
	LITERAL_ENTRY,
	LITERALS_HOOK,
};

/**
 * struct assembly - a trampoline in the making
 * @code: the buffer
 * @text: where it will run
 * @pos: how much there is, in bytes
 * @literals: where the literals begin, in bytes
 */
struct assembly {
	void		*code;
	void		*text;
	unsigned int	pos;
	unsigned int	literals;
};

/* Where branches lead to in a trampoline; and, from context on, where they are. */
struct branches {
	unsigned int	guard_try;
	unsigned int	framed;
	unsigned int	entered;
	unsigned int	preempt_out;
	unsigned int	restore;
	unsigned int	context;
	unsigned int	miss;
	unsigned int	no_stack;
	unsigned int	no_room;
	unsigned int	declined;
	unsigned int	resched[2];
};

static void add_insn(struct assembly *as, u32 insn)
{
	*(__le32 *)(as->code + as->pos) = cpu_to_le32(insn);
	as->pos += AARCH64_INSN_SIZE;
}

static void add_piece(struct assembly *as, enum fhook_piece_id id)
{
	memcpy(as->code + as->pos,
	       (void *)fhook_caller + fhook_pieces[id].offset,
	       fhook_pieces[id].len);
	as->pos += fhook_pieces[id].len;
}

static unsigned long addr_of(const struct assembly *as, unsigned int pos)
{
	return (unsigned long)as->text + pos;
}

static u32 branch_insn(unsigned long at, unsigned long dest,
		       enum aarch64_insn_branch_type type)
{
	return aarch64_insn_gen_branch_imm(at, dest, type);
}

/* Append a branch to another place in this trampoline. */
static void add_jump(struct assembly *as, unsigned int pos)
{
	add_insn(as, branch_insn(addr_of(as, as->pos), addr_of(as, pos),
				 AARCH64_INSN_BRANCH_NOLINK));
}

/* Leave room for a conditional branch, see set_bne() and set_cbz(). */
static unsigned int add_room(struct assembly *as)
{
	as->pos += AARCH64_INSN_SIZE;

	return as->pos - AARCH64_INSN_SIZE;
}

static void set_insn(struct assembly *as, unsigned int pos, u32 insn)
{
	*(__le32 *)(as->code + pos) = cpu_to_le32(insn);
}

/* From @pos to here, on a condition. */
static void set_bcond(struct assembly *as, unsigned int pos,
		      enum aarch64_insn_condition condition)
{
	set_insn(as, pos,
		 aarch64_insn_gen_cond_branch_imm(addr_of(as, pos),
						  addr_of(as, as->pos),
						  condition));
}

static void set_bne(struct assembly *as, unsigned int pos)
{
	set_bcond(as, pos, AARCH64_INSN_COND_NE);
}

/* From @pos to here, if a register is zero, or is not. */
static void set_cb(struct assembly *as, unsigned int pos,
		   enum aarch64_insn_register reg,
		   enum aarch64_insn_variant variant,
		   enum aarch64_insn_branch_type type)
{
	set_insn(as, pos,
		 aarch64_insn_gen_comp_branch_imm(addr_of(as, pos),
						  addr_of(as, as->pos), reg,
						  variant, type));
}

/* By what the callback has returned. */
static void set_cb_result(struct assembly *as, unsigned int pos,
			  enum aarch64_insn_branch_type type)
{
	set_cb(as, pos, AARCH64_INSN_REG_0, AARCH64_INSN_VARIANT_32BIT, type);
}

static void set_cbz(struct assembly *as, unsigned int pos)
{
	set_cb(as, pos, AARCH64_INSN_REG_11, AARCH64_INSN_VARIANT_64BIT,
	       AARCH64_INSN_BRANCH_COMP_ZERO);
}

static void set_cbnz(struct assembly *as, unsigned int pos)
{
	set_cb(as, pos, AARCH64_INSN_REG_11, AARCH64_INSN_VARIANT_64BIT,
	       AARCH64_INSN_BRANCH_COMP_NONZERO);
}

/* Append a load of a literal, whose value is given, too. */
static void add_load(struct assembly *as, enum aarch64_insn_register reg,
		     unsigned int index, unsigned long value)
{
	unsigned int pos = as->literals + index * sizeof(value);

	*(unsigned long *)(as->code + pos) = value;
	add_insn(as, aarch64_insn_gen_load_literal(addr_of(as, as->pos),
						   addr_of(as, pos), reg,
						   true));
}

static unsigned int hook_literal(int nr, unsigned int which)
{
	return LITERALS + nr * LITERALS_HOOK + which;
}

/* Count in what x10 says, of this CPU. */
static void add_count_piece(struct assembly *as)
{
	add_piece(as, cpus_have_cap(ARM64_HAS_LSE_ATOMICS) ? PIECE_COUNT_LSE :
							     PIECE_COUNT);
}

/* Count in a member of the statistics of this CPU. */
static void add_count(struct assembly *as, struct fhook_set *set, int nr,
		      bool missed)
{
	struct fhook_stat __percpu *stat = set->members[nr].hook->stat;

	add_load(as, AARCH64_INSN_REG_10, hook_literal(nr, LITERAL_STAT),
		 (__force unsigned long)stat);
	if (missed)
		add_piece(as, PIECE_COUNT_MISSED);
	add_count_piece(as);
}

static bool is_far(const struct assembly *as, const void *dest)
{
	/* From anywhere in the trampoline. */
	return !fhook_arch_reaches((unsigned long)as->text, dest) ||
	       !fhook_arch_reaches(addr_of(as, as->literals), dest);
}

/* Append a call of a function that is built in; it may be far. */
static void add_call(struct assembly *as, unsigned int literal,
		     const void *function)
{
	if (!is_far(as, function)) {
		add_insn(as, branch_insn(addr_of(as, as->pos),
					 (unsigned long)function,
					 AARCH64_INSN_BRANCH_LINK));
		return;
	}
	add_load(as, AARCH64_INSN_REG_16, literal, (unsigned long)function);
	add_insn(as, aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_16,
						 AARCH64_INSN_BRANCH_LINK));
}

/* The arguments of all callbacks but the first, and perhaps for later. */
static void add_args(struct assembly *as, struct fhook_set *set)
{
	add_insn(as, aarch64_insn_gen_add_sub_imm(AARCH64_INSN_REG_1,
						  AARCH64_INSN_REG_LR,
						  set->func_offset,
						  AARCH64_INSN_VARIANT_64BIT,
						  AARCH64_INSN_ADSB_SUB));
	add_piece(as, PIECE_ARGS);
	if (set->num > 1)
		add_piece(as, PIECE_ARGS_KEEP);
}

/* Have a frame for the exits of this call. */
static void add_frame(struct assembly *as, const struct fhook_exits *exits,
		      struct branches *branches)
{
	add_load(as, AARCH64_INSN_REG_12, LITERAL_STACK,
		 offsetof(struct task_struct, fhook_stack));
	add_piece(as, PIECE_FRAME_STACK);
	branches->no_stack = add_room(as);
	add_load(as, AARCH64_INSN_REG_13, LITERAL_SIZE, exits->size);
	add_load(as, AARCH64_INSN_REG_14, LITERAL_EXITS, (unsigned long)exits);
	add_piece(as, PIECE_FRAME_TAKE);
	branches->no_room = add_room(as);
	add_piece(as, PIECE_FRAME_FILL);
	branches->framed = as->pos;
}

/* Take the return address, if somebody wants the exit. */
static void add_frame_enter(struct assembly *as, const struct fhook_set *set,
			    struct branches *branches)
{
	const struct fhook_exits *exits = set->exits;
	unsigned int none = 0;

	if (!fhook_set_one_exit(set)) {
		add_piece(as, PIECE_FRAME_TEST);
		none = add_room(as);
		add_load(as, AARCH64_INSN_REG_12, LITERAL_ALL, exits->all);
		add_piece(as, PIECE_FRAME_ALL);
		branches->declined = add_room(as);
	}
	add_load(as, AARCH64_INSN_REG_10, LITERAL_PENDING,
		 (__force unsigned long)exits->pending);
	add_count_piece(as);
	add_piece(as, PIECE_FRAME_ENTER);
	add_load(as, AARCH64_INSN_REG_13, LITERAL_STUB,
		 (unsigned long)exits->stub);
	add_piece(as, PIECE_FRAME_STUB);
	if (none)
		set_cbz(as, none);
	branches->entered = as->pos;
}

/* No room for the return address, or nobody wants to see it. */
static void add_no_frame(struct assembly *as, struct fhook_set *set,
			 const struct branches *branches)
{
	set_cbz(as, branches->no_stack);
	set_bcond(as, branches->no_room, AARCH64_INSN_COND_LS);
	if (fhook_set_one_exit(set)) {
		add_count(as, set, 0, true);
		add_jump(as, branches->entered);
	} else {
		add_piece(as, PIECE_FRAME_NONE);
		add_jump(as, branches->framed);
	}

	if (!branches->declined)
		return;
	if (fhook_set_one_exit(set))
		set_cb_result(as, branches->declined,
			      AARCH64_INSN_BRANCH_COMP_NONZERO);
	else
		set_bcond(as, branches->declined, AARCH64_INSN_COND_EQ);
	add_piece(as, PIECE_FRAME_POP);
	add_call(as, LITERAL_POP, fhook_frame_pop);
	add_jump(as, branches->entered);
}

/* The data of a call, in its frame. */
static void add_data(struct assembly *as, const struct fhook_exit *exit)
{
	add_piece(as, PIECE_FRAME_TEST);
	add_piece(as, PIECE_DATA);
	add_insn(as, aarch64_insn_gen_add_sub_imm(AARCH64_INSN_REG_4,
						  AARCH64_INSN_REG_4,
						  exit->data,
						  AARCH64_INSN_VARIANT_64BIT,
						  AARCH64_INSN_ADSB_ADD));
}

/* The call of an entry callback; the other arguments are there. */
static void add_entry(struct assembly *as, struct fhook_member *member, int nr)
{
	struct fhook_ops *ops = member->hook->ops;

	add_load(as, AARCH64_INSN_REG_0, hook_literal(nr, LITERAL_OPS),
		 (unsigned long)ops);
	member->call = as->pos;
	if (is_far(as, ops->entry))
		add_room(as);	/* for add_veneers() */
	else
		add_insn(as, branch_insn(addr_of(as, as->pos),
					 (unsigned long)ops->entry,
					 AARCH64_INSN_BRANCH_LINK));
}

static void add_decline(struct assembly *as, unsigned int bit)
{
	unsigned int wanted = add_room(as);

	add_piece(as, PIECE_DECLINE_LOAD);
	add_insn(as, aarch64_insn_gen_logical_immediate(AARCH64_INSN_LOGIC_ORR,
							AARCH64_INSN_VARIANT_32BIT,
							AARCH64_INSN_REG_11,
							AARCH64_INSN_REG_11,
							BIT(bit)));
	add_piece(as, PIECE_DECLINE_STORE);
	set_cb_result(as, wanted, AARCH64_INSN_BRANCH_COMP_ZERO);
}

static void add_hook(struct assembly *as, struct fhook_set *set, int nr,
		     struct branches *branches)
{
	struct fhook_member *member = &set->members[nr];
	unsigned int has_frame, next = 0;

	if (nr)
		add_piece(as, PIECE_ARGS_AGAIN);

	/* Without room for the exit there is no entry either. */
	if (member->exit && !fhook_set_one_exit(set)) {
		add_piece(as, PIECE_FRAME_TEST);
		has_frame = add_room(as);
		add_count(as, set, nr, true);
		next = add_room(as);
		set_cbnz(as, has_frame);
	}
	if (member->exit && member->exit->data)
		add_data(as, member->exit);

	add_count(as, set, nr, false);
	if (member->hook->ops->entry) {
		add_entry(as, member, nr);
		if (fhook_set_one_exit(set))
			branches->declined = add_room(as);
		else if (member->exit)
			add_decline(as, member->exit - set->exits->exits);
	}

	if (next)
		set_insn(as, next, branch_insn(addr_of(as, next),
					       addr_of(as, as->pos),
					       AARCH64_INSN_BRANCH_NOLINK));
}

/* Callbacks too far for a branch: by x16, as where BTI is on it has to be. */
static void add_veneers(struct assembly *as, struct fhook_set *set)
{
	const void *entry;
	unsigned int call;
	int i;

	for (i = 0; i < set->num; i++) {
		entry = set->members[i].hook->ops->entry;
		if (!entry || !is_far(as, entry))
			continue;
		call = set->members[i].call;
		set_insn(as, call, branch_insn(addr_of(as, call),
					       addr_of(as, as->pos),
					       AARCH64_INSN_BRANCH_LINK));
		add_load(as, AARCH64_INSN_REG_16,
			 hook_literal(i, LITERAL_ENTRY), (unsigned long)entry);
		add_insn(as, aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_16,
							 AARCH64_INSN_BRANCH_NOLINK));
	}
}

static bool has_guard(const struct fhook_set *set)
{
	return !(set->flags & FHOOK_FL_UNGUARDED);
}

/* Callbacks must not sleep: let a debug build notice, guarded or not. */
static bool has_preempt(const struct fhook_set *set)
{
	return has_guard(set) || IS_ENABLED(CONFIG_DEBUG_ATOMIC_SLEEP);
}

static const void *resched_function(void)
{
#if defined(CONFIG_PREEMPT_DYNAMIC)
	return dynamic_preempt_schedule_notrace;
#elif defined(CONFIG_PREEMPTION)
	return preempt_schedule_notrace;
#else
	return NULL;
#endif
}

static bool is_for_exits(enum fhook_piece_id id)
{
	return (id >= PIECE_FRAME_STACK && id <= PIECE_DATA) ||
	       (id >= PIECE_DECLINE_LOAD && id <= PIECE_FRAME_POP);
}

static unsigned int code_size(const struct fhook_set *set)
{
	unsigned int size = 0;
	int id;

	for (id = 0; id < PIECE_MAX; id++) {
		if (set->exits || !is_for_exits(id))
			size += fhook_pieces[id].len;
	}

	/* One of the two ways to save and restore is not used. */
	if (set->flags & FHOOK_FL_REGS)
		size -= fhook_pieces[PIECE_SAVE].len +
			fhook_pieces[PIECE_RESTORE].len;
	else
		size -= fhook_pieces[PIECE_REGS_SAVE].len +
			fhook_pieces[PIECE_REGS_RESTORE].len;

	/*
	 * Of each hook: two counts, a call with three instructions more than its
	 * arguments, and a veneer of two.
	 */
	size += set->num * (2 * (fhook_pieces[PIECE_COUNT].len +
				 fhook_pieces[PIECE_COUNT_MISSED].len +
				 AARCH64_INSN_SIZE) +
			    fhook_pieces[PIECE_ARGS_AGAIN].len +
			    5 * AARCH64_INSN_SIZE);

	/*
	 * A frame is counted, with six loads, four conditional branches and two
	 * plain ones, and a call of what may be far. Those with exits: whether there
	 * is a frame, the data, and what to do.
	 */
	if (set->exits)
		size += fhook_pieces[PIECE_COUNT].len +
			fhook_pieces[PIECE_COUNT_MISSED].len +
			14 * AARCH64_INSN_SIZE +
			set->exits->num *
			(2 * fhook_pieces[PIECE_FRAME_TEST].len +
			 fhook_pieces[PIECE_COUNT].len +
			 fhook_pieces[PIECE_COUNT_MISSED].len +
			 fhook_pieces[PIECE_DATA].len +
			 fhook_pieces[PIECE_DECLINE_LOAD].len +
			 fhook_pieces[PIECE_DECLINE_STORE].len +
			 6 * AARCH64_INSN_SIZE);

	/*
	 * Four loads, the address of the function, five conditional branches, and
	 * four others.
	 */
	return ALIGN(size + 14 * AARCH64_INSN_SIZE, sizeof(long));
}

/**
 * fhook_arch_tramp_size() - room that a trampoline needs
 * @set: the set, with its hooks and flags
 *
 * Return: an upper bound in bytes.
 */
unsigned int fhook_arch_tramp_size(const struct fhook_set *set)
{
	return code_size(set) +
	       (LITERALS + set->num * LITERALS_HOOK) * sizeof(long);
}

static void add_guard(struct assembly *as, struct branches *branches)
{
	add_piece(as, PIECE_GUARD_IN);
	branches->context = add_room(as);
	branches->guard_try = as->pos;
	add_load(as, AARCH64_INSN_REG_13, LITERAL_GUARD,
		 (__force unsigned long)&fhook_guard);
	add_piece(as, PIECE_GUARD_TRY);
	branches->miss = add_room(as);
	add_piece(as, PIECE_GUARD_TAKE);
}

static void add_redirect(struct assembly *as, struct fhook_set *set)
{
	add_load(as, AARCH64_INSN_REG_10, LITERAL_TARGET, set->target);
	add_piece(as, PIECE_REDIRECT);
	if (set->flags & FHOOK_FL_REGS)
		add_piece(as, PIECE_REGS_REDIRECT);
}

/* No hooks, and too far for the branch in the slot: the registers stay. */
static void add_far_jump(struct assembly *as, struct fhook_set *set)
{
	add_load(as, AARCH64_INSN_REG_16, LITERAL_TARGET, set->target);
	add_piece(as, PIECE_JUMP);
}

/* What stands behind the return: the ways that are rarely taken. */
static void add_slow_paths(struct assembly *as, struct fhook_set *set,
			   const struct branches *branches)
{
	unsigned long function = (unsigned long)resched_function();
	int i;

	if (has_guard(set)) {
		set_bne(as, branches->context);
		add_piece(as, PIECE_CONTEXT);
		add_jump(as, branches->guard_try);

		set_bne(as, branches->miss);
		for (i = 0; i < set->num; i++)
			add_count(as, set, i, true);
		add_jump(as, branches->preempt_out);
	}

	if (set->exits)
		add_no_frame(as, set, branches);

	if (branches->resched[0]) {
		set_cbz(as, branches->resched[0]);
		set_cbz(as, branches->resched[1]);
		/* It may be further than a branch reaches. */
		add_load(as, AARCH64_INSN_REG_16, LITERAL_RESCHED, function);
		add_insn(as, aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_16,
							 AARCH64_INSN_BRANCH_LINK));
		add_jump(as, branches->restore);
	}

	add_veneers(as, set);
}

/**
 * fhook_arch_tramp_build() - assemble the trampoline of a set
 * @set: the set; where the trampoline will run is in its text
 * @code: buffer of fhook_arch_tramp_size() bytes
 *
 * Return: the length in bytes.
 */
unsigned int fhook_arch_tramp_build(struct fhook_set *set, void *code)
{
	bool regs = set->flags & FHOOK_FL_REGS;
	unsigned int size = fhook_arch_tramp_size(set);
	struct assembly as = {
		.code = code,
		.text = set->text,
		.literals = code_size(set),
	};
	struct branches branches = {};
	int i;

	memset(code, 0, size);
	if (!set->num) {
		add_far_jump(&as, set);
		return size;
	}

	add_piece(&as, regs ? PIECE_REGS_SAVE : PIECE_SAVE);
	if (regs && system_uses_irq_prio_masking())
		add_piece(&as, PIECE_REGS_PMR);
	if (set->target)
		add_redirect(&as, set);
	if (has_preempt(set))
		add_piece(&as, PIECE_PREEMPT_IN);
	if (has_guard(set))
		add_guard(&as, &branches);

	add_args(&as, set);
	if (set->exits)
		add_frame(&as, set->exits, &branches);
	for (i = 0; i < set->num; i++)
		add_hook(&as, set, i, &branches);
	if (set->exits)
		add_frame_enter(&as, set, &branches);

	if (has_guard(set))
		add_piece(&as, PIECE_GUARD_OUT);
	branches.preempt_out = as.pos;
	if (has_preempt(set)) {
		add_piece(&as, PIECE_PREEMPT_OUT);
		if (resched_function()) {
			branches.resched[0] = add_room(&as);
			add_piece(&as, PIECE_PREEMPT_AGAIN);
			branches.resched[1] = add_room(&as);
		}
	}

	branches.restore = as.pos;
	add_piece(&as, regs ? PIECE_REGS_RESTORE : PIECE_RESTORE);
	add_slow_paths(&as, set, &branches);
	WARN_ON_ONCE(as.pos > as.literals);

	return size;
}

/**
 * fhook_arch_text_alloc() - memory for trampolines
 * @first: address of the first slot that is to reach it
 * @last: address of the last one
 * @size: in bytes, whole pages
 *
 * Where modules are by default, or in what follows it and belongs to vmalloc():
 * with KASLR that is where the kernel is, and its modules are around it.
 *
 * Return: memory that may become executable, or NULL.
 */
void *fhook_arch_text_alloc(unsigned long first, unsigned long last,
			    unsigned int size)
{
	unsigned long reach = SZ_128M - PAGE_SIZE;
	unsigned long start = max(last - reach, MODULES_VADDR);
	unsigned long end = min(first + reach, VMALLOC_END);

	/* That there is none is said by who wants it, and may be tried elsewhere. */
	void *text = __vmalloc_node_range(size, PAGE_SIZE, start, end,
					  GFP_KERNEL | __GFP_NOWARN,
					  PAGE_KERNEL, 0, NUMA_NO_NODE,
					  __builtin_return_address(0));

	/* Branches go to addresses, not to pointers with tags. */
	return kasan_reset_tag(text);
}

/**
 * fhook_arch_text_write() - put a trampoline in its place
 * @text: the place, in read-only executable memory
 * @code: what to write
 * @size: its length in bytes
 */
void fhook_arch_text_write(void *text, const void *code, unsigned int size)
{
	aarch64_insn_copy(text, (void *)code, size);
}

/**
 * fhook_arch_text_clear() - leave nothing to execute
 * @text: a place in read-only executable memory
 * @size: its length in bytes
 */
void fhook_arch_text_clear(void *text, unsigned int size)
{
	aarch64_insn_set(text, AARCH64_BREAK_FAULT, size);
}

/**
 * fhook_arch_call_kill() - let a call in a trampoline go nowhere
 * @call: address of the call; a flush has to follow
 */
void fhook_arch_call_kill(void *call)
{
	WARN_ON_ONCE(aarch64_insn_patch_text_nosync(call,
						    aarch64_insn_gen_nop()));
}

/**
 * fhook_fill_perf_regs() - the registers that perf can do with
 * @fregs: the registers at a site
 * @regs: pc, sp, x29, x30 and pstate are filled, as if the hooked function had
 *	been interrupted behind its slot, so that perf's call chain begins with
 *	it; or its caller when it has returned
 */
void fhook_fill_perf_regs(const struct fhook_regs *fregs, struct pt_regs *regs)
{
	regs->pc = fhook_stub_goes_on(fhook_regs_get_ip(fregs));
	regs->sp = fhook_regs_get_sp(fregs);
	/* Its caller is in no frame record but that of the trampoline. */
	regs->regs[29] = fhook_regs_at_exit(fregs) ? fregs->fp :
						     (unsigned long)&fregs->fp;
	regs->regs[30] = fhook_regs_ret_addr(fregs);
	regs->pstate = PSR_MODE_EL1h;
}
