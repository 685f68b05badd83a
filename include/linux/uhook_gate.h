/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calling a function at a site of a program
 *
 * A handler that is a function runs on a stack of its own: the program's may be
 * short, and what it has below its stack pointer is its own. Bodies that have
 * such handlers call the gate of their area, code that saves all registers, takes
 * a stack from the pool of the process, calls the handler, and restores what it
 * has left in the registers. US9336001 saves registers and stack data, calls the
 * user handler and restores likewise.
 *
 * The pool is in the data of the area: a page with one owner word for each stack,
 * 0 if it is free, and one frame word for each, and behind it the stacks,
 * UHOOK_STACK_SIZE each. The first page of a stack is not there, if it has more. A
 * stack is owned by a thread, told by what the processor has for thread-local
 * storage, or 1 if that is 0. A thread that has left a handler with a longjmp()
 * finds its own word at the next gate, and takes that stack again; not so if the
 * handler is still there, beneath a signal handler with a stack of its own or in a
 * coroutine: then the frame word leads to a mark beside the registers that were
 * saved. Where the stack of who was left is unmapped there is no mark either. When the
 * stack pointer is in the pool a handler has come to a site: nothing is called, nor
 * when no stack is free; then the hit is counted as missed.
 *
 * The handler is called as a C function:
 *
 *	void handler(struct uhook_user_regs *regs, u64 *data);
 *
 * What it changes in @regs the program goes on with, but for the instruction
 * pointer and the stack pointer. @data are UHOOK_DATA_WORDS words of the hook at
 * this site in this process, which the kernel adds up over sites and processes;
 * threads share them.
 */
#ifndef _LINUX_UHOOK_GATE_H
#define _LINUX_UHOOK_GATE_H

#include <linux/types.h>
#include <uapi/linux/uhook.h>

#define UHOOK_STACKS		16
#define UHOOK_STACK_SIZE	65536

/* How long a gate may be, and a call of it. */
#define UHOOK_GATE_SIZE		1024
#define UHOOK_CALL_SIZE		96

/**
 * struct uhook_gate - what a gate depends on
 * @pool: the address of the pool
 * @page_size: how long its first page is; the stacks are behind it
 * @vectors: whether vector registers are saved; a handler that says that it uses
 *	none has a gate that does not
 * @xsave_mask: x86: which parts of the state XSAVE saves
 * @xsave_size: x86: how much room it needs, in bytes, in the standard format
 */
struct uhook_gate {
	unsigned long pool;
	unsigned long page_size;
	bool vectors;
	u64 xsave_mask;
	unsigned int xsave_size;
};

/**
 * struct uhook_call - what a call depends on
 * @gate: the address of the gate
 * @handler: that of the handler
 * @data: that of its data
 * @missed: that of a word that counts the hits at which it was not called
 * @site: that of the site
 */
struct uhook_call {
	unsigned long gate;
	unsigned long handler;
	unsigned long data;
	unsigned long missed;
	unsigned long site;
};

/**
 * uhook_gate_code - a gate
 * @code: receives it
 * @size: how many bytes it may have
 * @at: where it is to run
 * @gate: what it depends on
 *
 * Context: any.
 * Return: its length in bytes; -ERANGE when the pool is out of reach, -ENOSPC when
 * it is too long.
 */
int uhook_gate_code(u8 *code, size_t size, unsigned long at, const struct uhook_gate *gate);

/**
 * uhook_gate_no_mark - an instruction of a gate has faulted
 * @code: it, and what follows of the gate
 * @size: how many bytes those are
 *
 * Context: any.
 * Return: if it looks for the mark of a handler, how many bytes further the gate goes
 * on when there is none; or 0.
 */
unsigned int uhook_gate_no_mark(const u8 *code, size_t size);

/**
 * uhook_call_code - the part of a body that calls a handler
 * @code: receives it
 * @size: how many bytes it may have
 * @at: where it is to run
 * @call: what it depends on
 *
 * The code leaves registers and flags as the handler leaves them in the registers
 * that it is given, and everything above what the stack pointer protects as it
 * is, and goes on behind its end.
 *
 * Context: any.
 * Return: its length in bytes, up to UHOOK_CALL_SIZE; -ERANGE when the gate is out
 * of reach, -ENOSPC when it is too long.
 */
int uhook_call_code(u8 *code, size_t size, unsigned long at, const struct uhook_call *call);

/**
 * uhook_check_code - may it be copied into programs?
 * @code: position-independent code, a function
 * @len: its length in bytes
 *
 * As far as can be told from the instructions one after the other: each of them is
 * known; branches and what is addressed relative to the instruction pointer stay
 * within the code, branches at the beginning of an instruction of it; there is no
 * system call, no trap, no call or jump through a register or memory (but for a
 * return), and the last instruction does not go on behind the end.
 *
 * Context: any.
 * Return: 0; -EINVAL, or -EOPNOTSUPP for an instruction that is not allowed.
 */
int uhook_check_code(const void *code, size_t len);

#endif /* _LINUX_UHOOK_GATE_H */
