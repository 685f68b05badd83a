/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fhook on x86_64: the registers at a site, and their accessors.
 *
 * A trampoline lays out one &struct fhook_regs on the stack, ending at the
 * return address that the call in the slot pushed:
 *
 *	sp at the callback -> kind	the valid members
 *			      regs	(pt_regs; partly filled by fhook_caller,
 *					 wholly by fhook_regs_caller)
 *			      ip	address at which the hooked function continues
 *	sp of the function -> parent	its return address
 *
 * fhook_return and fhook_regs_return use the same layout after the function has returned:
 * then ip is the address at which its caller continues.
 */
#ifndef _ASM_X86_FHOOK_H
#define _ASM_X86_FHOOK_H

/* Bits of &fhook_regs.kind: all of regs is valid; the function has returned. */
#define FHOOK_REGS_FULL		1
#define FHOOK_REGS_EXIT		2

#ifndef __ASSEMBLER__

#include <linux/ptrace.h>

/*
 * The number of integer arguments that are passed in registers, and the stack word of the
 * next argument, counted from the return address.
 */
#define FHOOK_REG_ARGS		6
#define FHOOK_STACK_ARG		1

/* The section with a module's sites. */
#define FHOOK_SITES_SECTION	".fhook_sites"

/**
 * struct fhook_regs - the registers at a site, opaque to users
 *
 * In a partial set, only ax, bp and, at the entry, the argument registers of regs are
 * valid; at the exit, dx is. ip is the address at which the hooked function continues,
 * parent its return address; its stack pointer at the entry is the address of parent.
 */
struct fhook_regs {
	/* private: by accessors only */
	unsigned long	kind;
	struct pt_regs	regs;
	unsigned long	ip;
	unsigned long	parent;
};

/* Has the function returned? */
static __always_inline bool fhook_regs_at_exit(const struct fhook_regs *fregs)
{
	return fregs->kind & FHOOK_REGS_EXIT;
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
	return fregs->kind & FHOOK_REGS_FULL ? &fregs->regs : NULL;
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
	return fregs->kind & FHOOK_REGS_FULL ? fregs->regs.ip : fregs->ip;
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
	fregs->regs.ip = ip;
	fregs->ip = ip;
}

/**
 * fhook_regs_take() - let changes of the full registers take effect at the entry
 * @fregs: the registers at a site, which are full
 *
 * They do so anyway.
 */
static __always_inline void fhook_regs_take(struct fhook_regs *fregs)
{
}

/**
 * fhook_regs_get_sp() - the stack pointer of the hooked function at its entry
 * @fregs: the registers at a site
 *
 * Return: the stack pointer, which points at the return address.
 */
static __always_inline unsigned long
fhook_regs_get_sp(const struct fhook_regs *fregs)
{
	return (unsigned long)&fregs->parent;
}

/**
 * fhook_regs_get_fp() - the frame pointer register
 * @fregs: the registers at a site
 *
 * Return: bp, which is the caller's frame pointer, because the function has not begun.
 */
static __always_inline unsigned long
fhook_regs_get_fp(const struct fhook_regs *fregs)
{
	return fregs->regs.bp;
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
	if (fhook_regs_at_exit(fregs))
		return NULL;

	switch (n) {
	case 0: return &fregs->regs.di;
	case 1: return &fregs->regs.si;
	case 2: return &fregs->regs.dx;
	case 3: return &fregs->regs.cx;
	case 4: return &fregs->regs.r8;
	case 5: return &fregs->regs.r9;
	default: return NULL;
	}
}

/**
 * fhook_regs_get_retval() - the register that carries the return value
 * @fregs: the registers at a site
 *
 * Return: ax. At the entry this is an arbitrary value of the caller.
 */
static __always_inline unsigned long
fhook_regs_get_retval(const struct fhook_regs *fregs)
{
	return fregs->regs.ax;
}

/**
 * fhook_regs_set_retval() - change the register that carries the return value
 * @fregs: the registers at a site
 * @val: the new value
 */
static __always_inline void
fhook_regs_set_retval(struct fhook_regs *fregs, unsigned long val)
{
	fregs->regs.ax = val;
}

/* The return address as found, which another return hook may have replaced. */
static __always_inline unsigned long
fhook_regs_ret_addr(const struct fhook_regs *fregs)
{
	if (fhook_regs_at_exit(fregs))
		return fhook_regs_get_ip(fregs);

	return fregs->parent;
}

/* Address of ftrace's call in a function. Users of this include ftrace's header. */
#define fhook_ftrace_ip(func) ({						\
	unsigned long __func = (func);						\
										\
	__func + (hook_base_is_endbr((u32 *)__func) ? ENDBR_INSN_SIZE : 0);	\
})

/* The value of fhook_regs_key(), computed from ftrace's registers of the same call. */
#define fhook_ftrace_key(fregs)	ftrace_regs_get_stack_pointer(fregs)
/* The same, from those at its return, which has popped the return address. */
#define fhook_ftrace_return_key(fregs) \
	(ftrace_regs_get_stack_pointer(fregs) - sizeof(unsigned long))

unsigned long fhook_template_ip(unsigned long ip);
void fhook_fill_perf_regs(const struct fhook_regs *fregs, struct pt_regs *regs);

#endif /* __ASSEMBLER__ */

#endif /* _ASM_X86_FHOOK_H */
