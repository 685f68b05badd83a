/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calling a function at a site of a program
 *
 * A handler that is a function runs on a stack of its own: the program's stack may be
 * short, and the memory below its stack pointer belongs to the program. Bodies with
 * such handlers call the gate of their area: code that saves all registers, takes a
 * stack from the pool of the process, calls the handler, and restores the registers
 * with the handler's changes. US9336001 also saves registers and stack data, calls the
 * user handler and restores.
 *
 * The pool is in the data of the area: a page with one owner word per stack, 0 if the
 * stack is free, and one frame word per stack, followed by the stacks,
 * UHOOK_STACK_SIZE each. The first page of a stack is a guard page, if the stack has
 * more than one. A thread owns a stack by writing its thread-local storage register,
 * or 1 if that is 0, to the owner word. A thread that has left a handler by longjmp()
 * finds its own word at the next gate, and takes that stack again. It must not do so
 * if the handler is still active, beneath a signal handler with a stack of its own or
 * in a coroutine: then the frame word leads to a mark next to the saved registers. If
 * the stack of an abandoned handler has been unmapped, there is no mark either. If the
 * stack pointer is in the pool, a handler has reached a site: nothing is called, and
 * the hit is counted as missed. The same happens if no stack is free.
 *
 * The handler is called as a C function:
 *
 *	void handler(struct uhook_user_regs *regs, u64 *data);
 *
 * The program continues with the handler's changes in @regs, except those of the
 * instruction pointer and the stack pointer. @data has UHOOK_DATA_WORDS words of the
 * hook at this site in this process, shared by its threads; the kernel adds them up
 * over sites and processes.
 */
#ifndef _LINUX_UHOOK_GATE_H
#define _LINUX_UHOOK_GATE_H

#include <linux/types.h>
#include <uapi/linux/uhook.h>

#define UHOOK_STACKS		16
#define UHOOK_STACK_SIZE	65536

/* Maximum length of a gate, and of a call to it. */
#define UHOOK_GATE_SIZE		1024
#define UHOOK_CALL_SIZE		96

/**
 * struct uhook_gate - parameters of a gate
 * @pool: address of the pool
 * @page_size: size of the pool's first page; the stacks follow it
 * @vectors: whether vector registers are saved; handlers that declare that they use
 *	none have a gate without this
 * @xsave_mask: x86: the components that XSAVE saves
 * @xsave_size: x86: the size of its area, in bytes, in the standard format
 */
struct uhook_gate {
	unsigned long pool;
	unsigned long page_size;
	bool vectors;
	u64 xsave_mask;
	unsigned int xsave_size;
};

/**
 * struct uhook_call - parameters of a call
 * @gate: address of the gate
 * @handler: address of the handler
 * @data: address of the handler's data
 * @missed: address of a word that counts the hits at which the handler was not called
 * @site: address of the site
 */
struct uhook_call {
	unsigned long gate;
	unsigned long handler;
	unsigned long data;
	unsigned long missed;
	unsigned long site;
};

/**
 * uhook_gate_code - make a gate
 * @code: receives the code
 * @size: size of @code in bytes
 * @at: address at which it will run
 * @gate: parameters of the gate
 *
 * Context: any.
 * Return: length of the code in bytes; -ERANGE if the pool is out of reach, -ENOSPC if
 * the code is longer than @size.
 */
int uhook_gate_code(u8 *code, size_t size, unsigned long at, const struct uhook_gate *gate);

/**
 * uhook_gate_no_mark - check whether a faulting instruction of a gate looks for a mark
 * @code: the faulting instruction, and the code that follows it
 * @size: length of @code in bytes
 *
 * Context: any.
 * Return: if it looks for the mark of a handler, the distance in bytes to the code
 * that handles a missing mark; otherwise 0.
 */
unsigned int uhook_gate_no_mark(const u8 *code, size_t size);

/**
 * uhook_call_code - make the part of a body that calls a handler
 * @code: receives the code
 * @size: size of @code in bytes
 * @at: address at which it will run
 * @call: parameters of the call
 *
 * The code sets registers and flags to the values that the handler has left in its
 * argument, does not change the memory that the stack pointer protects, and continues
 * after its end.
 *
 * Context: any.
 * Return: length of the code in bytes, at most UHOOK_CALL_SIZE; -ERANGE if the gate is
 * out of reach, -ENOSPC if the code is longer than @size.
 */
int uhook_call_code(u8 *code, size_t size, unsigned long at, const struct uhook_call *call);

/**
 * uhook_check_code - check whether code may be copied into programs
 * @code: a position-independent function
 * @len: length of @code in bytes
 *
 * Decodes the instructions one after the other, and checks that each of them is known;
 * that branches lead to instructions of the code, and operands relative to the
 * instruction pointer are within it; that there is no system call, no trap, and no
 * call or jump through a register or memory (except a return); and that the last
 * instruction does not continue after the end.
 *
 * Context: any.
 * Return: 0; -EINVAL, or -EOPNOTSUPP for an instruction that is not allowed.
 */
int uhook_check_code(const void *code, size_t len);

#endif /* _LINUX_UHOOK_GATE_H */
