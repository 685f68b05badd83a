/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook on arm64: the registers at a site, and their accessors.
 *
 * A trampoline lays out one &struct fhook_regs on the stack, ending where the stack
 * pointer of the hooked function is:
 *
 *	sp at the callback -> ...	(the trampoline's own)
 *	fregs		   -> regs	(pt_regs; partly filled by fhook_caller,
 *					 wholly by fhook_regs_caller)
 *	x29 at the callback-> frame	record of the hooked function
 *			      caller	record of its caller
 *	sp of the function ->
 *
 * A stack trace finds the records: the callback, the trampoline, the hooked function, its
 * caller.
 *
 * fhook_return and fhook_regs_return use the same layout after the function has returned.
 * The function then has no record: frame_fp is 0, and ip is the address at which its
 * caller continues.
 */
#ifndef _ASM_ARM64_FHOOK_H
#define _ASM_ARM64_FHOOK_H

#include <linux/ptrace.h>

/*
 * The number of integer arguments that are passed in registers, and the stack word of the
 * next argument.
 */
#define FHOOK_REG_ARGS		8
#define FHOOK_STACK_ARG		0

/* The section with a module's sites: here, the compiler's records. */
#define FHOOK_SITES_SECTION	"__patchable_function_entries"

/**
 * struct fhook_regs - the registers at a site, opaque to users
 *
 * In a partial set, only x0 to x8 of regs are valid, and at the exit x0 to x7; its pstate
 * is 0, a value that kernel code never has. The link registers in the two records are the
 * addresses at which the hooked function continues, and to which it will return.
 */
struct fhook_regs {
	/* private: by accessors only */
	struct pt_regs	regs;
	unsigned long	frame_fp;
	unsigned long	ip;
	unsigned long	fp;
	unsigned long	parent;
};

/* Has the function returned? */
static __always_inline bool fhook_regs_at_exit(const struct fhook_regs *fregs)
{
	return !fregs->frame_fp;
}

/**
 * fhook_get_regs() - get the full registers
 * @fregs: the registers at a site
 *
 * Return: a full pt_regs if any ops of the site that has a callback here, at the entry or at
 * the exit, has %FHOOK_FL_REGS; NULL if the set is partial.
 */
static __always_inline struct pt_regs *fhook_get_regs(struct fhook_regs *fregs)
{
	return fregs->regs.pstate ? &fregs->regs : NULL;
}

/**
 * fhook_regs_get_ip() - address at which the hooked function continues
 * @fregs: the registers at a site
 *
 * Return: the address after the slot, or of the stub that leads there while calls of the
 * function are traced; in an exit callback the address that it returns to; or the address
 * set by fhook_regs_set_ip().
 */
static __always_inline unsigned long
fhook_regs_get_ip(const struct fhook_regs *fregs)
{
	return fregs->regs.pstate ? fregs->regs.pc : fregs->ip;
}

/**
 * fhook_regs_set_ip() - continue at another address
 * @fregs: the registers at a site
 * @ip: entry of a function that takes the same arguments; in an exit callback, the
 *	address to return to
 */
static __always_inline void
fhook_regs_set_ip(struct fhook_regs *fregs, unsigned long ip)
{
	fregs->regs.pc = ip;
	fregs->ip = ip;
}

/**
 * fhook_regs_take() - let changes of the full registers take effect at the entry
 * @fregs: the registers at a site, which are full
 *
 * Registers but the link register, which the trampoline restores from its frame record, need
 * nothing.
 */
static __always_inline void fhook_regs_take(struct fhook_regs *fregs)
{
	fregs->parent = fregs->regs.regs[30];
}

/**
 * fhook_regs_get_sp() - the stack pointer of the hooked function at its entry
 * @fregs: the registers at a site
 *
 * Return: the stack pointer, which points at the arguments that are not in registers.
 */
static __always_inline unsigned long
fhook_regs_get_sp(const struct fhook_regs *fregs)
{
	return (unsigned long)(fregs + 1);
}

/**
 * fhook_regs_get_fp() - the frame pointer register
 * @fregs: the registers at a site
 *
 * Return: x29, which is the caller's frame pointer, because the function has not begun.
 */
static __always_inline unsigned long
fhook_regs_get_fp(const struct fhook_regs *fregs)
{
	return fregs->fp;
}

/**
 * fhook_regs_arg() - find an integer argument that is passed in a register
 * @fregs: the registers at a site
 * @n: index of the argument, from 0
 *
 * Return: a pointer to the argument, NULL if it is not in a register.
 */
static __always_inline unsigned long *
fhook_regs_arg(struct fhook_regs *fregs, unsigned int n)
{
	if (n >= FHOOK_REG_ARGS || fhook_regs_at_exit(fregs))
		return NULL;

	return (unsigned long *)&fregs->regs.regs[n];
}

/**
 * fhook_regs_get_retval() - the register that carries the return value
 * @fregs: the registers at a site
 *
 * Return: x0. At the entry this is the first argument.
 */
static __always_inline unsigned long
fhook_regs_get_retval(const struct fhook_regs *fregs)
{
	return fregs->regs.regs[0];
}

/**
 * fhook_regs_set_retval() - change the register that carries the return value
 * @fregs: the registers at a site
 * @val: the new value
 */
static __always_inline void
fhook_regs_set_retval(struct fhook_regs *fregs, unsigned long val)
{
	fregs->regs.regs[0] = val;
}

/* The return address as found, which another return hook may have replaced. */
static __always_inline unsigned long
fhook_regs_ret_addr(const struct fhook_regs *fregs)
{
	if (fhook_regs_at_exit(fregs))
		return fhook_regs_get_ip(fregs);

	return fregs->parent;
}

/*
 * Address of ftrace's call in a function: the second instruction after a landing pad. Users
 * of this include ftrace's header.
 */
#define fhook_ftrace_ip(func) ({						\
	unsigned long __func = (func);						\
										\
	__func + (aarch64_insn_is_bti(*(u32 *)__func) ? 2 : 1) * AARCH64_INSN_SIZE; \
})

/* The value of fhook_regs_key(), computed from ftrace's registers of the same call. */
#define fhook_ftrace_key(fregs)	(arch_ftrace_regs(fregs)->fp)
/* The same, from those at its return */
#define fhook_ftrace_return_key(fregs)	fhook_ftrace_key(fregs)

void fhook_fill_perf_regs(const struct fhook_regs *fregs, struct pt_regs *regs);

#endif /* _ASM_ARM64_FHOOK_H */
