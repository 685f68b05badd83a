// SPDX-License-Identifier: GPL-2.0
/*
 * fhook on x86_64: the instructions of trampolines, and their memory.
 *
 * kernel/fhook/trampoline.c assembles a trampoline from the pieces of fhook_64.S and from
 * instructions that this file generates between the pieces.
 *
 * Callers hold fhook_mutex, and also text_mutex where they change a call.
 */
#define pr_fmt(fmt) "fhook: " fmt

#include <linux/execmem.h>
#include <linux/fhook_arch.h>
#include <linux/hook_base.h>
#include <linux/limits.h>
#include <linux/memory.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <asm/fhook_pieces.h>
#include <asm/nospec-branch.h>
#include <asm/text-patching.h>

/* The templates and struct fhook_regs have to agree, see fhook_64.S. */
static_assert(offsetof(struct fhook_regs, regs) == sizeof(long));
static_assert(offsetof(struct fhook_regs, ip) ==
	      sizeof(struct pt_regs) + sizeof(long));
static_assert(offsetof(struct fhook_regs, parent) ==
	      sizeof(struct pt_regs) + 2 * sizeof(long));

/* A conditional branch with a 32-bit displacement. */
#define JCC32_SIZE	6
#define JNZ		0x85
#define JZ		0x84
#define JBE		0x86

/* The offset of the immediate operand of movabs. */
#define MOVABS_OPCODE_SIZE	2

/* The maximum size of the accounting of a call, see callthunks.c. */
#define ACCOUNT_SIZE	32

static void put_byte(struct fhook_asm *as, u8 byte)
{
	fhook_asm_put(as, &byte, sizeof(byte));
}

/* Append a piece that ends in a sign-extended 32-bit operand. */
static void put_number(struct fhook_asm *as, enum fhook_piece_id id, long number)
{
	s32 operand = number;

	if (operand != number)
		as->misfit = true;
	fhook_asm_piece(as, id);
	fhook_asm_fill(as, as->pos - sizeof(operand), &operand, sizeof(operand));
}

/* Append a piece that has an address @offset bytes from its start. */
static void put_address(struct fhook_asm *as, enum fhook_piece_id id,
			unsigned int offset, unsigned long address)
{
	unsigned int pos = as->pos + offset;

	fhook_asm_piece(as, id);
	fhook_asm_fill(as, pos, &address, sizeof(address));
}

/* Append a piece that ends in an address. */
static void put_last_address(struct fhook_asm *as, enum fhook_piece_id id,
			     unsigned long address)
{
	put_address(as, id, fhook_pieces[id].len - sizeof(address), address);
}

/* Append a jump or a call to a place outside the trampoline. */
static void put_branch(struct fhook_asm *as, u8 opcode, const void *dest)
{
	unsigned long next = as->text + as->pos + JMP32_INSN_SIZE;
	long distance = (unsigned long)dest - next;
	s32 operand = distance;

	if (as->code && operand != distance)
		as->misfit = true;
	put_byte(as, opcode);
	fhook_asm_put(as, &operand, sizeof(operand));
}

/* With call depth tracking, the return thunks need to know of each call. */
static void put_accounting(struct fhook_asm *as)
{
	u8 code[ACCOUNT_SIZE], *end = code;

	x86_call_depth_emit_accounting(&end, NULL,
				       (void *)(as->text + as->pos));
	fhook_asm_put(as, code, end - code);
}

/* Increment a counter of this CPU. */
static void put_count(struct fhook_asm *as, const void __percpu *counter)
{
	long offset = (__force long)counter;

	if (offset == (s32)offset)
		put_number(as, PIECE_COUNT_NEAR, offset);
	else
		put_address(as, PIECE_COUNT_FAR, MOVABS_OPCODE_SIZE, offset);
}

/* Load the address of the function into rsi, and store it if it is needed again. */
static void put_func(struct fhook_asm *as)
{
	fhook_asm_piece(as, PIECE_FUNC_FIRST);
	fhook_asm_fill(as, as->pos - 1, &as->func_offset, 1);
	if (as->keep || as->redirected)
		fhook_asm_piece(as, PIECE_FUNC_KEEP);
}

unsigned int fhook_arch_emit_jump(struct fhook_asm *as)
{
	static const u8 code[JMP32_INSN_SIZE] = { JMP32_INSN_OPCODE };

	fhook_asm_put(as, code, sizeof(code));

	return as->pos;
}

static unsigned int put_jcc(struct fhook_asm *as, u8 condition)
{
	u8 code[JCC32_SIZE] = { 0x0f, condition };

	fhook_asm_put(as, code, sizeof(code));

	return as->pos;
}

unsigned int fhook_arch_emit_if(struct fhook_asm *as, enum fhook_asm_if condition)
{
	static const u8 conditions[] = {
		[FHOOK_IF_BITS]		= JNZ,
		[FHOOK_IF_NO_STACK]	= JZ,
		[FHOOK_IF_NO_ROOM]	= JBE,
		[FHOOK_IF_FRAME]	= JNZ,
		[FHOOK_IF_NO_FRAME]	= JZ,
		[FHOOK_IF_DECLINED]	= JNZ,
		[FHOOK_IF_ACCEPTED]	= JZ,
		[FHOOK_IF_NOBODY]	= JZ,
		[FHOOK_IF_RESCHED]	= JZ,
	};

	if (condition == FHOOK_IF_DECLINED || condition == FHOOK_IF_ACCEPTED)
		fhook_asm_piece(as, PIECE_DECLINE_TEST);

	return put_jcc(as, conditions[condition]);
}

void fhook_arch_emit_save(struct fhook_asm *as)
{
	fhook_asm_piece(as, as->regs ? PIECE_REGS_SAVE : PIECE_SAVE);
	as->layout->regs = as->regs;
	as->layout->save = as->pos;
	put_accounting(as);
}

static void put_return(struct fhook_asm *as)
{
	void *at = (void *)(as->text + as->pos);

	/* Take the longer form while the address is unknown. */
	if (!as->code || cpu_wants_rethunk_at(at)) {
		put_branch(as, JMP32_INSN_OPCODE, x86_return_thunk);
	} else {
		put_byte(as, RET_INSN_OPCODE);
		put_byte(as, INT3_INSN_OPCODE);
	}
}

void fhook_arch_emit_restore(struct fhook_asm *as)
{
	as->layout->restore = as->pos;
	fhook_asm_piece(as, as->regs ? PIECE_REGS_RESTORE : PIECE_RESTORE);
	as->layout->restore_len = as->pos - as->layout->restore;
	put_return(as);
	as->layout->slow = as->pos;
}

/* Afterwards, the address of the function is only where put_func() has stored it. */
void fhook_arch_emit_redirect(struct fhook_asm *as, unsigned long target,
			      const u32 *gate)
{
	unsigned int closed = 0;

	put_func(as);
	if (gate) {
		put_address(as, PIECE_GATE, MOVABS_OPCODE_SIZE,
			    (unsigned long)gate);
		closed = put_jcc(as, JZ);
	}

	put_address(as, PIECE_REDIRECT, MOVABS_OPCODE_SIZE, target);
	if (as->regs)
		fhook_asm_piece(as, PIECE_REGS_REDIRECT);
	if (closed)
		fhook_asm_land(as, closed);
}

void fhook_arch_emit_far_jump(struct fhook_asm *as, unsigned long target)
{
	put_branch(as, JMP32_INSN_OPCODE, (void *)target);
}

void fhook_arch_emit_guard_try(struct fhook_asm *as)
{
	fhook_asm_piece(as, PIECE_GUARD_TRY);
}

void fhook_arch_emit_args(struct fhook_asm *as)
{
	if (as->redirected)
		fhook_asm_piece(as, PIECE_FUNC_AGAIN);
	else
		put_func(as);
}

/* Counting a call clobbers the arguments, so fhook_arch_emit_entry() loads them. */
void fhook_arch_emit_args_again(struct fhook_asm *as)
{
}

void fhook_arch_emit_data(struct fhook_asm *as, u32 data)
{
}

void fhook_arch_emit_count(struct fhook_asm *as,
			   const struct fhook_stat __percpu *stat, bool missed)
{
	put_count(as, missed ? &stat->missed : &stat->hits);
}

unsigned int fhook_arch_emit_entry(struct fhook_asm *as,
				   const struct fhook_ops *ops, unsigned int nr,
				   u32 data)
{
	unsigned int call;

	if (nr)
		fhook_asm_piece(as, PIECE_FUNC_AGAIN);
	put_last_address(as, PIECE_ARGS, (unsigned long)ops);
	if (data)
		put_number(as, PIECE_DATA, data);
	put_accounting(as);
	call = as->pos;
	put_branch(as, CALL_INSN_OPCODE, ops->entry);

	return call;
}

/* Not needed: each call reaches its function. */
void fhook_arch_emit_veneer(struct fhook_asm *as, unsigned int call,
			    const void *function)
{
}

void fhook_arch_emit_decline(struct fhook_asm *as, unsigned int bit)
{
	u8 operand = bit;

	fhook_asm_piece(as, PIECE_DECLINE);
	fhook_asm_fill(as, as->pos - 1, &operand, 1);
}

void fhook_arch_emit_frame_stack(struct fhook_asm *as)
{
	put_number(as, PIECE_FRAME_STACK,
		   offsetof(struct task_struct, fhook_stack));
	fhook_asm_piece(as, PIECE_FRAME_HAS_STACK);
}

void fhook_arch_emit_frame_take(struct fhook_asm *as, u32 size,
				const struct fhook_exits *exits)
{
	put_number(as, PIECE_FRAME_TAKE, size);
	fhook_asm_piece(as, PIECE_FRAME_HAS_ROOM);
}

void fhook_arch_emit_frame_fill(struct fhook_asm *as, u32 size,
				const struct fhook_exits *exits)
{
	put_number(as, PIECE_FRAME_SIZE, size);
	fhook_asm_piece(as, PIECE_FRAME_TOP);
	put_number(as, PIECE_FRAME_SIZE, size);
	put_last_address(as, PIECE_FRAME_EXITS, (unsigned long)exits);
	fhook_asm_piece(as, PIECE_FRAME_KEEP);
}

void fhook_arch_emit_frame_all(struct fhook_asm *as, u32 all)
{
	put_number(as, PIECE_FRAME_ALL, (s32)all);
}

void fhook_arch_emit_frame_enter(struct fhook_asm *as,
				 const long __percpu *pending, const void *stub)
{
	put_count(as, pending);
	fhook_asm_piece(as, PIECE_FRAME_ENTER);
	put_number(as, PIECE_FRAME_STUB, (long)stub);
}

void fhook_arch_emit_call(struct fhook_asm *as, const void *function)
{
	put_accounting(as);
	put_branch(as, CALL_INSN_OPCODE, function);
}

const void *fhook_arch_resched(void)
{
#if defined(CONFIG_PREEMPT_DYNAMIC)
	return STATIC_CALL_TRAMP_ADDR(preempt_schedule_notrace);
#elif defined(CONFIG_PREEMPTION)
	return preempt_schedule_notrace_thunk;
#else
	return NULL;
#endif
}

void fhook_arch_emit_resched(struct fhook_asm *as)
{
	put_branch(as, CALL_INSN_OPCODE, fhook_arch_resched());
}

/**
 * fhook_arch_text_alloc() - allocate memory for trampolines
 * @first: address of the first slot that must reach the memory: all slots do
 * @last: address of the last such slot
 * @size: size in bytes, whole pages
 *
 * Return: memory that may become executable, or NULL.
 */
void *fhook_arch_text_alloc(unsigned long first, unsigned long last,
			    unsigned int size)
{
	return execmem_alloc_rw(EXECMEM_FTRACE, size);
}

/**
 * fhook_arch_text_write() - copy a trampoline into executable memory
 * @text: destination, in read-only executable memory
 * @code: code of the trampoline
 * @size: length of the code in bytes
 */
void fhook_arch_text_write(void *text, const void *code, unsigned int size)
{
	text_poke_copy(text, code, size);
}

/**
 * fhook_arch_text_clear() - overwrite a trampoline with breakpoints
 * @text: start of the trampoline, in read-only executable memory
 * @size: its length in bytes
 */
void fhook_arch_text_clear(void *text, unsigned int size)
{
	text_poke_set(text, INT3_INSN_OPCODE, size);
}

/**
 * fhook_arch_call_kill() - make a call in a trampoline call an empty function
 * @call: address of the call; the caller has to flush afterwards
 *
 * There must still be a call, because call depth tracking has counted it.
 */
void fhook_arch_call_kill(void *call)
{
	smp_text_poke_batch_add(call, text_gen_insn(CALL_INSN_OPCODE, call,
						    fhook_just_return),
			CALL_INSN_SIZE, NULL);
}
