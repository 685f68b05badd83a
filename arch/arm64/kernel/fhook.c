// SPDX-License-Identifier: GPL-2.0
/*
 * fhook on arm64: the instructions of trampolines, and their memory.
 *
 * kernel/fhook/trampoline.c assembles a trampoline from the pieces of fhook_64.S and from
 * instructions that this file generates between the pieces. Addresses are loaded from
 * literals that follow the code.
 *
 * Callers hold fhook_mutex, and also text_mutex where they change a call.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/cpufeature.h>
#include <linux/fhook_arch.h>
#include <linux/kasan.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/fhook_pieces.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

/* The templates and struct fhook_regs have to agree, see fhook_64.S. */
static_assert(offsetof(struct fhook_regs, frame_fp) == sizeof(struct pt_regs));
static_assert(sizeof(struct fhook_regs) == sizeof(struct pt_regs) + 32);
static_assert(sizeof(struct fhook_regs) % 16 == 0);
static_assert(offsetof(struct fhook_stat, missed) == 8);

static void put_insn(struct fhook_asm *as, u32 insn)
{
	__le32 word = cpu_to_le32(insn);

	if (insn == AARCH64_BREAK_FAULT)
		as->misfit = true;
	fhook_asm_put(as, &word, sizeof(word));
}

/* Load @value from a literal. */
static void put_load(struct fhook_asm *as, enum aarch64_insn_register reg,
		     unsigned long value)
{
	unsigned int literal = fhook_asm_literal(as, value);

	put_insn(as, aarch64_insn_gen_load_literal(as->pos, literal, reg, true));
}

static void put_branch_reg(struct fhook_asm *as,
			   enum aarch64_insn_branch_type type)
{
	put_insn(as, aarch64_insn_gen_branch_reg(AARCH64_INSN_REG_16, type));
}

/*
 * Is a function out of reach of a branch anywhere in the trampoline? While the address of
 * the trampoline is unknown, every function is.
 */
static bool is_far(const struct fhook_asm *as, const void *dest)
{
	return !as->code || !fhook_arch_reaches(as->text, dest) ||
	       !fhook_arch_reaches(as->text + as->room, dest);
}

static void put_near_call(struct fhook_asm *as, const void *function)
{
	put_insn(as, aarch64_insn_gen_branch_imm(as->text + as->pos,
						 (unsigned long)function,
						 AARCH64_INSN_BRANCH_LINK));
}

static void put_far_call(struct fhook_asm *as, const void *function)
{
	put_load(as, AARCH64_INSN_REG_16, (unsigned long)function);
	put_branch_reg(as, AARCH64_INSN_BRANCH_LINK);
}

/* Increment the counter of this CPU whose per-CPU address is in x10. */
static void put_count(struct fhook_asm *as)
{
	fhook_asm_piece(as, cpus_have_cap(ARM64_HAS_LSE_ATOMICS) ?
			    PIECE_COUNT_LSE : PIECE_COUNT);
}

unsigned int fhook_arch_emit_jump(struct fhook_asm *as)
{
	put_insn(as, aarch64_insn_get_b_value());

	return as->pos;
}

static u32 bcond(enum aarch64_insn_condition condition)
{
	return aarch64_insn_gen_cond_branch_imm(0, 0, condition);
}

/* Branch on x11: the frame, the stack or the preemption count. */
static u32 cb_x11(enum aarch64_insn_branch_type type)
{
	return aarch64_insn_gen_comp_branch_imm(0, 0, AARCH64_INSN_REG_11,
						AARCH64_INSN_VARIANT_64BIT,
						type);
}

/* Branch on w0: the return value of the callback. */
static u32 cb_w0(enum aarch64_insn_branch_type type)
{
	return aarch64_insn_gen_comp_branch_imm(0, 0, AARCH64_INSN_REG_0,
						AARCH64_INSN_VARIANT_32BIT,
						type);
}

static u32 branch_if(enum fhook_asm_if condition)
{
	switch (condition) {
	case FHOOK_IF_BITS:
		return bcond(AARCH64_INSN_COND_NE);
	case FHOOK_IF_NO_ROOM:
		return bcond(AARCH64_INSN_COND_LS);
	case FHOOK_IF_NOBODY:
		return bcond(AARCH64_INSN_COND_EQ);
	case FHOOK_IF_FRAME:
		return cb_x11(AARCH64_INSN_BRANCH_COMP_NONZERO);
	case FHOOK_IF_NO_STACK:
	case FHOOK_IF_NO_FRAME:
	case FHOOK_IF_RESCHED:
		return cb_x11(AARCH64_INSN_BRANCH_COMP_ZERO);
	case FHOOK_IF_DECLINED:
		return cb_w0(AARCH64_INSN_BRANCH_COMP_NONZERO);
	case FHOOK_IF_ACCEPTED:
		return cb_w0(AARCH64_INSN_BRANCH_COMP_ZERO);
	}

	return AARCH64_BREAK_FAULT;
}

unsigned int fhook_arch_emit_if(struct fhook_asm *as, enum fhook_asm_if condition)
{
	put_insn(as, branch_if(condition));

	return as->pos;
}

void fhook_arch_emit_save(struct fhook_asm *as)
{
	fhook_asm_piece(as, as->regs ? PIECE_REGS_SAVE : PIECE_SAVE);
	if (as->regs && system_uses_irq_prio_masking())
		fhook_asm_piece(as, PIECE_REGS_PMR);
}

void fhook_arch_emit_restore(struct fhook_asm *as)
{
	fhook_asm_piece(as, as->regs ? PIECE_REGS_RESTORE : PIECE_RESTORE);
}

void fhook_arch_emit_redirect(struct fhook_asm *as, unsigned long target,
			      const u32 *gate)
{
	unsigned int closed = 0;

	if (gate) {
		put_load(as, AARCH64_INSN_REG_11, (unsigned long)gate);
		fhook_asm_piece(as, PIECE_GATE);
		put_insn(as, cb_x11(AARCH64_INSN_BRANCH_COMP_ZERO));
		closed = as->pos;
	}

	put_load(as, AARCH64_INSN_REG_10, target);
	fhook_asm_piece(as, PIECE_REDIRECT);
	if (as->regs)
		fhook_asm_piece(as, PIECE_REGS_REDIRECT);
	if (closed)
		fhook_asm_land(as, closed);
}

/* Changes x16 only. */
void fhook_arch_emit_far_jump(struct fhook_asm *as, unsigned long target)
{
	put_load(as, AARCH64_INSN_REG_16, target);
	fhook_asm_piece(as, PIECE_JUMP);
}

void fhook_arch_emit_guard_try(struct fhook_asm *as)
{
	put_load(as, AARCH64_INSN_REG_13, (__force unsigned long)&fhook_guard);
	fhook_asm_piece(as, PIECE_GUARD_TRY);
}

void fhook_arch_emit_args(struct fhook_asm *as)
{
	put_insn(as, aarch64_insn_gen_add_sub_imm(AARCH64_INSN_REG_1,
						  AARCH64_INSN_REG_LR,
						  as->func_offset,
						  AARCH64_INSN_VARIANT_64BIT,
						  AARCH64_INSN_ADSB_SUB));
	fhook_asm_piece(as, PIECE_ARGS);
	if (as->keep)
		fhook_asm_piece(as, PIECE_ARGS_KEEP);
}

void fhook_arch_emit_args_again(struct fhook_asm *as)
{
	fhook_asm_piece(as, PIECE_ARGS_AGAIN);
}

void fhook_arch_emit_data(struct fhook_asm *as, u32 data)
{
	fhook_asm_piece(as, PIECE_FRAME_TEST);
	fhook_asm_piece(as, PIECE_DATA);
	put_insn(as, aarch64_insn_gen_add_sub_imm(AARCH64_INSN_REG_4,
						  AARCH64_INSN_REG_4, data,
						  AARCH64_INSN_VARIANT_64BIT,
						  AARCH64_INSN_ADSB_ADD));
}

void fhook_arch_emit_count(struct fhook_asm *as,
			   const struct fhook_stat __percpu *stat, bool missed)
{
	put_load(as, AARCH64_INSN_REG_10, (__force unsigned long)stat);
	if (missed)
		fhook_asm_piece(as, PIECE_COUNT_MISSED);
	put_count(as);
}

unsigned int fhook_arch_emit_entry(struct fhook_asm *as,
				   const struct fhook_ops *ops, unsigned int nr,
				   u32 data)
{
	unsigned int call;

	put_load(as, AARCH64_INSN_REG_0, (unsigned long)ops);
	call = as->pos;
	if (is_far(as, ops->entry))
		put_insn(as, aarch64_insn_get_bl_value());	/* to its veneer */
	else
		put_near_call(as, ops->entry);

	return call;
}

/* With BTI, only a branch through x16 or x17 may lead to a function. */
void fhook_arch_emit_veneer(struct fhook_asm *as, unsigned int call,
			    const void *function)
{
	if (!is_far(as, function))
		return;

	fhook_asm_land(as, call + AARCH64_INSN_SIZE);
	put_load(as, AARCH64_INSN_REG_16, (unsigned long)function);
	put_branch_reg(as, AARCH64_INSN_BRANCH_NOLINK);
}

void fhook_arch_emit_decline(struct fhook_asm *as, unsigned int bit)
{
	fhook_asm_piece(as, PIECE_DECLINE_LOAD);
	put_insn(as, aarch64_insn_gen_logical_immediate(AARCH64_INSN_LOGIC_ORR,
							AARCH64_INSN_VARIANT_32BIT,
							AARCH64_INSN_REG_11,
							AARCH64_INSN_REG_11,
							BIT(bit)));
	fhook_asm_piece(as, PIECE_DECLINE_STORE);
}

void fhook_arch_emit_frame_stack(struct fhook_asm *as)
{
	put_load(as, AARCH64_INSN_REG_12,
		 offsetof(struct task_struct, fhook_stack));
	fhook_asm_piece(as, PIECE_FRAME_STACK);
}

void fhook_arch_emit_frame_take(struct fhook_asm *as, u32 size,
				const struct fhook_exits *exits)
{
	put_load(as, AARCH64_INSN_REG_13, size);
	put_load(as, AARCH64_INSN_REG_14, (unsigned long)exits);
	fhook_asm_piece(as, PIECE_FRAME_TAKE);
}

void fhook_arch_emit_frame_fill(struct fhook_asm *as, u32 size,
				const struct fhook_exits *exits)
{
	fhook_asm_piece(as, PIECE_FRAME_FILL);
}

void fhook_arch_emit_frame_all(struct fhook_asm *as, u32 all)
{
	put_load(as, AARCH64_INSN_REG_12, all);
	fhook_asm_piece(as, PIECE_FRAME_ALL);
}

void fhook_arch_emit_frame_enter(struct fhook_asm *as,
				 const long __percpu *pending, const void *stub)
{
	put_load(as, AARCH64_INSN_REG_10, (__force unsigned long)pending);
	put_count(as);
	fhook_asm_piece(as, PIECE_FRAME_ENTER);
	put_load(as, AARCH64_INSN_REG_13, (unsigned long)stub);
	fhook_asm_piece(as, PIECE_FRAME_STUB);
}

void fhook_arch_emit_call(struct fhook_asm *as, const void *function)
{
	if (is_far(as, function))
		put_far_call(as, function);
	else
		put_near_call(as, function);
}

const void *fhook_arch_resched(void)
{
#if defined(CONFIG_PREEMPT_DYNAMIC)
	return dynamic_preempt_schedule_notrace;
#elif defined(CONFIG_PREEMPTION)
	return preempt_schedule_notrace;
#else
	return NULL;
#endif
}

/* The function may be out of reach of a direct branch. */
void fhook_arch_emit_resched(struct fhook_asm *as)
{
	put_far_call(as, fhook_arch_resched());
}

/**
 * fhook_arch_text_alloc() - allocate memory for trampolines
 * @first: address of the first slot that must reach the memory
 * @last: address of the last such slot
 * @size: size in bytes, whole pages
 *
 * Allocates where modules are by default, or in the part of the vmalloc area that follows:
 * with KASLR, the kernel is there, with its modules around it.
 *
 * Return: memory that may become executable, or NULL.
 */
void *fhook_arch_text_alloc(unsigned long first, unsigned long last,
			    unsigned int size)
{
	unsigned long reach = SZ_128M - PAGE_SIZE;
	unsigned long start = max(last - reach, MODULES_VADDR);
	unsigned long end = min(first + reach, VMALLOC_END);
	void *text;

	/* On failure the caller may try another range, and reports the error itself. */
	if (start >= end)
		return NULL;

	text = __vmalloc_node_range(size, PAGE_SIZE, start, end, GFP_KERNEL | __GFP_NOWARN,
				    PAGE_KERNEL, 0, NUMA_NO_NODE, __builtin_return_address(0));

	/* Branches take addresses without tags. */
	return kasan_reset_tag(text);
}

/**
 * fhook_arch_text_write() - copy a trampoline into executable memory
 * @text: destination, in read-only executable memory
 * @code: code of the trampoline
 * @size: length of the code in bytes
 */
void fhook_arch_text_write(void *text, const void *code, unsigned int size)
{
	aarch64_insn_copy(text, (void *)code, size);
}

/**
 * fhook_arch_text_clear() - overwrite a trampoline with faulting instructions
 * @text: start of the trampoline, in read-only executable memory
 * @size: its length in bytes
 */
void fhook_arch_text_clear(void *text, unsigned int size)
{
	aarch64_insn_set(text, AARCH64_BREAK_FAULT, size);
}

/**
 * fhook_arch_call_kill() - replace a call in a trampoline with a no-op
 * @call: address of the call; the caller has to flush afterwards
 */
void fhook_arch_call_kill(void *call)
{
	WARN_ON_ONCE(aarch64_insn_patch_text_nosync(call,
						    aarch64_insn_gen_nop()));
}

/**
 * fhook_fill_perf_regs() - fill in the registers that perf needs
 * @fregs: the registers at a site
 * @regs: registers for perf, of which pc, sp, x29, x30 and pstate are set, as if the
 *	hooked function had been interrupted after its slot, so that perf's call chain
 *	begins with the function; after its return, with the caller
 */
void fhook_fill_perf_regs(const struct fhook_regs *fregs, struct pt_regs *regs)
{
	regs->pc = fhook_resolve_stub(fhook_regs_get_ip(fregs));
	regs->sp = fhook_regs_get_sp(fregs);
	/* Only the trampoline's frame record has the function's caller. */
	regs->regs[29] = fhook_regs_at_exit(fregs) ? fregs->fp :
						     (unsigned long)&fregs->fp;
	regs->regs[30] = fhook_regs_ret_addr(fregs);
	regs->pstate = PSR_MODE_EL1h;
}
