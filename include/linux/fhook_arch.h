/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook: the contract between kernel/fhook/ and the architectures.
 *
 * An architecture defines the functions fhook_arch_*() that are declared here, and in
 * <asm/fhook_arch.h> the constants and inline functions of its slots. Of fhook it uses
 * nothing but this header and the public ones, and includes no private header.
 *
 * All of it runs under fhook_mutex, unless a function says otherwise.
 */
#ifndef _LINUX_FHOOK_ARCH_H
#define _LINUX_FHOOK_ARCH_H

#include <linux/fhook.h>
#include <linux/percpu-defs.h>
#include <linux/types.h>
#include <asm/fhook_arch.h>
#include <asm/fhook_pieces.h>

struct fhook_exits;

/**
 * enum fhook_state - states of a slot
 * @FHOOK_NOP: nothing
 * @FHOOK_CALL: it calls a trampoline
 * @FHOOK_JUMP: it jumps to code that runs instead of the function
 */
enum fhook_state {
	FHOOK_NOP,
	FHOOK_CALL,
	FHOOK_JUMP,
};

/* Slots: arch/.../kernel/fhook_sites.c */
s32 *fhook_arch_sites(unsigned long base, unsigned int *num);
unsigned int fhook_arch_module_sites(struct module *mod, unsigned long base);
unsigned int fhook_arch_func_offset(unsigned long site);
bool fhook_arch_site_has(unsigned long site, enum fhook_state state,
			 const void *dest);
void fhook_arch_site_queue(unsigned long site, enum fhook_state state,
			   const void *dest);
void fhook_arch_site_flush(void);

/**
 * struct fhook_stat - counters of a hook on a CPU, which trampolines increment
 * @hits: calls that the hook has seen
 * @missed: calls refused by the recursion guard, or for want of room for the
 *	return address
 */
struct fhook_stat {
	u64	hits;
	u64	missed;
};

/**
 * struct fhook_asm - a trampoline that is being assembled
 * @code: buffer for @room bytes of code and @max_literals literals; NULL while the
 *	trampoline is measured
 * @text: address at which the trampoline will run; 0 while it is measured
 * @pos: bytes of code so far
 * @room: bytes that the code may take; the literals follow them
 * @literals: number of literals so far
 * @max_literals: number of literals that there may be
 * @misfit: whether an operand does not fit its instruction
 * @layout: positions that the architecture's unwinder needs
 * @func_offset: bytes from the function to the address that the slot's call returns to
 * @regs: whether a full &struct pt_regs is saved
 * @redirected: whether another function may run instead
 * @keep: whether the arguments of the first callback are needed again
 *
 * The same code runs twice for each trampoline: once to measure it, without a buffer,
 * and once to write it. What depends on the address of the trampoline takes the larger
 * form in the first pass, so that the second needs no more. In both passes @pos and
 * @literals advance, but nothing is written outside the buffer; a trampoline that has
 * outgrown it is dropped.
 */
struct fhook_asm {
	void			*code;
	unsigned long		text;
	unsigned int		pos;
	unsigned int		room;
	unsigned int		literals;
	unsigned int		max_literals;
	bool			misfit;
	struct fhook_arch_tramp	*layout;
	u8			func_offset;
	bool			regs;
	bool			redirected;
	bool			keep;
};

/**
 * enum fhook_asm_if - conditions of branches in a trampoline
 * @FHOOK_IF_BITS: a bit that the preceding piece has tested is set
 * @FHOOK_IF_NO_STACK: the task has no &struct fhook_stack
 * @FHOOK_IF_NO_ROOM: that stack has no room for a frame
 * @FHOOK_IF_FRAME: this call has a frame, as %PIECE_FRAME_TEST says
 * @FHOOK_IF_NO_FRAME: it has none
 * @FHOOK_IF_DECLINED: the callback has returned a value other than 0
 * @FHOOK_IF_ACCEPTED: the callback has returned 0
 * @FHOOK_IF_NOBODY: all hooks with an exit have declined it
 * @FHOOK_IF_RESCHED: preemption is enabled again and the task has to reschedule
 */
enum fhook_asm_if {
	FHOOK_IF_BITS,
	FHOOK_IF_NO_STACK,
	FHOOK_IF_NO_ROOM,
	FHOOK_IF_FRAME,
	FHOOK_IF_NO_FRAME,
	FHOOK_IF_DECLINED,
	FHOOK_IF_ACCEPTED,
	FHOOK_IF_NOBODY,
	FHOOK_IF_RESCHED,
};

/* For the functions below: kernel/fhook/assembler.c */
void fhook_asm_put(struct fhook_asm *as, const void *bytes, unsigned int len);
void fhook_asm_fill(struct fhook_asm *as, unsigned int pos, const void *bytes,
		    unsigned int len);
void fhook_asm_piece(struct fhook_asm *as, enum fhook_piece_id id);
unsigned int fhook_asm_literal(struct fhook_asm *as, unsigned long value);
void fhook_asm_aim(struct fhook_asm *as, unsigned int branch,
		   unsigned int target);
void fhook_asm_land(struct fhook_asm *as, unsigned int branch);

/*
 * Parts of trampolines: arch/.../kernel/fhook.c. Each appends instructions to the
 * trampoline @as, in the order in which the pieces of fhook_64.S stand.
 */

/**
 * fhook_arch_emit_jump() - jump inside the trampoline
 * @as: the trampoline
 *
 * Return: the position at which the jump ends, for fhook_asm_land().
 */
unsigned int fhook_arch_emit_jump(struct fhook_asm *as);

/**
 * fhook_arch_emit_if() - branch inside the trampoline on a condition
 * @as: the trampoline
 * @condition: the condition
 *
 * Return: the position at which the branch ends, for fhook_asm_land().
 */
unsigned int fhook_arch_emit_if(struct fhook_asm *as,
				enum fhook_asm_if condition);

/**
 * fhook_arch_emit_save() - make the frame of the trampoline, and save registers
 * @as: the trampoline
 */
void fhook_arch_emit_save(struct fhook_asm *as);

/**
 * fhook_arch_emit_restore() - restore registers, take the frame down, and return
 * @as: the trampoline
 */
void fhook_arch_emit_restore(struct fhook_asm *as);

/**
 * fhook_arch_emit_redirect() - return to a replacement instead of to the function
 * @as: the trampoline
 * @target: the replacement
 * @gate: variable that is 0 while the function itself runs; NULL if it never does
 */
void fhook_arch_emit_redirect(struct fhook_asm *as, unsigned long target,
			      const u32 *gate);

/**
 * fhook_arch_emit_far_jump() - jump to a replacement, as the whole trampoline
 * @as: the trampoline
 * @target: the replacement
 */
void fhook_arch_emit_far_jump(struct fhook_asm *as, unsigned long target);

/**
 * fhook_arch_emit_guard_try() - test whether the guard of this context is held
 * @as: the trampoline
 */
void fhook_arch_emit_guard_try(struct fhook_asm *as);

/**
 * fhook_arch_emit_args() - load arguments that are the same for all callbacks
 * @as: the trampoline
 */
void fhook_arch_emit_args(struct fhook_asm *as);

/**
 * fhook_arch_emit_args_again() - load these arguments again, for a later callback
 * @as: the trampoline
 */
void fhook_arch_emit_args_again(struct fhook_asm *as);

/**
 * fhook_arch_emit_data() - load the argument that points to the hook's data
 * @as: the trampoline
 * @data: bytes from the frame to the data
 *
 * May be left to fhook_arch_emit_entry(), as fhook_arch_emit_args_again() may.
 */
void fhook_arch_emit_data(struct fhook_asm *as, u32 data);

/**
 * fhook_arch_emit_count() - count a call
 * @as: the trampoline
 * @stat: counters of the hook
 * @missed: whether the call is missed
 */
void fhook_arch_emit_count(struct fhook_asm *as,
			   const struct fhook_stat __percpu *stat, bool missed);

/**
 * fhook_arch_emit_entry() - call the entry callback of a hook
 * @as: the trampoline
 * @ops: the ops of the hook
 * @nr: index of the hook in the trampoline
 * @data: bytes from the frame to the data of the hook, 0 if it has none
 *
 * Return: the position of the call instruction, for fhook_arch_call_kill().
 */
unsigned int fhook_arch_emit_entry(struct fhook_asm *as,
				   const struct fhook_ops *ops, unsigned int nr,
				   u32 data);

/**
 * fhook_arch_emit_veneer() - add a veneer to a call that does not reach its callback
 * @as: the trampoline
 * @call: position of the call instruction
 * @function: the callback
 */
void fhook_arch_emit_veneer(struct fhook_asm *as, unsigned int call,
			    const void *function);

/**
 * fhook_arch_emit_decline() - record in the frame that a hook declines the exit
 * @as: the trampoline
 * @bit: index of the hook among those with exits
 */
void fhook_arch_emit_decline(struct fhook_asm *as, unsigned int bit);

/**
 * fhook_arch_emit_frame_stack() - load &task_struct.fhook_stack
 * @as: the trampoline
 */
void fhook_arch_emit_frame_stack(struct fhook_asm *as);

/**
 * fhook_arch_emit_frame_take() - find room for a new frame on that stack
 * @as: the trampoline
 * @size: size of the frame with all data, in bytes
 * @exits: exits of the set
 */
void fhook_arch_emit_frame_take(struct fhook_asm *as, u32 size,
				const struct fhook_exits *exits);

/**
 * fhook_arch_emit_frame_fill() - take that room, and fill the frame
 * @as: the trampoline
 * @size: size of the frame with all data, in bytes
 * @exits: exits of the set
 */
void fhook_arch_emit_frame_fill(struct fhook_asm *as, u32 size,
				const struct fhook_exits *exits);

/**
 * fhook_arch_emit_frame_all() - test whether all hooks have declined the exit
 * @as: the trampoline
 * @all: value of &fhook_frame.declined when all hooks have declined
 */
void fhook_arch_emit_frame_all(struct fhook_asm *as, u32 all);

/**
 * fhook_arch_emit_frame_enter() - take over the return address
 * @as: the trampoline
 * @pending: counter of the frames that wait for a return
 * @stub: return address that replaces it
 */
void fhook_arch_emit_frame_enter(struct fhook_asm *as,
				 const long __percpu *pending,
				 const void *stub);

/**
 * fhook_arch_emit_call() - call a built-in function
 * @as: the trampoline
 * @function: the function
 */
void fhook_arch_emit_call(struct fhook_asm *as, const void *function);

/**
 * fhook_arch_resched() - get the function that reschedules
 *
 * Return: its address, NULL if tasks in the kernel are not preempted.
 */
const void *fhook_arch_resched(void);

/**
 * fhook_arch_emit_resched() - call that function
 * @as: the trampoline
 */
void fhook_arch_emit_resched(struct fhook_asm *as);

/* For unwinders: kernel/fhook/trampoline.c and extension.c */
bool fhook_is_stub(unsigned long addr);
unsigned long fhook_resolve_stub(unsigned long addr);
const struct fhook_arch_tramp *fhook_tramp_layout(unsigned long addr,
						  unsigned long *offset);

/* Called from fhook_return and fhook_regs_return: kernel/fhook/frame.c */
void fhook_return_handler(struct fhook_regs *fregs);
void fhook_regs_return_handler(struct fhook_regs *fregs);

/* Memory of trampolines: arch/.../kernel/fhook.c */
void *fhook_arch_text_alloc(unsigned long first, unsigned long last,
			    unsigned int size);
void fhook_arch_text_write(void *text, const void *code, unsigned int size);
void fhook_arch_text_clear(void *text, unsigned int size);
void fhook_arch_call_kill(void *call);

/*
 * Call tracing: arch/.../kernel/fhook_calltrace.c. Sizes are in <asm/fhook_calltrace.h>.
 */

/**
 * enum calltrace_reason - why a function cannot be traced
 * @CALLTRACE_OK: the function can be traced
 * @CALLTRACE_INIT: its code is freed after init
 * @CALLTRACE_NAMELESS: kallsyms does not know its end
 * @CALLTRACE_UNKNOWN: it has an instruction that cannot be decoded, or an unusual return
 * @CALLTRACE_INDIRECT: it jumps through a register or memory
 * @CALLTRACE_TAKEN: it jumps through a register that may hold the address of a label
 * @CALLTRACE_CONDITIONAL: it continues in another function by a conditional jump
 * @CALLTRACE_NO_ROOM: an instruction that leaves it is too short for a jump to a stub
 * @CALLTRACE_OWNED: another part of the kernel patches an instruction that leaves it
 * @CALLTRACE_KPROBE: a kprobe is in it
 * @CALLTRACE_ASIDE: a static branch or an exception table entry leads out of it
 * @CALLTRACE_SHARED: it is left by code that it shares with another function
 * @CALLTRACE_FAR: the function in which it continues is out of reach of a stub
 * @CALLTRACE_REDIRECTED: another function runs in its place
 * @CALLTRACE_REASONS: number of reasons
 */
enum calltrace_reason {
	CALLTRACE_OK,
	CALLTRACE_INIT,
	CALLTRACE_NAMELESS,
	CALLTRACE_UNKNOWN,
	CALLTRACE_INDIRECT,
	CALLTRACE_TAKEN,
	CALLTRACE_CONDITIONAL,
	CALLTRACE_NO_ROOM,
	CALLTRACE_OWNED,
	CALLTRACE_KPROBE,
	CALLTRACE_ASIDE,
	CALLTRACE_SHARED,
	CALLTRACE_FAR,
	CALLTRACE_REDIRECTED,
	CALLTRACE_REASONS,
};

/**
 * enum calltrace_flow - targets of an instruction
 * @CALLTRACE_ON: the next instruction, possibly after a call
 * @CALLTRACE_RETURN: the caller
 * @CALLTRACE_JUMP: its target
 * @CALLTRACE_BRANCH: its target or the next instruction
 * @CALLTRACE_LEAVE: a function whose address is in a register
 * @CALLTRACE_REFUSED: unknown
 */
enum calltrace_flow {
	CALLTRACE_ON,
	CALLTRACE_RETURN,
	CALLTRACE_JUMP,
	CALLTRACE_BRANCH,
	CALLTRACE_LEAVE,
	CALLTRACE_REFUSED,
};

/**
 * struct calltrace_insn - an instruction
 * @flow: target of the instruction
 * @target: address to which a jump or branch leads
 * @len: length in bytes
 * @room: number of bytes that a jump may occupy in place of the instruction
 * @takes: addresses of code or data that are operands, 0 for none
 * @reason: why the instruction is refused, if it is
 */
struct calltrace_insn {
	enum calltrace_flow	flow;
	unsigned long		target;
	unsigned int		len;
	unsigned int		room;
	unsigned long		takes[2];
	enum calltrace_reason	reason;
};

void calltrace_arch_decode(unsigned long addr, unsigned long end,
			   struct calltrace_insn *insn);
bool calltrace_arch_is_thunk(unsigned long target);
bool calltrace_arch_can_leave(unsigned long addr);
bool calltrace_arch_stub(void *code, unsigned long at, unsigned long target);
void calltrace_arch_return_stub(void *code, unsigned long at,
				const u8 *original);
void calltrace_arch_context_stub(void *code, unsigned long at);
void calltrace_arch_queue(unsigned long addr, const u8 *code, const u8 *jump);
void calltrace_arch_flush(void);

#endif /* _LINUX_FHOOK_ARCH_H */
