// SPDX-License-Identifier: GPL-2.0
/*
 * fhook on x86_64: trampolines.
 *
 * A trampoline is put together from the pieces of fhook_64.S in a buffer and
 * then written to its place through the patching alias; from then on it is
 * only executed, but for its calls, each of which may be made to go nowhere
 * when the hook is gone before the trampoline.
 *
 * Callers hold fhook_mutex, and text_mutex too where they change a call.
 * fhook_template_ip() may be called from anywhere.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/execmem.h>
#include <linux/fhook.h>
#include <linux/limits.h>
#include <linux/memory.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <asm/fhook_pieces.h>
#include <asm/nospec-branch.h>
#include <asm/processor-flags.h>
#include <asm/text-patching.h>

#include "../../../kernel/fhook/arch.h"
#include "../../../kernel/fhook/core.h"
#include "../../../kernel/fhook/exits.h"
#include "../../../kernel/fhook/extension.h"
#include "../../../kernel/fhook/frame.h"
#include "../../../kernel/fhook/set.h"
#include "../../../kernel/fhook/text.h"

/* The templates and struct fhook_regs have to agree, see fhook_64.S. */
static_assert(offsetof(struct fhook_regs, regs) == sizeof(long));
static_assert(offsetof(struct fhook_regs, ip) ==
	      sizeof(struct pt_regs) + sizeof(long));
static_assert(offsetof(struct fhook_regs, parent) ==
	      sizeof(struct pt_regs) + 2 * sizeof(long));
static_assert(FHOOK_SOFTIRQ_OFFSET == SOFTIRQ_OFFSET);
static_assert(FHOOK_HARDIRQ_MASK == HARDIRQ_MASK);
static_assert(FHOOK_NMI_MASK == NMI_MASK);

/* A conditional or plain branch with a 32-bit displacement. */
#define JCC32_SIZE	6
#define JNZ		0x85
#define JZ		0x84
#define JBE		0x86

/* The most that accounting of a call can take, see callthunks.c. */
#define ACCOUNT_SIZE	32

/**
 * struct assembly - a trampoline in the making
 * @code: the buffer
 * @text: where it will run
 * @pos: how much there is, in bytes
 */
struct assembly {
	u8		*code;
	u8		*text;
	unsigned int	pos;
};

/* Where branches lead to in a trampoline; and, from context on, where they are. */
struct branches {
	unsigned int	guard_try;
	unsigned int	framed;
	unsigned int	entered;
	unsigned int	preempt_out;
	unsigned int	context;
	unsigned int	miss;
	unsigned int	no_frame[2];
	unsigned int	declined;
	unsigned int	resched;
};

static const u8 *piece_start(enum fhook_piece_id id)
{
	return (const u8 *)fhook_caller + fhook_pieces[id].offset;
}

/* Append a piece, and return where it ends in the buffer, to fill in. */
static u8 *add_piece(struct assembly *as, enum fhook_piece_id id)
{
	memcpy(as->code + as->pos, piece_start(id), fhook_pieces[id].len);
	as->pos += fhook_pieces[id].len;

	return as->code + as->pos;
}

static void add_branch(struct assembly *as, u8 opcode, const void *dest)
{
	u8 *at = as->text + as->pos;

	__text_gen_insn(as->code + as->pos, opcode, at, dest,
			JMP32_INSN_SIZE);
	as->pos += JMP32_INSN_SIZE;
}

/* Append a conditional branch to be aimed by set_target(). */
static unsigned int add_jcc(struct assembly *as, u8 condition)
{
	u8 *code = as->code + as->pos;

	code[0] = 0x0f;
	code[1] = condition;
	as->pos += JCC32_SIZE;

	return as->pos;
}

/* Append a branch to be aimed by set_target(). */
static unsigned int add_jmp(struct assembly *as)
{
	as->code[as->pos] = JMP32_INSN_OPCODE;
	as->pos += JMP32_INSN_SIZE;

	return as->pos;
}

/* Aim the branch that ends at @end at @target, both offsets. */
static void set_target(struct assembly *as, unsigned int end,
		       unsigned int target)
{
	put_unaligned((s32)(target - end), (s32 *)(as->code + end) - 1);
}

static void add_return(struct assembly *as)
{
	void *at = as->text + as->pos;

	if (cpu_wants_rethunk_at(at)) {
		add_branch(as, JMP32_INSN_OPCODE, x86_return_thunk);
	} else {
		as->code[as->pos++] = RET_INSN_OPCODE;
		as->code[as->pos++] = INT3_INSN_OPCODE;
	}
}

/* With call depth tracking, each call has to be told to the return thunks. */
static void add_accounting(struct assembly *as)
{
	u8 *code = as->code + as->pos;

	as->pos += x86_call_depth_emit_accounting(&code, NULL,
						  as->text + as->pos);
}

/* Count in a member of the statistics of this CPU. */
static void add_count(struct assembly *as, const u64 __percpu *counter)
{
	unsigned long offset = (__force unsigned long)counter;
	u8 *end;

	if (offset <= S32_MAX) {
		end = add_piece(as, PIECE_COUNT_NEAR);
		put_unaligned((s32)offset, (s32 *)end - 1);
	} else {
		end = as->code + as->pos;
		add_piece(as, PIECE_COUNT_FAR);
		put_unaligned(offset, (unsigned long *)(end + 2));
	}
}

static void add_call(struct assembly *as, const void *function)
{
	add_accounting(as);
	add_branch(as, CALL_INSN_OPCODE, function);
}

/* Have the address of the function in rsi, and perhaps for later. */
static void add_func(struct assembly *as, struct fhook_set *set)
{
	u8 *end = add_piece(as, PIECE_FUNC_FIRST);

	end[-1] = set->func_offset;
	if (set->num > 1 || set->target)
		add_piece(as, PIECE_FUNC_KEEP);
}

/* From here on the address of the function is only where add_func() kept it. */
static void add_redirect(struct assembly *as, struct fhook_set *set)
{
	unsigned int closed = 0;
	u8 *code;

	add_func(as, set);
	if (set->gate) {
		code = as->code + as->pos;
		add_piece(as, PIECE_GATE);
		put_unaligned((unsigned long)set->gate,
			      (unsigned long *)(code + 2));
		closed = add_jcc(as, JZ);
	}

	code = as->code + as->pos;
	add_piece(as, PIECE_REDIRECT);
	put_unaligned(set->target, (unsigned long *)(code + 2));
	if (set->flags & FHOOK_FL_REGS)
		add_piece(as, PIECE_REGS_REDIRECT);
	if (closed)
		set_target(as, closed, as->pos);
}

/* Append a piece that ends in a number of 32 bits. */
static void add_numbered(struct assembly *as, enum fhook_piece_id id, u32 number)
{
	u8 *end = add_piece(as, id);

	put_unaligned(number, (u32 *)end - 1);
}

/* Have a frame for the exits of this call, whose function is in rsi. */
static void add_frame(struct assembly *as, const struct fhook_exits *exits,
		      struct branches *branches)
{
	u8 *end;

	add_numbered(as, PIECE_FRAME_STACK,
		     offsetof(struct task_struct, fhook_stack));
	add_piece(as, PIECE_FRAME_HAS_STACK);
	branches->no_frame[0] = add_jcc(as, JZ);
	add_numbered(as, PIECE_FRAME_TAKE, exits->size);
	add_piece(as, PIECE_FRAME_HAS_ROOM);
	branches->no_frame[1] = add_jcc(as, JBE);
	add_numbered(as, PIECE_FRAME_SIZE, exits->size);
	add_piece(as, PIECE_FRAME_TOP);
	add_numbered(as, PIECE_FRAME_SIZE, exits->size);
	end = add_piece(as, PIECE_FRAME_EXITS);
	put_unaligned((unsigned long)exits, (unsigned long *)end - 1);
	add_piece(as, PIECE_FRAME_KEEP);
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
		none = add_jcc(as, JZ);
		add_numbered(as, PIECE_FRAME_ALL, exits->all);
		branches->declined = add_jcc(as, JZ);
	}
	add_count(as, (__force u64 __percpu *)exits->pending);
	add_piece(as, PIECE_FRAME_ENTER);
	add_numbered(as, PIECE_FRAME_STUB, (unsigned long)exits->stub);
	if (none)
		set_target(as, none, as->pos);
	branches->entered = as->pos;
}

/* The call of an entry callback; its function is in rsi. */
static void add_entry(struct assembly *as, struct fhook_member *member)
{
	struct fhook_ops *ops = member->hook->ops;
	u8 *end = add_piece(as, PIECE_ARGS);

	put_unaligned((unsigned long)ops, (unsigned long *)end - 1);
	if (member->exit && member->exit->data) {
		end = add_piece(as, PIECE_DATA);
		put_unaligned(member->exit->data, (u32 *)end - 1);
	}
	add_accounting(as);
	member->call = as->pos;
	add_branch(as, CALL_INSN_OPCODE, ops->entry);
}

static void add_decline(struct assembly *as, unsigned int bit)
{
	unsigned int wanted;
	u8 *end;

	add_piece(as, PIECE_DECLINE_TEST);
	wanted = add_jcc(as, JZ);
	end = add_piece(as, PIECE_DECLINE);
	end[-1] = bit;
	set_target(as, wanted, as->pos);
}

static void add_hook(struct assembly *as, struct fhook_set *set, int nr,
		     struct branches *branches)
{
	struct fhook_member *member = &set->members[nr];
	struct fhook_hook *hook = member->hook;
	unsigned int has_frame, next = 0;

	/* Without room for the exit there is no entry either. */
	if (member->exit && !fhook_set_one_exit(set)) {
		add_piece(as, PIECE_FRAME_TEST);
		has_frame = add_jcc(as, JNZ);
		add_count(as, &hook->stat->missed);
		next = add_jmp(as);
		set_target(as, has_frame, as->pos);
	}

	add_count(as, &hook->stat->hits);
	if (hook->ops->entry) {
		if (nr)
			add_piece(as, PIECE_FUNC_AGAIN);
		add_entry(as, member);
		if (fhook_set_one_exit(set)) {
			add_piece(as, PIECE_DECLINE_TEST);
			branches->declined = add_jcc(as, JNZ);
		} else if (member->exit) {
			add_decline(as, member->exit - set->exits->exits);
		}
	}

	if (next)
		set_target(as, next, as->pos);
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
	return STATIC_CALL_TRAMP_ADDR(preempt_schedule_notrace);
#elif defined(CONFIG_PREEMPTION)
	return preempt_schedule_notrace_thunk;
#else
	return NULL;
#endif
}

static bool is_for_exits(enum fhook_piece_id id)
{
	return (id >= PIECE_FRAME_STACK && id <= PIECE_FRAME_TEST) ||
	       id == PIECE_DATA ||
	       (id >= PIECE_DECLINE_TEST && id <= PIECE_FRAME_POP);
}

static bool is_for_redirect(enum fhook_piece_id id)
{
	return id >= PIECE_GATE && id <= PIECE_REGS_REDIRECT;
}

/**
 * fhook_arch_tramp_size() - room that a trampoline needs
 * @set: the set, with its hooks and flags
 *
 * Return: an upper bound in bytes.
 */
unsigned int fhook_arch_tramp_size(const struct fhook_set *set)
{
	unsigned int size = 0;
	int id;

	for (id = 0; id < PIECE_MAX; id++) {
		if ((is_for_exits(id) && !set->exits) ||
		    (is_for_redirect(id) && !set->target))
			continue;
		size += fhook_pieces[id].len;
	}

	/* One of the two ways to save and restore is not used. */
	if (set->flags & FHOOK_FL_REGS)
		size -= fhook_pieces[PIECE_SAVE].len +
			fhook_pieces[PIECE_RESTORE].len;
	else
		size -= fhook_pieces[PIECE_REGS_SAVE].len +
			fhook_pieces[PIECE_REGS_RESTORE].len;

	size += set->num * (2 * (fhook_pieces[PIECE_COUNT_FAR].len) +
			    fhook_pieces[PIECE_FUNC_AGAIN].len +
			    fhook_pieces[PIECE_ARGS].len + ACCOUNT_SIZE +
			    CALL_INSN_SIZE);

	/*
	 * The size of a frame is written twice, and it is counted. Those with exits
	 * have two conditional branches more, and a plain one.
	 */
	if (set->exits)
		size += fhook_pieces[PIECE_FRAME_SIZE].len +
			fhook_pieces[PIECE_COUNT_FAR].len + 4 * JCC32_SIZE +
			2 * JMP32_INSN_SIZE + CALL_INSN_SIZE + ACCOUNT_SIZE +
			set->exits->num * (fhook_pieces[PIECE_COUNT_FAR].len +
					   fhook_pieces[PIECE_FRAME_TEST].len +
					   fhook_pieces[PIECE_DATA].len +
					   fhook_pieces[PIECE_DECLINE_TEST].len +
					   fhook_pieces[PIECE_DECLINE].len +
					   2 * JCC32_SIZE + JMP32_INSN_SIZE);

	/* Five conditional branches, five plain ones, another accounting. */
	return size + 5 * JCC32_SIZE + 5 * JMP32_INSN_SIZE + ACCOUNT_SIZE;
}

/* No room for the return address, or nobody wants to see it. */
static void add_no_frame(struct assembly *as, struct fhook_set *set,
			 const struct branches *branches)
{
	set_target(as, branches->no_frame[0], as->pos);
	set_target(as, branches->no_frame[1], as->pos);
	if (fhook_set_one_exit(set)) {
		add_count(as, &set->members[0].hook->stat->missed);
		add_branch(as, JMP32_INSN_OPCODE, as->text + branches->entered);
	} else {
		add_piece(as, PIECE_FRAME_NONE);
		add_branch(as, JMP32_INSN_OPCODE, as->text + branches->framed);
	}

	if (branches->declined) {
		set_target(as, branches->declined, as->pos);
		add_piece(as, PIECE_FRAME_POP);
		add_call(as, fhook_frame_pop);
		add_branch(as, JMP32_INSN_OPCODE, as->text + branches->entered);
	}
}

/* What stands behind the return: the ways that are rarely taken. */
static void add_slow_paths(struct assembly *as, struct fhook_set *set,
			   const struct branches *branches)
{
	int i;

	if (has_guard(set)) {
		set_target(as, branches->context, as->pos);
		add_piece(as, PIECE_CONTEXT);
		add_branch(as, JMP32_INSN_OPCODE,
			   as->text + branches->guard_try);

		set_target(as, branches->miss, as->pos);
		for (i = 0; i < set->num; i++)
			add_count(as, &set->members[i].hook->stat->missed);
		add_branch(as, JMP32_INSN_OPCODE,
			   as->text + branches->preempt_out);
	}

	if (set->exits)
		add_no_frame(as, set, branches);

	if (branches->resched) {
		set_target(as, branches->resched, as->pos);
		add_branch(as, CALL_INSN_OPCODE, resched_function());
		add_branch(as, JMP32_INSN_OPCODE,
			   as->text + set->arch.restore);
	}
}

static void add_guard(struct assembly *as, struct branches *branches)
{
	add_piece(as, PIECE_GUARD_IN);
	branches->context = add_jcc(as, JNZ);
	branches->guard_try = as->pos;
	add_piece(as, PIECE_GUARD_TRY);
	branches->miss = add_jcc(as, JNZ);
	add_piece(as, PIECE_GUARD_TAKE);
}

static void add_hooks(struct assembly *as, struct fhook_set *set,
		      struct branches *branches)
{
	int i;

	if (set->target)
		add_piece(as, PIECE_FUNC_AGAIN);
	else
		add_func(as, set);
	if (set->exits)
		add_frame(as, set->exits, branches);
	for (i = 0; i < set->num; i++)
		add_hook(as, set, i, branches);
	if (set->exits)
		add_frame_enter(as, set, branches);
}

/**
 * fhook_arch_tramp_build() - assemble the trampoline of a set
 * @set: the set; where the trampoline will run is in its text
 * @code: buffer of fhook_arch_tramp_size() bytes
 *
 * Fills what unwinding needs into the set.
 *
 * Return: the length in bytes.
 */
unsigned int fhook_arch_tramp_build(struct fhook_set *set, void *code)
{
	bool regs = set->flags & FHOOK_FL_REGS;
	struct assembly as = { .code = code, .text = set->text };
	struct branches branches = {};

	add_piece(&as, regs ? PIECE_REGS_SAVE : PIECE_SAVE);
	set->arch.save = as.pos;
	add_accounting(&as);
	if (set->target)
		add_redirect(&as, set);
	if (has_preempt(set))
		add_piece(&as, PIECE_PREEMPT_IN);
	if (has_guard(set))
		add_guard(&as, &branches);

	add_hooks(&as, set, &branches);

	if (has_guard(set))
		add_piece(&as, PIECE_GUARD_OUT);
	branches.preempt_out = as.pos;
	if (has_preempt(set)) {
		add_piece(&as, PIECE_PREEMPT_OUT);
		if (resched_function())
			branches.resched = add_jcc(&as, JZ);
	}

	set->arch.restore = as.pos;
	add_piece(&as, regs ? PIECE_REGS_RESTORE : PIECE_RESTORE);
	set->arch.restore_len = as.pos - set->arch.restore;
	add_return(&as);
	set->arch.slow = as.pos;

	add_slow_paths(&as, set, &branches);

	return as.pos;
}

/**
 * fhook_template_ip() - an instruction with the stack of one that was generated
 * @ip: any address
 *
 * For the ORC unwinder, which knows the templates. May be called from any
 * context, NMI included.
 *
 * Return: the address in a template with the same stack layout, 0 if @ip is in no
 * trampoline and no stub.
 */
unsigned long fhook_template_ip(unsigned long ip)
{
	const struct fhook_set *set;
	unsigned long offset;
	bool regs;

	guard(preempt_notrace)();
	set = fhook_text_find(ip);
	/* In a stub, nothing is on the stack but the return address. */
	if (!set)
		return fhook_is_stub(ip) ?
		       (unsigned long)fhook_just_return : 0;

	offset = ip - (unsigned long)set->text;
	regs = set->flags & FHOOK_FL_REGS;

	if (offset < set->arch.save)
		return (unsigned long)piece_start(regs ? PIECE_REGS_SAVE :
						  PIECE_SAVE) + offset;

	/* The return behind the restore piece may be longer than the template's. */
	if (offset >= set->arch.restore && offset < set->arch.slow) {
		offset = min_t(unsigned long, offset - set->arch.restore,
			       set->arch.restore_len);
		return (unsigned long)piece_start(regs ? PIECE_REGS_RESTORE :
						  PIECE_RESTORE) + offset;
	}

	return (unsigned long)piece_start(PIECE_ARGS);
}

/**
 * fhook_arch_text_alloc() - memory for trampolines
 * @first: address of the first slot that is to reach it: all do
 * @last: address of the last one
 * @size: in bytes, whole pages
 *
 * Return: memory that may become executable, or NULL.
 */
void *fhook_arch_text_alloc(unsigned long first, unsigned long last,
			    unsigned int size)
{
	return execmem_alloc(EXECMEM_FTRACE, size);
}

/**
 * fhook_arch_text_write() - put a trampoline in its place
 * @text: the place, in read-only executable memory
 * @code: what to write
 * @size: its length in bytes
 */
void fhook_arch_text_write(void *text, const void *code, unsigned int size)
{
	text_poke_copy(text, code, size);
}

/**
 * fhook_arch_text_clear() - leave nothing to execute
 * @text: a place in read-only executable memory
 * @size: its length in bytes
 */
void fhook_arch_text_clear(void *text, unsigned int size)
{
	text_poke_set(text, INT3_INSN_OPCODE, size);
}

/**
 * fhook_arch_call_kill() - let a call in a trampoline go nowhere
 * @call: address of the call; a flush has to follow
 *
 * It still calls something, for call depth tracking has counted it.
 */
void fhook_arch_call_kill(void *call)
{
	text_poke_queue(call, text_gen_insn(CALL_INSN_OPCODE, call,
					    fhook_just_return),
			CALL_INSN_SIZE, NULL);
}

/**
 * fhook_fill_perf_regs() - the registers that perf can do with
 * @fregs: the registers at a site
 * @regs: ip, sp, bp, cs and flags are filled, as if the hooked function had been
 *	interrupted behind its slot, so that perf's call chain begins with it; or
 *	its caller when it has returned
 */
void fhook_fill_perf_regs(const struct fhook_regs *fregs, struct pt_regs *regs)
{
	regs->ip = fhook_stub_goes_on(fhook_regs_get_ip(fregs));
	regs->sp = fhook_regs_get_sp(fregs);
	/* There the return address is, until it has been used. */
	if (fhook_regs_at_exit(fregs))
		regs->sp += sizeof(long);
	regs->bp = fhook_regs_get_fp(fregs);
	regs->cs = __KERNEL_CS;
	regs->flags = X86_EFLAGS_FIXED;
}
